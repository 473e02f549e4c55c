/* SPDX-License-Identifier: MIT
 *
 * tree_marks.h - a mark in every process of the tree: processes_mark() of processes.h. Main thread.
 */
#ifndef PROCESSES_TREE_MARKS_H
#define PROCESSES_TREE_MARKS_H

#include "processes/tree_state.h"

void tree_marks_go_on(struct processes *p); /* sets those whose link is up now */
/* Notes in the session which processes lack a mark; once. */
void tree_marks_end(struct processes *p);

#endif
