/* SPDX-License-Identifier: MIT
 *
 * thread_list.h - the states of all threads, ended ones included: insert-only. record/thread.c
 * makes them.
 */
#ifndef MT_BASE_THREAD_LIST_H
#define MT_BASE_THREAD_LIST_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

extern struct thread *_Atomic mt_threads; /* the newest; NULL = none */
extern _Atomic uint32_t mt_thread_states; /* how many */

void mt_threads_add(struct thread *t); /* any thread */
/* No gate is open then. Threads open theirs at their next event; any thread, also the server's. */
void mt_threads_close(void);

#pragma GCC visibility pop

#endif
