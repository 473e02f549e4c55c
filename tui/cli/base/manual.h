/* SPDX-License-Identifier: MIT
 *
 * manual.h - the parts of memtop.1 that come from tables: `memtop --man`, for make man.
 */
#ifndef MANUAL_H
#define MANUAL_H

#include "cli/base/verbs.h"

/* The line before each part, also in the man page. */
#define MANUAL_PART ".\\\" made by make man: "

/* The parts synopsis, options and keys, as roff. verbs: all, with the live view; ends with NULL. */
void manual_print(const struct verb *const *verbs, FILE *out);

#endif
