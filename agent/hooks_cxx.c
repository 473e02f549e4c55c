/* SPDX-License-Identifier: MIT
 *
 * hooks_cxx.c - operator new and delete in all their forms, each block exactly once.
 *
 * Which operator new lies behind us decides how (looked up once, at start):
 *   PLAIN      libstdc++'s, libc++'s, or none yet (a C program may load a C++ plugin later, with
 *              its library in a scope that we cannot see). They are malloc with a handler and an
 *              exception, so we call the real malloc ourselves and count what was asked for:
 *              new(0) is a block of 0 bytes, an aligned new counts its size before rounding.
 *              Only when malloc fails is the real operator asked, for its handler and bad_alloc.
 *   ALLOCATOR  it lives beside the malloc in use (tcmalloc, jemalloc): called, and counted here.
 *   OTHER      somebody's replacement, or a library's with another malloc before ours: called, and counted
 *              here unless it came to the malloc hook.
 * A replacement inside the program itself binds before us and is seen through its malloc.
 *
 * The names are the Itanium ABI's; `m` is size_t on 64-bit platforms.
 */
#include "hooks.h"
#include "loader.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum kind { PLAIN, ALLOCATOR, OTHER };
enum form { NEW, NEW_ARRAY, NEW_NT, NEW_ARRAY_NT, NEW_AL, NEW_ARRAY_AL, NEW_AL_NT, NEW_ARRAY_AL_NT,
	    NEWS };
enum gone { DEL, DEL_ARRAY, DEL_SIZE, DEL_ARRAY_SIZE, DEL_NT, DEL_ARRAY_NT, DEL_AL, DEL_ARRAY_AL,
	    DEL_SIZE_AL, DEL_ARRAY_SIZE_AL, DEL_AL_NT, DEL_ARRAY_AL_NT, DELETES };

/* size_t as these names spell it. */
#if __SIZEOF_SIZE_T__ == 8
#define SZ "m"
#else
#define SZ "j"
#define _ZdaPvm _ZdaPvj
#define _ZdaPvmSt11align_val_t _ZdaPvjSt11align_val_t
#define _ZdlPvm _ZdlPvj
#define _ZdlPvmSt11align_val_t _ZdlPvjSt11align_val_t
#define _Znam _Znaj
#define _ZnamRKSt9nothrow_t _ZnajRKSt9nothrow_t
#define _ZnamSt11align_val_t _ZnajSt11align_val_t
#define _ZnamSt11align_val_tRKSt9nothrow_t _ZnajSt11align_val_tRKSt9nothrow_t
#define _Znwm _Znwj
#define _ZnwmRKSt9nothrow_t _ZnwjRKSt9nothrow_t
#define _ZnwmSt11align_val_t _ZnwjSt11align_val_t
#define _ZnwmSt11align_val_tRKSt9nothrow_t _ZnwjSt11align_val_tRKSt9nothrow_t
#endif

static const char *const new_names[NEWS] = {
	[NEW] = "_Znw" SZ,
	[NEW_ARRAY] = "_Zna" SZ,
	[NEW_NT] = "_Znw" SZ "RKSt9nothrow_t",
	[NEW_ARRAY_NT] = "_Zna" SZ "RKSt9nothrow_t",
	[NEW_AL] = "_Znw" SZ "St11align_val_t",
	[NEW_ARRAY_AL] = "_Zna" SZ "St11align_val_t",
	[NEW_AL_NT] = "_Znw" SZ "St11align_val_tRKSt9nothrow_t",
	[NEW_ARRAY_AL_NT] = "_Zna" SZ "St11align_val_tRKSt9nothrow_t",
};
static const char *const delete_names[DELETES] = {
	[DEL] = "_ZdlPv",
	[DEL_ARRAY] = "_ZdaPv",
	[DEL_SIZE] = "_ZdlPv" SZ,
	[DEL_ARRAY_SIZE] = "_ZdaPv" SZ,
	[DEL_NT] = "_ZdlPvRKSt9nothrow_t",
	[DEL_ARRAY_NT] = "_ZdaPvRKSt9nothrow_t",
	[DEL_AL] = "_ZdlPvSt11align_val_t",
	[DEL_ARRAY_AL] = "_ZdaPvSt11align_val_t",
	[DEL_SIZE_AL] = "_ZdlPv" SZ "St11align_val_t",
	[DEL_ARRAY_SIZE_AL] = "_ZdaPv" SZ "St11align_val_t",
	[DEL_AL_NT] = "_ZdlPvSt11align_val_tRKSt9nothrow_t",
	[DEL_ARRAY_AL_NT] = "_ZdaPvSt11align_val_tRKSt9nothrow_t",
};

/* Any form: the arguments that a form does not have are passed and not looked at. */
typedef void *(*new_fn)(size_t, uintptr_t, uintptr_t);
typedef void (*delete_fn)(void *, uintptr_t, uintptr_t);

static enum kind kind;
static new_fn real_new[NEWS];
static delete_fn real_delete[DELETES];

static enum kind classify(void *operator_new)
{
	Dl_info cxx, c;
	const char *name;

	if (mt_real_front()) /* then libstdc++'s asks that one */
		return OTHER;
	if (!operator_new)
		return PLAIN;
	if (!dladdr || !dladdr(operator_new, &cxx)) /* a static program may have an own one: it is called */
		return mt_real_linked() ? ALLOCATOR : PLAIN;
	if (dladdr((void *)mt_real.malloc, &c) && c.dli_fbase == cxx.dli_fbase)
		return ALLOCATOR;
	name = strrchr(cxx.dli_fname, '/');
	name = name ? name + 1 : cxx.dli_fname;
	return !strncmp(name, "libstdc++", 9) || !strncmp(name, "libc++", 6) ? PLAIN : OTHER;
}

void mt_hooks_cxx_init(void)
{
	void *f = mt_real_next(new_names[NEW]);

	kind = classify(f);
	for (int i = 0; f && i < NEWS; i++)
		real_new[i] = (new_fn)mt_real_next(new_names[i]);
	for (int i = 0; f && kind != PLAIN && i < DELETES; i++)
		real_delete[i] = (delete_fn)mt_real_next(delete_names[i]);
}

bool mt_hooks_cxx_foreign(void)
{
	return kind != PLAIN;
}

static void *call_new(enum form f, size_t n, uintptr_t a, uintptr_t b, const struct regs *caller)
{
	new_fn fn = real_new[f];

	if (!fn)
		fn = (new_fn)mt_real_beside(caller->pc, new_names[f]);
	return fn ? fn(n, a, b) : NULL;
}

/* The libraries' rule: a power of two, at least a pointer's; the size rounded up to it. */
static void *try_aligned(void *(*by)(size_t, size_t), size_t n, size_t align)
{
	size_t rounded;

	if (align & (align - 1))
		return NULL;
	if (align < sizeof(void *))
		align = sizeof(void *);
	if (__builtin_add_overflow(n ? n : 1, align - 1, &rounded))
		return NULL;
	return by(align, rounded & ~(align - 1));
}

/*
 * Counted by the malloc hook when the operator went there; its own block otherwise. Where it came with a plugin,
 * as libraries' do, their way is gone here: to whatever malloc comes first. To look for it takes a lock.
 */
MT_COLD static void *foreign_new(enum form f, size_t n, size_t align, uintptr_t a, uintptr_t b,
				 const struct regs *caller)
{
	struct thread *t = mt_thread_enter();
	uint64_t before = t ? mt_record_seen(t) : 0;
	void *p = NULL;

	if (!real_new[f])
		p = align ? try_aligned(aligned_alloc, n, align) : malloc(n ? n : 1);
	if (!p)
		p = call_new(f, n, a, b, caller);
	if (p && t && mt_record_seen(t) == before)
		mt_record_alloc(t, p, n, caller->pc, caller->sp, caller->fp);
	return p;
}

static void *any_new(enum form f, size_t n, size_t align, uintptr_t a, uintptr_t b,
		     const struct regs *caller)
{
	if (unlikely(kind != PLAIN))
		return foreign_new(f, n, align, a, b, caller);
	struct thread *t = mt_thread_enter();
	void *p = align ? try_aligned(mt_real.aligned_alloc, n, align) : mt_real.malloc(n ? n : 1);
	if (unlikely(!p))
		return call_new(f, n, a, b, caller);
	if (likely(t))
		mt_record_alloc(t, p, n, caller->pc, caller->sp, caller->fp);
	return p;
}

/* Foreign, closed, or there is no memory: once more, with all that may follow. */
MT_COLD static void *slow_new(enum form f, size_t n, uintptr_t tag, uintptr_t pc, uintptr_t sp,
			      uintptr_t fp)
{
	return any_new(f, n, 0, tag, 0, &(struct regs){ pc, sp, fp });
}

MT_INLINE void *plain_new(enum form f, size_t n, uintptr_t tag, uintptr_t pc, uintptr_t sp,
			  uintptr_t fp)
{
	struct thread *t = mt_self_hot()->open;

	if (unlikely(!t || kind != PLAIN))
		return slow_new(f, n, tag, pc, sp, fp);
	void *p = mt_real.malloc(n ? n : 1);
	return likely(p) ? record_alloc(t, p, n, pc, sp, fp) : slow_new(f, n, tag, pc, sp, fp);
}

MT_EXPORT void *_Znwm(size_t n)
{
	return plain_new(NEW, n, 0, CALLER_PC, CALLER_SP, CALLER_FP);
}

MT_EXPORT void *_Znam(size_t n)
{
	return plain_new(NEW_ARRAY, n, 0, CALLER_PC, CALLER_SP, CALLER_FP);
}

MT_EXPORT void *_ZnwmRKSt9nothrow_t(size_t n, uintptr_t tag)
{
	return plain_new(NEW_NT, n, tag, CALLER_PC, CALLER_SP, CALLER_FP);
}

MT_EXPORT void *_ZnamRKSt9nothrow_t(size_t n, uintptr_t tag)
{
	return plain_new(NEW_ARRAY_NT, n, tag, CALLER_PC, CALLER_SP, CALLER_FP);
}

MT_EXPORT void *_ZnwmSt11align_val_t(size_t n, size_t align)
{
	return any_new(NEW_AL, n, align, align, 0, CALLER);
}

MT_EXPORT void *_ZnamSt11align_val_t(size_t n, size_t align)
{
	return any_new(NEW_ARRAY_AL, n, align, align, 0, CALLER);
}

MT_EXPORT void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t n, size_t align, uintptr_t tag)
{
	return any_new(NEW_AL_NT, n, align, align, tag, CALLER);
}

MT_EXPORT void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t n, size_t align, uintptr_t tag)
{
	return any_new(NEW_ARRAY_AL_NT, n, align, align, tag, CALLER);
}

/* A block that we know is retired first; if the operator then frees it, that is no news. */
MT_COLD static void foreign_delete(enum gone g, void *p, uintptr_t a, uintptr_t b)
{
	struct thread *t = mt_thread_enter();
	struct block known;

	if (t && mt_live_peek(p, &known)) {
		mt_record_take(t, p, &known);
		mt_record_gone(t, &known);
		t->deleting = (uintptr_t)p;
	} else if (t && kind == ALLOCATOR && mt_attach_is()) {
		mt_record_take(t, p, &known); /* from before the attach: counted as such, here or nowhere */
		t->deleting = (uintptr_t)p;
	}
	if (real_delete[g])
		real_delete[g](p, a, b);
	else if (real_delete[DEL])
		real_delete[DEL](p, 0, 0);
	else if (mt_real.front_free)
		mt_real.front_free(p);
	else
		mt_real.free(p);
	if (t)
		t->deleting = 0;
}

MT_INLINE void any_delete(enum gone g, void *p, uintptr_t a, uintptr_t b)
{
	if (unlikely(!p))
		return;
	if (unlikely(kind != PLAIN)) {
		foreign_delete(g, p, a, b);
		return;
	}
	struct thread *t = mt_thread_enter();
	if (unlikely(!t))
		mt_hooks_plain_free(p);
	else
		mt_record_free(t, p);
}

MT_EXPORT void _ZdlPv(void *p)
{
	any_delete(DEL, p, 0, 0);
}

MT_EXPORT void _ZdaPv(void *p)
{
	any_delete(DEL_ARRAY, p, 0, 0);
}

MT_EXPORT void _ZdlPvm(void *p, size_t n)
{
	any_delete(DEL_SIZE, p, n, 0);
}

MT_EXPORT void _ZdaPvm(void *p, size_t n)
{
	any_delete(DEL_ARRAY_SIZE, p, n, 0);
}

MT_EXPORT void _ZdlPvRKSt9nothrow_t(void *p, uintptr_t tag)
{
	any_delete(DEL_NT, p, tag, 0);
}

MT_EXPORT void _ZdaPvRKSt9nothrow_t(void *p, uintptr_t tag)
{
	any_delete(DEL_ARRAY_NT, p, tag, 0);
}

MT_EXPORT void _ZdlPvSt11align_val_t(void *p, size_t align)
{
	any_delete(DEL_AL, p, align, 0);
}

MT_EXPORT void _ZdaPvSt11align_val_t(void *p, size_t align)
{
	any_delete(DEL_ARRAY_AL, p, align, 0);
}

MT_EXPORT void _ZdlPvmSt11align_val_t(void *p, size_t n, size_t align)
{
	any_delete(DEL_SIZE_AL, p, n, align);
}

MT_EXPORT void _ZdaPvmSt11align_val_t(void *p, size_t n, size_t align)
{
	any_delete(DEL_ARRAY_SIZE_AL, p, n, align);
}

MT_EXPORT void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *p, size_t align, uintptr_t tag)
{
	any_delete(DEL_AL_NT, p, align, tag);
}

MT_EXPORT void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *p, size_t align, uintptr_t tag)
{
	any_delete(DEL_ARRAY_AL_NT, p, align, tag);
}
