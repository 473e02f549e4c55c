/* SPDX-License-Identifier: MIT
 *
 * unwind.h - registers in, frames out: the engine switch.
 *
 * The thread itself calls, except for mt_unwind_init(), mt_unwind_forked() (start-up, a child's
 * first event) and mt_unwind_effort() (server thread).
 */
#ifndef MT_UNWIND_UNWIND_H
#define MT_UNWIND_UNWIND_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct unwind_cache;

/* False: no such engine here. mt_conf.unwind then has the engine in use. enter_is_ours:
 * __cyg_profile_func_enter is the agent's. */
bool mt_unwind_init(const char *engine, bool enter_is_ours);
void mt_unwind_forked(void);     /* in the child, before its first stack */
const char *mt_unwind_why(void); /* why it is not the requested engine; "" = it is */
node_id mt_unwind_capture(struct thread *t, const struct regs *r); /* node of the whole stack */
/* innermost first */
int mt_unwind_frames(struct thread *t, const struct regs *r, void **pcs, int max);
/* The same by the best available engine; changes nothing, so signal handlers may call it. */
int mt_unwind_backtrace(struct thread *t, const struct regs *r, void **pcs, int max);
void mt_unwind_thread_end(struct thread *t);                       /* forget the cached stack */
void mt_unwind_effort(const struct thread *t, struct effort *sum); /* adds; server thread */
/* no table: the step to its caller, if any, used its frame pointer */
bool mt_unwind_by_pointer(code_id code);

/* Abandons a capture under way, because its frame is gone. */
void mt_unwind_abandon(struct unwind_cache *u);

/* For mt_unwind_capture(), which is in unwind/incremental.c. A cache for today's depth limit, that
 * no capture is using; NULL: there is none, and *reason says why. */
struct unwind_cache *mt_unwind_begin(struct thread *t, const struct regs *r, unsigned *reason);
/* The caller alone, under the reason; touches nothing that belongs to the thread. */
node_id mt_unwind_caller(const struct regs *r, unsigned reason);
extern bool mt_unwind_keeps; /* the engine in use has rules, and its last stack is kept */
/* Captures by the engine's walk, as a path of the trie; stores nothing. */
node_id mt_unwind_list_capture(struct unwind_cache *u, const struct regs *r);

#pragma GCC visibility pop

#endif
