/* SPDX-License-Identifier: MIT
 *
 * self.h - the agent's data for the calling thread: its gate, its state, its call stack.
 *
 * Each is a pointer in thread-local storage, except on Android: linkers up to API level 28 support
 * no TLS in libraries, later ones refuse initial-exec TLS in a library loaded by dlopen, and the
 * compilers' substitute (emutls) calls malloc. There the state is a thread-specific value, and the
 * other two are read from it. A key not made yet is 0. bionic's keys have the sign bit set, so key
 * 0 reads NULL in every thread, and hooks that run before the constructor need no test.
 *
 * The file also says who owns a state: its thread, until that is gone for good; then another thread
 * inherits it (record/thread.c).
 */
#ifndef MT_BASE_SELF_H
#define MT_BASE_SELF_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

bool mt_self_init(void);                /* once, before any other call here */
void mt_self_own(struct thread *t);     /* makes the caller the owner of a new state */
bool mt_self_inherit(struct thread *t); /* true: its thread has ended, and the caller owns it now */

/* Its thread's next event opens a gate again, or finds out why not. */
static inline void hot_close(struct hot *hot)
{
	hot->open = hot->sampled = NULL;
}

extern struct hot mt_self_nobody; /* closed: the gate of a thread before its first hook */

#ifdef __BIONIC__
extern pthread_key_t mt_self_key;

static inline struct thread *mt_self(void) /* NULL = none yet */
{
	return pthread_getspecific(mt_self_key);
}

static inline struct hot *mt_self_hot(void)
{
	const struct thread *t = mt_self();

	return t ? t->hot : &mt_self_nobody;
}

static inline struct call_stack *mt_self_call_stack(void) /* NULL = none yet */
{
	const struct thread *t = mt_self();

	return t ? t->calls : NULL;
}

static inline void mt_self_become(struct thread *t)
{
	pthread_setspecific(mt_self_key, t);
}

static inline void mt_self_set_call_stack(struct thread *t,
					  struct call_stack *s) /* t: the caller's */
{
	t->calls = s;
}
#else
/* Here alone: gcc 16 takes -ftls-model=initial-exec for more than an attribute. */
#ifdef __GLIBC__
#define MT_TLS __thread __attribute__((tls_model("initial-exec")))
#else /* musl's dlopen takes no other; TLS descriptors are two instructions more where the agent   \
	 is preloaded */
#define MT_TLS __thread __attribute__((tls_model("global-dynamic")))
#endif

/* In one object: a hook that reads two of them looks for one address. */
struct self {
	struct hot *hot;
	struct thread *state;
	struct call_stack *calls;
};
extern MT_TLS struct self mt_self_tls;

static inline struct thread *mt_self(void)
{
	return mt_self_tls.state;
}

static inline struct hot *mt_self_hot(void)
{
	return mt_self_tls.hot;
}

static inline struct call_stack *mt_self_call_stack(void)
{
	return mt_self_tls.calls;
}

static inline void mt_self_become(struct thread *t)
{
	mt_self_tls.state = t;
	atomic_signal_fence(memory_order_seq_cst); /* who finds the gate open takes the state */
	mt_self_tls.hot = t->hot;
}

static inline void mt_self_set_call_stack(struct thread *t, struct call_stack *s)
{
	t->calls = mt_self_tls.calls = s;
}
#endif

#pragma GCC visibility pop

#endif
