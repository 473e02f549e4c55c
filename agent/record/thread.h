/* SPDX-License-Identifier: MIT
 *
 * thread.h - per-thread state and its life. base/self.h finds the caller's.
 */
#ifndef MT_RECORD_THREAD_H
#define MT_RECORD_THREAD_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct thread *mt_thread_self(void);       /* made when missing; at worst the shared one */
struct thread *mt_thread_of_session(void); /* ... reset when the session has changed */
struct thread *mt_thread_shared(void);     /* any thread may add to it */
bool mt_thread_quiet(void);                /* the agent itself allocates, through libc */
bool mt_thread_init(void);
/* A detach: late events do not count. False: after that time some thread was still in the middle of
 * one. */
bool mt_thread_retire_all(uint64_t patience_ns);
void mt_thread_restart(void);    /* after that: the next session begins, while no thread counts */
bool mt_thread_forked(void);     /* in a child that no hook announced */
void mt_thread_fork_child(void); /* forget the parent's threads that the child does not have */
int mt_thread_tid(pthread_t thread); /* without a system call; 0 = unknown */
void mt_thread_number(int in_proc);  /* of this process: collect/proc.h; for the server */
void mt_thread_named(int tid, const char *name); /* tid 0 = the caller */
void mt_thread_refresh(uint32_t index); /* the name of a thread that lives, from /proc; server */
void mt_thread_gone(uint32_t index);    /* the kernel says so; server */
struct thread_info {                    /* one owner of a set, past or present */
	uint32_t index;
	int tid;
	bool ended;
	char name[16];
	struct tally done;
};
uint32_t mt_thread_count(void); /* indices are 0..count-1 */
bool mt_thread_info(uint32_t index, struct thread_info *info);

#pragma GCC visibility pop

#endif
