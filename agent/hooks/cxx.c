/* SPDX-License-Identifier: MIT
 *
 * cxx.c - operator new and delete in all their forms; each block is counted exactly once.
 *
 * The operator new behind the hooks decides how (looked up once, at start):
 *   PLAIN      libstdc++'s or libc++'s, or none. They are malloc with a handler and an exception,
 *              so the hook calls the real malloc and counts the requested size: new(0) is a block
 *              of 0 bytes, and an aligned new counts its size before rounding. Only when malloc
 *              fails does the hook call the real operator, for its handler and bad_alloc.
 *   ALLOCATOR  belongs to the malloc in use (tcmalloc, jemalloc): called, and counted here.
 *   OTHER      a library behind the agent replaces some form, or another malloc, free or
 *              aligned_alloc precedes the hooks: called, and counted here unless the call reached
 *              the malloc hook.
 *   PROGRAM    the program, or a library before the agent, replaces some form, and its calls of
 *              that form bypass the hooks. The other forms are called and not counted here: the
 *              malloc hook counts their requests.
 *
 * A program may replace a few forms and leave the others to the library, whose sized delete calls
 * the program's plain one. So a single form that is not the library's rules out PLAIN for all of
 * them.
 *
 * The names are the Itanium ABI's; `m` is size_t on 64-bit platforms.
 */
#include "hooks/cxx.h"
#include "base/compiler.h"
#include "base/self.h"
#include "base/state.h"
#include "base/types.h"
#include "hooks/caller.h"
#include "hooks/gate.h"
#include "hooks/malloc.h"
#include "live/live.h"
#include "modules/loader.h"
#include "modules/names.h"
#include "modules/object.h"
#include "modules/real.h"
#include "modules/rebind.h"
#include "record/record.h"
#include "record/record_fast.h"
#include "record/sampled_fast.h"
#include "record/thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum kind { PLAIN, ALLOCATOR, OTHER, PROGRAM };
#define FORM(linked, weak, name, result, parameters, form) form,
enum form { NEW_NAMES(FORM) NEWS };
enum gone { DELETE_NAMES(FORM) DELETES };

#define FORM_NAME(linked, weak, name, result, parameters, form) [form] = NAMES_TEXT(name),
static const char *const new_names[NEWS] = { NEW_NAMES(FORM_NAME) };
static const char *const delete_names[DELETES] = { DELETE_NAMES(FORM_NAME) };

/* Any form: the arguments that a form does not have are passed and not looked at. */
typedef void *(*new_fn)(size_t, uintptr_t, uintptr_t);
typedef void (*delete_fn)(void *, uintptr_t, uintptr_t);

static enum kind kind;
static new_fn real_new[NEWS];
static delete_fn real_delete[DELETES];

/* The form that this one calls, unless it is replaced ([new.delete]); itself where that is malloc
 * or free. */
static const enum form new_calls[NEWS] = {
	[NEW] = NEW,          [NEW_ARRAY] = NEW,
	[NEW_NT] = NEW,       [NEW_ARRAY_NT] = NEW_ARRAY,
	[NEW_AL] = NEW_AL,    [NEW_ARRAY_AL] = NEW_AL,
	[NEW_AL_NT] = NEW_AL, [NEW_ARRAY_AL_NT] = NEW_ARRAY_AL,
};
/* clang-format off */
static const enum gone delete_calls[DELETES] = {
	[DEL] = DEL, [DEL_ARRAY] = DEL, [DEL_SIZE] = DEL, [DEL_ARRAY_SIZE] = DEL_ARRAY,
	[DEL_NT] = DEL, [DEL_ARRAY_NT] = DEL_ARRAY, [DEL_AL] = DEL_AL, [DEL_ARRAY_AL] = DEL_AL,
	[DEL_SIZE_AL] = DEL_AL, [DEL_ARRAY_SIZE_AL] = DEL_ARRAY_AL, [DEL_AL_NT] = DEL_AL,
	[DEL_ARRAY_AL_NT] = DEL_ARRAY_AL,
};
/* clang-format on */
static new_fn front_new[NEWS]; /* the program's, where it comes before ours; NULL */
static delete_fn front_delete[DELETES];

/*
 * By name and by address. They differ where the program has a form of that name, too: one that the
 * agent is linked into as weak functions, which are then left out, or one that comes before the
 * agent.
 */
struct hook {
	const void *named, *ours;
};
static const struct hook hooks[NEWS + DELETES];

/* libstdc++'s and libc++'s operators call each other, malloc, aligned_alloc and free, and nothing
 * else. */
static bool is_library(const void *f)
{
	static struct object known; /* most often they are all in one */
	const char *path, *name;

	if (known.headers && mt_object_holds(&known, f))
		return true;
	path = mt_object_of(f, &known);
	name = path ? strrchr(path, '/') : NULL;
	name = name ? name + 1 : path;
	if (name && (!strncmp(name, "libstdc++", 9) || !strncmp(name, "libc++", 6)))
		return true;
	known.headers = 0;
	return false;
}

static bool in_program(const void *f)
{
	struct object o;

	return mt_object_of(f, &o) && mt_object_holds(&o, (const void *)getauxval(AT_ENTRY));
}

/* The form of number i (those of new, then those of delete) that comes before ours; NULL. */
static void *before_ours(int i)
{
	static int linked_in = -1;

	if (linked_in < 0)
		linked_in = in_program(hooks[0].ours);
	if (linked_in)
		return hooks[i].named != hooks[i].ours ? (void *)hooks[i].named : NULL;
	return mt_real_before(i < NEWS ? new_names[i] : delete_names[i - NEWS]);
}

static bool beside_malloc(const void *f)
{
	struct object o;

	return mt_object_of(f, &o) && mt_object_holds(&o, (const void *)mt_real.malloc);
}

/* Forms before us; forms behind us, or where the agent was attached, that are not the library's. */
static enum kind classify_forms(void)
{
	enum kind found = mt_real_front_part() ? OTHER : PLAIN;

	for (int i = 0; i < NEWS + DELETES; i++) {
		const void *f =
			i < NEWS ? (const void *)real_new[i] : (const void *)real_delete[i - NEWS];
		if (i < NEWS ? !!front_new[i] : !!front_delete[i - NEWS])
			return PROGRAM;
		if (!f || is_library(f))
			continue;
		if (mt_real_came_late() && in_program(f)) /* calls within it pass the hooks by */
			return PROGRAM;
		found = OTHER;
	}
	return found;
}

static enum kind classify(void)
{
	if (real_new[NEW] &&
	    !mt_loader_debug()) /* a static program may have an own one: it is called */
		return mt_real_linked() ? ALLOCATOR : PLAIN;
	if (real_new[NEW] && !mt_real_front() && beside_malloc((void *)real_new[NEW]))
		return ALLOCATOR;
	return classify_forms();
}

/* An operator that no library behind the agent defines must not seem to exist: a C program may load
 * a plugin that brings a C++ library or operators. The loader then finds those, and the malloc hook
 * counts their requests. */
static void hide_useless(void)
{
#ifndef __BIONIC__
	struct rebind list[NEWS + DELETES];
	size_t count = 0;

	if (mt_real_linked() || mt_real_came_late())
		return;
	for (int i = 0; i < NEWS + DELETES; i++)
		if (i < NEWS ? !real_new[i] : !real_delete[i - NEWS])
			list[count++] =
				(struct rebind){ i < NEWS ? new_names[i] : delete_names[i - NEWS],
						 NULL, (void *)hooks[i].ours };
	if (count)
		mt_rebind_hide(list, count);
#endif
}

void mt_hooks_cxx_init(void)
{
	for (int i = 0; i < NEWS; i++) {
		real_new[i] = (new_fn)mt_real_next(new_names[i]);
		front_new[i] = (new_fn)before_ours(i);
	}
	for (int i = 0; i < DELETES; i++) {
		real_delete[i] = (delete_fn)mt_real_next(delete_names[i]);
		front_delete[i] = (delete_fn)before_ours(NEWS + i);
	}
	kind = classify();
	hide_useless();
}

bool mt_hooks_cxx_foreign(void)
{
	return kind == ALLOCATOR || kind == OTHER;
}

/* The fallback where the library lacks the form, or there is none: the function that the form would
 * call. NULL: malloc. */
static new_fn find_new(enum form f)
{
	new_fn fn = real_new[f];

	while (!fn && new_calls[f] != f) {
		f = new_calls[f];
		fn = front_new[f] ? front_new[f] : real_new[f];
	}
	return fn;
}

/* One form of new may jump to another, which then sees the agent as its caller: the first caller is
 * remembered. The loader's allocations on the way are not the program's. */
static new_fn find_beside(enum form f, uintptr_t caller)
{
	struct thread *t = mt_thread_self();
	bool quiet = t->quiet;

	if (mt_real_linked())
		return NULL;
	t->quiet = !t->shared;
	if (t->hot)
		hot_close(t->hot);
	if (mt_real_is_agent(caller))
		caller = t->origin;
	t->origin = caller;
	new_fn fn = (new_fn)mt_real_beside(caller, new_names[f]);
	t->quiet = quiet;
	return fn;
}

static void *call_new(enum form f, size_t n, uintptr_t a, uintptr_t b, const struct regs *caller)
{
	new_fn fn = find_new(f);

	if (!fn)
		fn = find_beside(f, caller->pc);
	return fn ? fn(n, a, b) : NULL;
}

/* False: free() is what it comes to. */
static bool call_delete(enum gone g, void *p, uintptr_t a, uintptr_t b)
{
	delete_fn fn = real_delete[g];

	while (!fn && delete_calls[g] != g) {
		if (g == DEL_SIZE_AL || g == DEL_ARRAY_SIZE_AL)
			a = b; /* the alignment, which comes behind the size there */
		g = delete_calls[g];
		fn = front_delete[g] ? front_delete[g] : real_delete[g];
	}
	if (fn)
		fn(p, a, b);
	return fn;
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
 * Counted by the malloc hook when the operator went there; its own block otherwise. Where it came
 * with a plugin, as libraries' do, their way is gone here: to whatever malloc comes first. To look
 * for it takes a lock.
 */
MT_COLD static void *foreign_new(enum form f, size_t n, size_t align, uintptr_t a, uintptr_t b,
				 const struct regs *caller)
{
	struct thread *t = kind == PROGRAM ? NULL : mt_gate_enter();
	uint64_t before = t ? mt_record_seen(t) : 0;
	void *p = NULL;

	if (!find_new(f))
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
	struct thread *t = mt_gate_enter();
	void *p = align ? try_aligned(mt_real.aligned_alloc, n, align) : mt_real.malloc(n ? n : 1);
	if (unlikely(!p)) {
		if (t)
			mt_record_failed(t, n);
		return call_new(f, n, a, b, caller);
	}
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
	const struct hot *hot = mt_self_hot();
	struct thread *t = hot->open;

	if (unlikely(!t && kind == PLAIN && sampled_skips(hot, n))) {
		void *p = mt_real.malloc(n);
		return likely(p) ? p : slow_new(f, n, tag, pc, sp, fp);
	}
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

/* A known block is retired first; the operator's own free of it is then ignored. */
MT_COLD static void foreign_delete(enum gone g, void *p, uintptr_t a, uintptr_t b)
{
	struct thread *t = kind == PROGRAM ? NULL : mt_gate_enter();
	struct block known;

	if (t && mt_live_peek(p, &known)) {
		mt_record_take(t, p, &known);
		mt_record_gone(t, &known);
		t->deleting = (uintptr_t)p;
	} else if (t && kind == ALLOCATOR && mt_state_attached()) {
		/* from before the attach: counted as such, here or nowhere */
		mt_record_take(t, p, &known);
		t->deleting = (uintptr_t)p;
	}
	if (!call_delete(g, p, a, b)) {
		if (kind == PROGRAM)
			free(p);
		else if (mt_real.front_free)
			mt_real.front_free(p);
		else
			mt_real.free(p);
	}
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
	const struct hot *hot = mt_self_hot();
	struct thread *t = hot->open;
	if (unlikely(!t)) {
		t = hot->sampled;
		if (unlikely(!t))
			t = mt_gate_slow();
		else if (sampled_frees(t, p))
			return;
	}
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

#define OURS(linked, weak, hook, result, parameters, form)                                         \
	static __typeof__(hook) our_##form __attribute__((alias(NAMES_TEXT(hook))));
NEW_NAMES(OURS)
DELETE_NAMES(OURS)

#define AS_NEW(linked, weak, hook, result, parameters, form)                                       \
	[form] = { (const void *)(hook), (const void *)our_##form },
#define AS_DELETE(linked, weak, hook, result, parameters, form)                                    \
	[NEWS + form] = { (const void *)(hook), (const void *)our_##form },
static const struct hook hooks[NEWS + DELETES] = { NEW_NAMES(AS_NEW) DELETE_NAMES(AS_DELETE) };
