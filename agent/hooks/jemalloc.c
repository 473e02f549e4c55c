/* SPDX-License-Identifier: MIT
 *
 * jemalloc.c - jemalloc's own functions beside malloc, where jemalloc is the malloc in use.
 *
 * mallocx, rallocx, xallocx, dallocx and sdallocx are counted like malloc, realloc and free.
 * sallocx and nallocx only report sizes and are not hooked. Flags (alignment, zeroing, arena,
 * cache) are passed on unchanged. Requested bytes count, not the rounded size:
 *
 *   mallocx(n)              a block of n bytes
 *   rallocx(p, n)           one free, one block of n bytes at its own stack; nothing when it fails
 *   xallocx(p, n, extra)    when the request was met (n <= result <= n + extra, rounded up): one
 *                           free, one block of min(result, n + extra) bytes at its own stack, in
 *                           the same place. Otherwise the block stays unchanged.
 *
 * In a linked-in agent --wrap redirects the calls to the hooks, under the names that all hooks have
 * there (agent/linked/). Without jemalloc none of these functions may seem to exist, so they are
 * not exported like others: hooks/jemalloc_names.c hides them, and modules/rebind.c puts them in
 * front of jemalloc's.
 */
#include "hooks/caller.h"
#include "hooks/jemalloc.h"
#include "base/compiler.h"
#include "base/types.h"
#include "hooks/gate.h"
#include "modules/names.h"
#include "modules/object.h"
#include "modules/real.h"
#include "modules/rebind.h"
#include "record/record.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static struct {
	JEMALLOC_NAMES(NAMES_MEMBER)
	JEMALLOC_CALLED_NAMES(NAMES_MEMBER)
} real;

MT_EXPORT void *mt_hooks_mallocx(size_t n, int flags)
{
	struct thread *t = mt_gate_enter();
	void *p = real.mallocx(n, flags);

	return likely(p && t) ? RECORD(t, p, n) : p;
}

/* As in realloc: out of the map before the real call. */
MT_EXPORT void *mt_hooks_rallocx(void *p, size_t n, int flags)
{
	struct thread *t = mt_gate_enter();
	struct block old;

	if (unlikely(!t || !p || !mt_record_take(t, p, &old)))
		return real.rallocx(p, n, flags);
	void *fresh = real.rallocx(p, n, flags);
	if (unlikely(!fresh)) {
		mt_record_restore(t, p, &old);
		return NULL;
	}
	mt_record_gone(t, &old);
	return RECORD(t, fresh, n);
}

static bool was_met(size_t result, size_t n, size_t most, int flags)
{
	size_t rounded = real.nallocx(most, flags); /* 0: more than there can be */

	return result >= n && (!rounded || result <= rounded);
}

MT_EXPORT size_t mt_hooks_xallocx(void *p, size_t n, size_t extra, int flags)
{
	struct thread *t = mt_gate_enter();
	size_t most = n + extra < n ? SIZE_MAX : n + extra;
	struct block old;

	if (unlikely(!t || !p || !mt_record_take(t, p, &old)))
		return real.xallocx(p, n, extra, flags);
	size_t result = real.xallocx(p, n, extra, flags);
	if (was_met(result, n, most, flags)) {
		mt_record_gone(t, &old);
		RECORD(t, p, result < most ? result : most);
	} else {
		mt_record_restore(t, p, &old);
	}
	return result;
}

/* False: not the allocator's, leave it. */
static bool count_freed(void *p)
{
	struct thread *t = p ? mt_gate_enter() : NULL;
	struct block b;

	if (unlikely(!t))
		return true;
	if (unlikely(!mt_record_take(t, p, &b)))
		return false;
	mt_record_gone(t, &b);
	return true;
}

MT_EXPORT void mt_hooks_dallocx(void *p, int flags)
{
	if (likely(count_freed(p)))
		real.dallocx(p, flags);
}

MT_EXPORT void mt_hooks_sdallocx(void *p, size_t n, int flags)
{
	if (likely(count_freed(p)))
		real.sdallocx(p, n, flags);
}

/* Lives the function where the malloc in use lives? */
static bool beside_malloc(void *function)
{
	struct object o;

	if (mt_real_linked())
		return function;
	return function && mt_object_of(function, &o) &&
	       mt_object_holds(&o, (const void *)(uintptr_t)mt_real.malloc);
}

size_t mt_hooks_jemalloc_init(struct rebind *list)
{
#define ROW(linked, weak, name, ...) { #name, mt_real_next(#name), (void *)mt_hooks_##name },
	const struct rebind ours[JEMALLOC_HOOKS] = { JEMALLOC_NAMES(ROW) };

	memcpy(list, ours, sizeof(ours));
	for (size_t i = 0; i < JEMALLOC_HOOKS; i++)
		if (!beside_malloc(list[i].real))
			return 0;
#define FIND(linked, weak, name, result, parameters, ...)                                          \
	real.name = (result(*) parameters)mt_real_next(#name);
	JEMALLOC_CALLED_NAMES(FIND)
	if (!beside_malloc((void *)real.nallocx))
		return 0;
	JEMALLOC_NAMES(FIND)
	return JEMALLOC_HOOKS;
}
