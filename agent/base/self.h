/* SPDX-License-Identifier: MIT
 *
 * self.h - what the agent keeps for the calling thread: its gate, its state, its shadow stack.
 *
 * A pointer of thread-local storage each. Not on Android: linkers up to API level 28 know none in
 * libraries, later ones take no initial-exec in a library that comes by dlopen, and what compilers
 * put in its place (emutls) calls malloc. There the state is a thread-specific value, and the other
 * two are read out of it. A key that was not made yet is 0, which is none of bionic's (theirs have
 * the sign bit) and has the value NULL in every thread: hooks run before the constructor and need
 * not ask.
 *
 * And who owns a state: until its thread is gone for good it is nobody else's; then somebody
 * inherits it (record/thread.c).
 */
#ifndef MT_BASE_SELF_H
#define MT_BASE_SELF_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

bool mt_self_init(void);                /* once, before anybody becomes anything */
void mt_self_own(struct thread *t);     /* a new state: it is the caller's */
bool mt_self_inherit(struct thread *t); /* true: its thread has ended, and now it is the caller's */

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

static inline struct shadow *mt_self_shadow(void) /* NULL = none yet */
{
	const struct thread *t = mt_self();

	return t ? t->shadow : NULL;
}

static inline void mt_self_become(struct thread *t)
{
	pthread_setspecific(mt_self_key, t);
}

static inline void mt_self_set_shadow(struct thread *t, struct shadow *s) /* t: the caller's */
{
	t->shadow = s;
}
#else
#ifdef __GLIBC__
#define MT_TLS __thread __attribute__((tls_model("initial-exec")))
#else /* musl's dlopen takes no other; TLS descriptors are two instructions more where the agent   \
	 is preloaded */
#define MT_TLS __thread __attribute__((tls_model("global-dynamic")))
#endif

extern MT_TLS struct hot *mt_self_tls_hot;
extern MT_TLS struct thread *mt_self_tls_state;
extern MT_TLS struct shadow *mt_self_tls_shadow;

static inline struct thread *mt_self(void)
{
	return mt_self_tls_state;
}

static inline struct hot *mt_self_hot(void)
{
	return mt_self_tls_hot;
}

static inline struct shadow *mt_self_shadow(void)
{
	return mt_self_tls_shadow;
}

static inline void mt_self_become(struct thread *t)
{
	mt_self_tls_state = t;
	mt_self_tls_hot = t->hot;
}

static inline void mt_self_set_shadow(struct thread *t, struct shadow *s)
{
	t->shadow = mt_self_tls_shadow = s;
}
#endif

#pragma GCC visibility pop

#endif
