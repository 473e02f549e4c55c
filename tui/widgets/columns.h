/* SPDX-License-Identifier: MIT
 *
 * columns.h - the columns that the user hides, by view and title. The configuration file names
 * both: "sites" and "IN ALL". Main thread.
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "screen/view_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define COLUMNS_HIDDEN_MAX 96

/* what it says; NULL = no view has such a one that can be hidden */
const char *columns_what(const char *title);
bool columns_hidden(enum view_id view, const char *title);
/* False: too many are hidden. */
bool columns_hide(enum view_id view, const char *title, bool hide);
/* Replaces the view's hidden columns by "AGE, IN ALL". False, with the reason. */
bool columns_set(const char *name, const char *titles, char *why, size_t size);
void columns_write(FILE *f); /* lines for the configuration file */

#endif
