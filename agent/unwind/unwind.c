/* SPDX-License-Identifier: MIT
 *
 * unwind.c - chooses the engine that captures stacks, and holds the rules common to all engines.
 *
 * `auto` is settled when the agent starts: the option then reads as the chosen engine, and
 * mt_unwind_why() gives the reason. An engine named by the user that cannot work gives way to this
 * machine's best (instrument in a program without instrumentation), or the program runs unprofiled
 * (libunwind where it is not installed). The agent never replaces an engine silently.
 *
 * A capture must not meet itself: a signal handler that allocates while its thread is in here gets
 * a truncated stack of its caller alone. The mark for this goes stale when the handler of such a
 * moment leaves by siglongjmp; it then lies further in than the present stack pointer, on a stack
 * that both share. If the capture was alive after all, on another stack, it sees that `passes`
 * moved, and marks its own result truncated.
 */
#include "unwind/fold.h"
#include "unwind/unwind.h"
#include "base/compiler.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/stack_bounds.h"
#include "cfi/outermost.h"
#include "modules/loader.h"
#include "modules/maps.h"
#include "unwind/backtrace.h"
#include "unwind/cache.h"
#include "unwind/call_stack.h"
#include "unwind/cfi_engine.h"
#include "unwind/ehabi.h"
#include "unwind/engine.h"
#include "unwind/fast.h"
#include "unwind/fp.h"
#include "unwind/fp_evidence.h"
#include "unwind/incremental.h"
#include "unwind/libunwind.h"
#include "unwind/rule.h"
#include "unwind/stacks.h"

#include <elf.h>
#include <link.h>
#include <memtop/wire.h>
#include <string.h>
#include <sys/syscall.h>

#define NATIVE_BELOW ((uintptr_t)256 << 10)
#define LIST_MAX 256 /* pcs of a list engine; deeper stacks are cut, as by depth= */

#if defined(__arm__)
#define HAS_INSTRUMENT false
#define BACKTRACE BEST_WALK
#else
#define HAS_INSTRUMENT true
#define BACKTRACE mt_unwind_cfi_backtrace
#endif

bool mt_unwind_keeps = true;
static unwind_walk walk;
static const char *why = "";

static int walk_caller(struct thread *t, const struct regs *r, uintptr_t *out, int max,
		       unsigned *reason)
{
	(void)t;
	*reason = MTW_TRUNC_NONE;
	if (max > 0)
		out[0] = r->pc;
	return max > 0;
}

static uint64_t caller_rule(const struct module *m, uintptr_t pc)
{
	(void)m, (void)pc;
	return rule_pack(RULE_END, 0, 0);
}

static bool refers(const ElfW(Rela) * r, size_t bytes, const ElfW(Sym) * symbols, const char *names,
		   const char *name)
{
	for (const ElfW(Rela) *end = r + bytes / sizeof(*r); r && r < end; r++) {
		size_t symbol = sizeof(void *) == 8 ? ELF64_R_SYM((uint64_t)r->r_info)
						    : ELF32_R_SYM(r->r_info);
		if (symbol && !strcmp(names + symbols[symbol].st_name, name))
			return true;
	}
	return false;
}

/* Does the program itself, not one of its libraries, call another module's function `name`? */
static bool program_calls(const char *name)
{
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	const ElfW(Rela) *rela = NULL, *plt = NULL;
	size_t rela_bytes = 0, plt_bytes = 0;
	const struct r_debug *loader = mt_loader_debug();
	const struct link_map *program = loader ? loader->r_map : NULL;

	for (const ElfW(Dyn) *d = program ? program->l_ld : NULL; d && d->d_tag != DT_NULL; d++) {
		uintptr_t at = d->d_un.d_ptr; /* not every loader adds the bias */
		const void *p = (const void *)(at < program->l_addr ? at + program->l_addr : at);
		switch (d->d_tag) {
		case DT_SYMTAB: symbols = p; break;
		case DT_STRTAB: names = p; break;
		case DT_RELA: rela = p; break;
		case DT_JMPREL: plt = p; break;
		case DT_RELASZ: rela_bytes = d->d_un.d_val; break;
		case DT_PLTRELSZ: plt_bytes = d->d_un.d_val; break;
		}
	}
	return symbols && names &&
	       (refers(plt, plt_bytes, symbols, names, name) ||
		refers(rela, rela_bytes, symbols, names, name));
}

/* Linked into the program, the agent is called without anything that the loader knows. */
static bool linked_in(void)
{
	const struct module *m = mt_maps_find((uintptr_t)linked_in);

	return m && atomic_load_explicit(&m->xflags, memory_order_relaxed) & MTW_MODULE_MAIN;
}

/* The one that is used when `name` was asked for, or NULL. */
static const char *settle(const char *name, bool enter_is_ours)
{
	bool instrumented = false;

	if (HAS_INSTRUMENT && (!strcmp(name, "auto") || !strcmp(name, "instrument")))
		instrumented = program_calls("__cyg_profile_func_enter");
	if (!strcmp(name, "auto")) {
		why = instrumented ? "auto: the program is built with -finstrument-functions"
				   : "auto: " BEST_WHY;
		if (!instrumented)
			return BEST;
		name = "instrument";
	}
	if (strcmp(name, "instrument"))
		return name;
	if (!HAS_INSTRUMENT)
		why = "that engine is not there for this machine";
	else if (!enter_is_ours)
		why = "the program has a __cyg_profile_func_enter of its own, so the agent's is "
		      "not called";
	else if (!instrumented && !linked_in())
		why = "the program is not built with -finstrument-functions; what calls the hooks "
		      "are libraries at most";
	else
		return name;
	mt_msg("unwind=instrument: %s; using unwind=" BEST, why);
	return BEST;
}

static bool set_engine(const char *name)
{
	static const struct {
		const char *name;
		bool keeps;
		unwind_walk walk;
		unwind_rule rule;
	} engines[] = {
#if defined(__x86_64__) || defined(__aarch64__)
		{ "cfi", true, mt_unwind_cfi_walk, mt_unwind_cfi_rule },
#endif
		{ "caller", true, walk_caller, caller_rule },
#if defined(__arm__)
		{ "ehabi", true, mt_unwind_ehabi_walk, mt_unwind_ehabi_rule },
#else
		{ "fp", true, mt_unwind_fp_walk, mt_unwind_fp_rule },
		{ "instrument", true, BEST_WALK, BEST_RULE },
		{ "libunwind", false, mt_unwind_libunwind_walk, BEST_RULE },
#endif
	};

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		if (strcmp(name, engines[i].name))
			continue;
		mt_unwind_keeps = engines[i].keeps;
		walk = engines[i].walk;
		mt_unwind_rule = engines[i].rule;
		mt_unwind_evidence_allow(!strcmp(name, "cfi"));
		return true;
	}
	return false;
}

bool mt_unwind_init(const char *name, bool enter_is_ours)
{
	const char *chosen = settle(name, enter_is_ours);

	mt_stacks_init();
	atomic_store(&mt_unwind_folds, mt_conf.fold_recursion);
	mt_cfi_init();
	if (!strcmp(chosen, "libunwind") && !mt_unwind_libunwind_init())
		return false;
	if (!set_engine(chosen))
		return false;
	mt_call_stack_on = !strcmp(chosen, "instrument");
	memmove(mt_conf.unwind, chosen, strlen(chosen) + 1); /* what is in force */
	return true;
}

/* libunwind asks the loader for each stack, and waits for it for good if another thread was in it
 * at the fork. */
MT_FORK_CODE void mt_unwind_forked(void)
{
	if (mt_unwind_keeps)
		return;
	why = "this is a forked child, where libunwind may wait for the loader for ever";
	set_engine(BEST);
	memcpy(mt_conf.unwind, BEST, sizeof(BEST));
}

const char *mt_unwind_why(void)
{
	return why;
}

/* A list of pcs as a path: outermost first, the agent's own left out. */
static node_id intern(struct unwind_cache *u, const uintptr_t *pcs, int n, unsigned reason)
{
	node_id top = reason ? mt_stacks_truncated(reason) : 0, node = top;

	for (int i = n - 1; i >= 0; i--) {
		const struct call *call = unwind_pc(u, pcs[i]);
		if (call->shape & FRAME_OWN)
			continue;
		node = call->code ? unwind_edge(u, node, call->code, NEED_WHOLE) : 0;
		if (unlikely(!node))
			return mt_unwind_fold_list(u, pcs, n, top);
	}
	return node;
}

node_id mt_unwind_list_capture(struct unwind_cache *u, const struct regs *r)
{
	uint32_t depth = atomic_load_explicit(&mt_conf.xdepth, memory_order_relaxed);
	uintptr_t pcs[LIST_MAX];
	unsigned reason;
	int n = walk(NULL, r, pcs, depth < LIST_MAX ? (int)depth : LIST_MAX, &reason);
	node_id node = intern(u, pcs, n, reason);
	u->effort.frames += (uint64_t)n;
	u->effort.whole++;

	return node;
}

MT_COLD node_id mt_unwind_caller(const struct regs *r, unsigned reason)
{
	node_id top = mt_stacks_truncated(reason);
	node_id node = mt_stacks_child(top, mt_stacks_code(r->pc, MTW_NODE_CODE), NEED_CALL_SITES);

	return node ? node : top;
}

#if defined(__x86_64__)
static bool in_libc(uintptr_t pc)
{
	const struct module *m = mt_maps_find(pc_lookup(pc));

	return m && atomic_load_explicit(&m->xflags, memory_order_relaxed) & MTW_MODULE_LIBC;
}

#define HLT 0xf4 /* what _start has behind its only call */

/* The code behind a thread's first call ends the thread: mov %rax, %rdi; mov $SYS_exit, %eax;
 * syscall. */
static bool ends_thread(uintptr_t pc)
{
	static const uint8_t code[] = { 0x89, 0xc7, 0xb8, SYS_exit, 0, 0, 0, 0x0f, 0x05 };
	const uint8_t *at = (const uint8_t *)pc;

	if (*at == 0x48) /* or mov %eax, %edi */
		at++;
	for (size_t i = 0; i < sizeof(code); i++)
		if (at[i] != code[i])
			return false;
	return true;
}

/* Frames 1..n have one pair each, a return address. */
static uint32_t with_one_pair(const struct frame *f, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && f[i].pairs == i &&
	       !(f[i + 1].at.call.shape & ~(FRAME_SAVED | FRAME_BY_RULE)))
		i++;
	return f[i].pairs == i ? i : 0;
}

/*
 * The outermost frame has made its only call: behind it there is nothing but the end of the process
 * or the thread. So while there is a frame inside of it, at the place where its callee was, that
 * callee's return address is as it was. The callee is libc's start of a program or a thread. It
 * calls main (in newer glibcs by one more function), constructors, or the thread's function. It
 * calls each from one place, so who finds that function's frame at its place, by its pc and sp,
 * knows the return addresses further out. Other functions that libc's start calls are libc's own;
 * nothing is said of them. Only native stacks are remembered (unwind_is_plain()), so nobody else
 * lays frames there. Without the table's word that the frame is the outermost one (no pair),
 * nothing lasts.
 */
static uint32_t lasting(const struct frame *f)
{
	uintptr_t pc = f[0].at.pc;
	bool program;
	uint32_t n = 2;

	if (pc & PC_EXACT || f[0].at.call.shape != FRAME_BY_RULE)
		return 0;
	program = *(const uint8_t *)pc == HLT;
	if (!program && !ends_thread(pc))
		return 0;
	if (program && in_libc(f[2].at.pc))
		n = 3;
	if (!in_libc(f[1].at.pc) || in_libc(f[n].at.pc))
		n = 1;
	return with_one_pair(f, n);
}
#else
static uint32_t lasting(const struct frame *f)
{
	(void)f;
	return 0;
}
#endif

MT_COLD void mt_unwind_lasting(struct unwind_cache *u)
{
	u->lasting_made = 0; /* a handler may leave here for good */
	atomic_signal_fence(memory_order_release);
	u->lasting = lasting(u->frames);
	u->lasting_pc = u->frames[3].at.pc;
	atomic_signal_fence(memory_order_release);
	u->lasting_made = u->frames[2].made;
}

/* Is the mark that a capture is under way left over from one that never came back? */
static MT_COLD bool stale(const struct unwind_cache *u, uintptr_t walking, const struct regs *r)
{
	for (int i = 0; i < KNOWN; i++) {
		const struct bounds *b = &u->known.at[i];
		/* not yet met, but of the same stack */
		uintptr_t below = b->native ? NATIVE_BELOW : 0;
		if (unwind_in(b, r->sp) && walking < b->hi && walking >= b->lo - below)
			return walking <= r->sp;
	}
	return false;
}

void mt_unwind_abandon(struct unwind_cache *u)
{
	if (!atomic_load_explicit(&u->xwalking, memory_order_relaxed))
		return;
	u->count = 0; /* it may have ended in the middle of keeping its stack */
	atomic_store_explicit(&u->xwalking, 0, memory_order_relaxed);
}

MT_COLD struct unwind_cache *mt_unwind_begin(struct thread *t, const struct regs *r,
					     unsigned *reason)
{
	uint32_t depth = atomic_load_explicit(&mt_conf.xdepth, memory_order_relaxed);
	struct unwind_cache *u = t->unwind;

	if (!u || depth > u->capacity)
		u = mt_unwind_cache(t, depth);
	*reason = MTW_TRUNC_EARLY;
	if (!u)
		return NULL;
	uintptr_t walking = atomic_load_explicit(&u->xwalking, memory_order_relaxed);
	if (walking) {
		*reason = MTW_TRUNC_REENTRY;
		if (!stale(u, walking, r))
			return NULL;
		mt_unwind_abandon(u);
	}
	atomic_store_explicit(&u->xwalking, r->sp, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (u->asked != depth) {
		u->count = 0;
		u->depth = depth < u->capacity ? depth : u->capacity;
		u->asked = depth;
	}
	return u;
}

static int list(unwind_walk by, struct thread *t, const struct regs *r, void **pcs, int max)
{
	uintptr_t *out = (uintptr_t *)pcs;
	unsigned reason;
	int n = by ? by(t, r, out, max, &reason) : 0, kept = 0;

	for (int i = 0; i < n; i++) {
		struct module *m = mt_maps_find(pc_lookup(out[i]));
		uint32_t flags = m ? atomic_load_explicit(&m->xflags, memory_order_relaxed) : 0;
		if ((flags & (MTW_MODULE_AGENT | MTW_MODULE_MAIN)) != MTW_MODULE_AGENT)
			out[kept++] = pc_bare(out[i]);
	}
	return kept;
}

int mt_unwind_frames(struct thread *t, const struct regs *r, void **pcs, int max)
{
	return list(walk, t, r, pcs, max);
}

int mt_unwind_backtrace(struct thread *t, const struct regs *r, void **pcs, int max)
{
	return list(BACKTRACE, t, r, pcs, max);
}

/* The caches stay for the thread that inherits this set; its stack is another. */
void mt_unwind_thread_end(struct thread *t)
{
	struct unwind_cache *u = t->unwind;

	mt_call_stack_end(t);
	if (!u)
		return;
	u->count = 0;
	struct site *sites = u->known.sites;
	u->known = (struct known){ .sites = sites };
	atomic_store_explicit(&u->xwalking, 0, memory_order_relaxed);
}

bool mt_unwind_by_pointer(code_id code)
{
	uint64_t made = atomic_load_explicit(mt_stacks_rule(code), memory_order_relaxed);

	return (made & RULE_KIND) == RULE_PROVE;
}

void mt_unwind_effort(const struct thread *t, struct effort *sum)
{
	const struct unwind_cache *u = __atomic_load_n(&t->unwind, __ATOMIC_ACQUIRE);

	if (!u)
		return;
	sum->captures += u->passes;
	sum->whole += u->effort.whole;
	sum->frames += u->effort.frames;
	sum->pc_misses += u->effort.pc_misses;
	sum->edge_misses += u->effort.edge_misses;
}
