/* SPDX-License-Identifier: MIT
 *
 * malloc.c - the malloc family, interposed.
 *
 * Each hook keeps the C library's contract: the real function determines the result and errno.
 * Counting comes before the real free and after the real malloc. A failed call counts nothing,
 * but in the distance to the next sample. A realloc is one free and one allocation at its own
 * stack, in place or not.
 *
 * mt_gate_enter() is one thread-local load and one compare. NULL means that this call does not
 * count (a bad option, start-up, the agent's own call), and the plain twin serves it. Behind the
 * same compare the frequent hooks look for the gate of a sampled thread (record/sampled_fast.h):
 * an event that is left out jumps on to the real function and saves no registers. reallocarray,
 * free_sized and free_aligned_sized call realloc and free: libc's own versions would come back
 * through the PLT and count twice, and older libcs lack them. Somebody else's are called. Where the
 * program has a malloc that precedes the hooks, they call that one's realloc and free, which count
 * if it passes the call on.
 */
#include "hooks/malloc.h"
#include "base/compiler.h"
#include "base/self.h"
#include "base/types.h"
#include "hooks/caller.h"
#include "hooks/gate.h"
#include "modules/real.h"
#include "record/record.h"
#include "record/record_fast.h"
#include "record/sampled_fast.h"
#include "record/thread.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

void *mt_hooks_plain_malloc(size_t n)
{
	return mt_thread_quiet() ? mt_real_boot_alloc(n, 16) : mt_real.malloc(n);
}

void *mt_hooks_plain_aligned(size_t align, size_t n)
{
	return mt_thread_quiet() ? mt_real_boot_alloc(n, align) : mt_real.memalign(align, n);
}

void mt_hooks_plain_free(void *p)
{
	if (!mt_real_boot_owns(p))
		mt_real.free(p);
}

static void *plain_calloc(size_t n, size_t size)
{
	size_t bytes;

	if (!mt_thread_quiet())
		return mt_real.calloc(n, size);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : mt_real_boot_alloc(bytes, 16);
}

/* A block of the pool cannot grow in place, and its old copy stays where it is. */
static void *leave_pool(void *old, void *fresh, size_t n)
{
	size_t size = mt_real_boot_size(old);

	return fresh ? memcpy(fresh, old, size < n ? size : n) : NULL;
}

static void *plain_realloc(void *p, size_t n)
{
	if (p && mt_real_boot_owns(p))
		return leave_pool(p, mt_hooks_plain_malloc(n), n);
	return !p ? mt_hooks_plain_malloc(n) : mt_real.realloc(p, n);
}

MT_COLD static void *failed(struct thread *t, size_t n)
{
	mt_record_failed(t, n);
	return NULL;
}

/* As closed_calloc(): entered by a jump, so its caller is the hook's. */
MT_COLD static void *closed_malloc(size_t n)
{
	struct thread *t = mt_gate_enter();

	if (!t)
		return mt_hooks_plain_malloc(n);
	void *p = mt_real.malloc(n);
	return p ? RECORD(t, p, n) : failed(t, n);
}

JUMPS MT_EXPORT void *malloc(size_t n)
{
	const struct hot *hot = mt_self_hot();
	struct thread *t = hot->open;

	if (unlikely(!t)) {
		if (sampled_skips(hot, n))
			return mt_real.malloc(n);
		JUMP_RETURN closed_malloc(n);
	}
	t = gate_state(t);
	size_t bytes = gate_copy(n);
	void *p = mt_real.malloc(n);
	return likely(p) ? RECORD_FAST(t, p, bytes) : NULL;
}

MT_INLINE void any_free(void *p)
{
	if (unlikely(!p))
		return;
	struct thread *t = mt_gate_enter();
	if (unlikely(!t))
		mt_hooks_plain_free(p);
	else
		mt_record_free(t, p);
}

MT_COLD static void closed_free(void *p)
{
	any_free(p);
}

MT_EXPORT void free(void *p)
{
	const struct hot *hot = mt_self_hot();
	struct thread *t = hot->open;

	if (unlikely(!t)) {
		t = hot->sampled;
		if (unlikely(!t)) {
			closed_free(p);
			return;
		}
		if (sampled_frees(t, p))
			return;
	}
	record_free(t, p);
}

MT_COLD static void *closed_calloc(size_t n, size_t size)
{
	struct thread *t = mt_gate_enter();

	if (!t)
		return plain_calloc(n, size);
	void *p = mt_real.calloc(n, size);
	return p ? RECORD(t, p, n * size) : failed(t, n * size);
}

JUMPS MT_EXPORT void *calloc(size_t n, size_t size)
{
	const struct hot *hot = mt_self_hot();
	struct thread *t = hot->open;
	size_t bytes;

	if (unlikely(!t)) {
		if (!__builtin_mul_overflow(n, size, &bytes) && sampled_skips(hot, bytes))
			return mt_real.calloc(n, size);
		JUMP_RETURN closed_calloc(n, size);
	}
	t = gate_state(t);
	bytes = gate_copy(n) * size;
	void *p = mt_real.calloc(n, size);
	return likely(p) ? RECORD_FAST(t, p, bytes) : NULL;
}

static void *failed_realloc(struct thread *t, void *p, size_t n, const struct block *old)
{
	if (n) {
		mt_record_restore(t, p, old);
		mt_record_failed(t, n);
	} else {
		mt_record_gone(t, old); /* realloc(p, 0) freed it */
	}
	return NULL;
}

MT_COLD static void *failed_small(struct thread *t, void *p, size_t n, struct taken b)
{
	struct block old = origin_block(b.origin, b.size);

	return failed_realloc(t, p, n, &old);
}

/* The old block is out of the map before the real call, for its address may be reused within it. */
static void *counted_realloc(struct thread *t, void *p, size_t n, uintptr_t pc, uintptr_t sp,
			     uintptr_t fp)
{
	struct block old = { .slot = 0 };

	if (p && unlikely(!mt_record_take(t, p, &old)))
		return leave_pool(p, mt_hooks_plain_malloc(n), n);
	void *fresh = mt_real.realloc(p, n);
	if (unlikely(!fresh))
		return p ? failed_realloc(t, p, n, &old) : failed(t, n);
	if (p)
		mt_record_gone(t, &old);
	return mt_record_alloc(t, fresh, n, pc, sp, fp);
}

static void *any_realloc(void *p, size_t n, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	struct thread *t = mt_gate_enter();

	return t ? counted_realloc(t, p, n, pc, sp, fp) : plain_realloc(p, n);
}

MT_EXPORT void *realloc(void *p, size_t n)
{
	const struct hot *hot = mt_self_hot();
	struct thread *t = hot->open;

	if (unlikely(!t && sampled_moves(hot, p, n)))
		return mt_real.realloc(p, n);
	if (unlikely(!t))
		return any_realloc(p, n, CALLER_PC, CALLER_SP, CALLER_FP);
	struct taken old = likely(p) ? record_take(p) : (struct taken){ 0, 0 };
	if (unlikely(p && !old.origin))
		return counted_realloc(t, p, n, CALLER_PC, CALLER_SP, CALLER_FP);
	void *fresh = mt_real.realloc(p, n);
	if (unlikely(!fresh))
		return old.origin ? failed_small(t, p, n, old) : NULL;
	if (old.origin)
		record_gone(t, old);
	return RECORD_FAST(t, fresh, n);
}

/* Somebody's own, or a wrapper that may come back to the hooks with the same request: then they
 * have counted the new block, and know the old one no more. */
MT_COLD static void *foreign_reallocarray(void *p, size_t n, size_t size, const struct regs *r)
{
	struct thread *t = mt_gate_enter();
	struct block old = { .slot = 0 };

	if (!t)
		return mt_real.reallocarray(p, n, size);
	if (p)
		mt_record_take(t, p, &old);
	uint64_t before = mt_record_seen(t);
	t->deleting = (uintptr_t)p;
	void *fresh = mt_real.reallocarray(p, n, size);
	t->deleting = 0;
	if (!fresh)
		return p ? failed_realloc(t, p, n * size, &old) : failed(t, n * size);
	if (p)
		mt_record_gone(t, &old);
	return mt_record_seen(t) == before
		       ? mt_record_alloc(t, fresh, n * size, r->pc, r->sp, r->fp)
		       : fresh;
}

MT_EXPORT void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (unlikely(__builtin_mul_overflow(n, size, &bytes))) {
		errno = ENOMEM;
		return NULL;
	}
	if (unlikely(mt_real.front_realloc))
		return mt_real.front_realloc(p, bytes);
	if (unlikely(mt_real.reallocarray && !(p && mt_real_boot_owns(p))))
		return foreign_reallocarray(p, n, size, CALLER);
	return any_realloc(p, bytes, CALLER_PC, CALLER_SP, CALLER_FP);
}

MT_EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
	struct thread *t = mt_gate_enter();

	if (unlikely(!t && mt_thread_quiet()))
		return (*out = mt_real_boot_alloc(n, align)) ? 0 : ENOMEM;
	int error = mt_real.posix_memalign(out, align, n);
	if (likely(!error && t && *out))
		RECORD(t, *out, n);
	return error;
}

MT_EXPORT void *aligned_alloc(size_t align, size_t n)
{
	struct thread *t = mt_gate_enter();

	if (unlikely(!t))
		return mt_hooks_plain_aligned(align, n);
	void *p = mt_real.aligned_alloc(align, n);
	return likely(p) ? RECORD(t, p, n) : NULL;
}

MT_EXPORT void *memalign(size_t align, size_t n)
{
	struct thread *t = mt_gate_enter();

	if (unlikely(!t))
		return mt_hooks_plain_aligned(align, n);
	void *p = mt_real.memalign(align, n);
	return likely(p) ? RECORD(t, p, n) : NULL;
}

MT_EXPORT void *valloc(size_t n)
{
	struct thread *t = mt_gate_enter();
	void *p = mt_real.valloc(n);

	return likely(p && t) ? RECORD(t, p, n) : p;
}

MT_EXPORT void *pvalloc(size_t n)
{
	struct thread *t = mt_gate_enter();
	void *p = mt_real.pvalloc(n);

	return likely(p && t) ? RECORD(t, p, n) : p;
}

/* By names that the allocator in front of us may lack. */
MT_INLINE void other_free(void *p)
{
	if (unlikely(mt_real.front_free))
		mt_real.front_free(p);
	else
		any_free(p);
}

/* Before a function that is not the C library's frees the block: it is gone. False: another one
 * shall free it. */
MT_COLD static bool freed_by(const void *f, void *p, struct thread **t)
{
	struct block old = { .slot = 0 };

	if (!f || !p || mt_real.front_free || mt_real_boot_owns(p))
		return false;
	*t = mt_gate_enter();
	if (*t) {
		mt_record_take(*t, p, &old);
		mt_record_gone(*t, &old);
		(*t)->deleting = (uintptr_t)p;
	}
	return true;
}

static void freed(struct thread *t)
{
	if (t)
		t->deleting = 0;
}

MT_EXPORT void cfree(void *p)
{
	struct thread *t;

	if (!freed_by((const void *)mt_real.cfree, p, &t)) {
		other_free(p);
		return;
	}
	mt_real.cfree(p);
	freed(t);
}

MT_EXPORT void free_sized(void *p, size_t n)
{
	struct thread *t;

	if (!freed_by((const void *)mt_real.free_sized, p, &t)) {
		other_free(p);
		return;
	}
	mt_real.free_sized(p, n);
	freed(t);
}

MT_EXPORT void free_aligned_sized(void *p, size_t align, size_t n)
{
	struct thread *t;

	if (!freed_by((const void *)mt_real.free_aligned_sized, p, &t)) {
		other_free(p);
		return;
	}
	mt_real.free_aligned_sized(p, align, n);
	freed(t);
}

#ifdef __BIONIC__
MT_EXPORT size_t malloc_usable_size(const void *p)
#else
MT_EXPORT size_t malloc_usable_size(void *p)
#endif
{
	if (unlikely(p && mt_real_boot_owns(p)))
		return mt_real_boot_size(p);
	return mt_real.malloc_usable_size((void *)p);
}
