/* SPDX-License-Identifier: MIT
 *
 * titles.h - what tells processes of one name apart: command lines, titles. Main thread.
 */
#ifndef PROCESSES_TITLES_H
#define PROCESSES_TITLES_H

#include "processes/tree_state.h"

/* New lines at each look, the others once a second; later every ten. */
void titles_look(struct processes *p, bool second);

#endif
