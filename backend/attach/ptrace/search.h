/* SPDX-License-Identifier: MIT
 *
 * search.h - finds a thread at a safe point.
 */
#ifndef ATTACH_PTRACE_SEARCH_H
#define ATTACH_PTRACE_SEARCH_H

#include "attach/ptrace/internal.h"

/* w->thread is stopped where it holds no lock. 0; -1 and w->r->err. */
int search_safe_point(struct inject_work *w);
/* Makes a wait that returned EINTR because of the stop run again. t->saved holds the thread's
 * registers. */
void search_wait_again(struct inject_work *w, struct inject_thread *t);
void search_let_late_go(struct inject_work *w);   /* releases those that have stopped */
void search_wait_for_late(struct inject_work *w); /* all of them */

#endif
