/* SPDX-License-Identifier: MIT
 *
 * shadow_stack.c - stacks of programs built with -finstrument-functions, from the entries that
 * hooks/instrument.c keeps.
 *
 * A capture walks outwards from malloc's caller until it reaches an entry's frame: the frame that
 * contains the entry's sp, ends where the entry's own frame does, and has its call site for its
 * return address. From there on the path is the entry's: its trie node, found the same way once and
 * kept with the entry. So a capture costs only the frames that are new since the last one, whatever
 * the depth, and compares no stack words.
 *
 * A frame is named by its pc, as with the other engines. The innermost pc is the call in malloc's
 * caller, each outer one the call site of the function further in, which is file:line of the call.
 * Where the program has unwind tables the stack is the cfi engine's, frame by frame. The tables
 * find functions without instrumentation (qsort, a library, no_instrument_function, the C library
 * under main); an instrumented function that was inlined has no frame of its own. Where a frame has
 * no table the entries decide: a frame of the same module counts as the entry's own function;
 * otherwise that function appears at its opening line. The return address of such a function is
 * searched for on its stack. That exposes most stale entries and finds main's callers. It misses
 * stale entries inside a frame that grew over them, by alloca after a longjmp.
 *
 * Entries go stale: longjmp() leaves without an exit, and so does an exception in C code. A signal
 * handler or a coroutine on a stack further out may drop entries of functions that still run. The
 * next enter or exit further out drops stale entries by their sp. Until then a walk passes over
 * them, since no frame has their place and their return address. The tables find functions whose
 * entries are missing. (One case deceives it: a longjmp out of a callback, after which the library
 * below makes the same call of a function without an entry. That function gets the callback's outer
 * callers.)
 */
#include "unwind/fold.h"
#include "unwind/shadow_stack.h"
#include "base/compiler.h"
#include "base/conf.h"
#include "base/prim_linux.h"
#include "base/self.h"
#include "base/stack_bounds.h"
#include "cfi/cfi.h"
#include "modules/maps.h"
#include "unwind/cache.h"
#include "unwind/cfi_step.h"
#include "unwind/engine.h"
#include "unwind/incremental.h"
#include "unwind/rule.h"
#include "unwind/stacks.h"

#include <memtop/wire.h>

#define WORD sizeof(uintptr_t)
#define SEARCH_BYTES ((uintptr_t)64 << 10)

/* A walk that fills a list of pcs, innermost first. */
struct walk {
	struct unwind_cache *u; /* NULL: may not be touched now */
	struct known *known;
	uintptr_t *out;
	int n, max;
	unsigned reason;
	bool trust; /* ends at an entry whose path is known, and says so in `stop` */
	struct entry *stop;
	uintptr_t slot; /* of the return address by which the last entry was recognised */
	struct mark {   /* entries that were met, and the number of pcs by then */
		struct entry *e;
		int at;
	} * marks;
	int mark_count, mark_max;
};

/* Where a frame is: on AArch64 there are no tables, but every frame has a record. */
#if defined(__x86_64__)
#define PLACE_OF_ENTRY(e) ((e)->sp)
#define PLACE CFI_SP
#else
#define PLACE_OF_ENTRY(e) ((e)->fp)
#define PLACE CFI_BP
#endif
#if defined(__aarch64__)
#define CODE_MASK (((uintptr_t)1 << 48) - 1)
#else
#define CODE_MASK (~PC_EXACT)
#endif

bool mt_shadow_on;

#if defined(__x86_64__)
static uint64_t rule_at(const struct walk *w, uintptr_t pc)
{
	if (likely(w->u))
		return mt_unwind_rule_of(pc, unwind_pc(w->u, pc)->code);
	return mt_cfi_rule(mt_maps_find(pc_lookup(pc)), pc_lookup(pc), pc & PC_EXACT);
}

/* By the common rules; false: mt_cfi_step() has to say. */
MT_INLINE bool step_fast(struct walk *w, struct cfi_regs *r, uint64_t rule)
{
	uintptr_t sp = r->value[CFI_SP], bp = r->value[CFI_BP], cfa, slot;

	if (rule_uses_bp(rule) && !(r->known & 1u << CFI_BP))
		return false;
	cfa = (uintptr_t)rule_cfa(rule) + ((rule & RULE_BASE) == RULE_SP ? sp : bp);
	slot = (uintptr_t)rule_bp(rule) + cfa;
	if ((rule & RULE_BASE) == RULE_WORD) {
		if ((cfa & (WORD - 1)) || !unwind_readable(w->known, cfa))
			return false;
		cfa = *(const uintptr_t *)cfa;
		slot = (uintptr_t)rule_bp(rule) + bp;
	}
	if (cfa <= sp || (cfa & (WORD - 1)) || !unwind_readable(w->known, cfa - WORD))
		return false;
	if (rule & RULE_SAVED) {
		if ((slot & (WORD - 1)) || !unwind_readable(w->known, slot))
			return false;
		r->value[CFI_BP] = *(const uintptr_t *)slot;
	}
	r->value[CFI_RA] = *(const uintptr_t *)(cfa - WORD) & CODE_MASK;
	r->value[CFI_SP] = cfa;
	r->known &= 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_BP;
	return true;
}

static bool step(struct walk *w, struct cfi_regs *r, bool full)
{
	uint64_t rule = full ? RULE_SLOW : rule_at(w, r->value[CFI_RA]);

	w->reason = MTW_TRUNC_NONE;
	if (likely((rule & RULE_KIND) == RULE_FAST) && likely(step_fast(w, r, rule)))
		return r->value[CFI_RA] != 0;
	if ((rule & RULE_KIND) == RULE_END)
		return false;
	return mt_cfi_step(w->known, r, &w->reason);
}
#else
static bool step(struct walk *w, struct cfi_regs *r, bool full)
{
	uintptr_t fp = r->value[CFI_BP];

	(void)full;
	w->reason = MTW_TRUNC_NONE;
	if (!fp)
		return false;
	w->reason = MTW_TRUNC_BAD_CFI;
	if (fp < r->value[CFI_SP] || (fp & (WORD - 1)) || !unwind_readable(w->known, fp) ||
	    !unwind_readable(w->known, fp + WORD))
		return false;
	w->reason = MTW_TRUNC_NONE;
	r->value[CFI_SP] = fp + 2 * WORD;
	r->value[CFI_BP] = ((const uintptr_t *)fp)[0];
	r->value[CFI_RA] = ((const uintptr_t *)fp)[1] & CODE_MASK;
	return r->value[CFI_RA] != 0;
}
#endif

static void start(struct cfi_regs *r, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	r->known = 1u << CFI_RA | 1u << CFI_SP | 1u << CFI_BP;
	r->link = 0;
	r->value[CFI_RA] = pc;
	r->value[CFI_SP] = sp;
	r->value[CFI_BP] = fp;
}

static bool put(struct walk *w, uintptr_t pc)
{
	if (w->n == w->max) {
		w->reason = MTW_TRUNC_DEPTH;
		return false;
	}
	w->out[w->n++] = pc;
	return true;
}

static bool is_sentinel(const struct entry *e)
{
	return e->sp == UINTPTR_MAX;
}

/*
 * Is `e` the entry of the function whose frame is [from, to), and which returns to `to_pc`? Its own
 * frame must end at `to`, as far as a table says where: a frame that grew over a left one of the
 * same recursion has that one's sp inside, and the same return address.
 */
static bool is_frame_of(struct walk *w, const struct entry *e, uintptr_t from, uintptr_t to,
			uintptr_t to_pc)
{
	uintptr_t at = PLACE_OF_ENTRY(e);
	struct cfi_regs r;

	if (at < from || at >= to || (e->site & CODE_MASK) != to_pc)
		return false;
	if (PLACE != CFI_SP)
		return true;
	start(&r, e->body, e->sp, e->fp);
	return step(w, &r, false) ? r.value[CFI_SP] == to : w->reason == MTW_TRUNC_NO_CFI;
}

static const struct module *module_at(uintptr_t pc)
{
	return mt_maps_find(pc_lookup(pc));
}

/* An entry's frame without a table: the first word outwards of `sp` that is where it returns to. 0
 * = none. */
static MT_COLD uintptr_t return_slot(const struct walk *w, uintptr_t sp, uintptr_t site)
{
	for (uintptr_t at = sp, end = sp + SEARCH_BYTES; at < end; at += WORD)
		if (!unwind_readable(w->known, at))
			return 0;
		else if (*(const uintptr_t *)at == site)
			return at;
	return 0;
}

/*
 * Does the entry's function run on the stack of the frame at `sp`? On another one nothing says that
 * it is further out: libc is about to begin a coroutine, say.
 */
static MT_COLD bool on_its_stack(const struct walk *w, uintptr_t sp, const struct entry *e)
{
	/* frame pointers do not lead through a signal's frame to another stack: entries do */
	if (PLACE != CFI_SP)
		return true;
	for (int i = 0; i < KNOWN; i++) /* the one that the frame is on comes first */
		if (unwind_in(&w->known->at[i], e->sp - WORD))
			return i == 0;
	return e->sp > sp && unwind_readable(w->known, e->sp - WORD);
}

/* A frame at `pc` that cannot be left: go on with entry j, which is the next one outwards. */
static MT_COLD struct entry *skip_to(struct walk *w, uintptr_t pc, struct entry *j)
{
	unsigned reason = w->reason;
	const struct module *m = module_at(j->body);

	w->reason = MTW_TRUNC_NONE;
	if (reason == MTW_TRUNC_NO_CFI && m && m == module_at(pc))
		return j;
	return put(w, j->body) ? j : NULL;
}

/* The frame at `r` has no unwind step; it belongs to an entry that returns to `site`, unless that
 * is 0. True: `r` has become its caller's nevertheless. */
static MT_COLD bool by_site(const struct walk *w, struct cfi_regs *r, uintptr_t site)
{
	uintptr_t slot = 0;

	if (site && PLACE == CFI_SP && w->reason == MTW_TRUNC_NO_CFI)
		slot = return_slot(w, r->value[CFI_SP], site);
	if (!slot)
		return false;
	start(r, site, slot + WORD, 0);
	r->known &= ~(1u << CFI_BP);
	return true;
}

/*
 * From the frame at *r outwards to the first that an entry stands for, at most `j`. `site`: the
 * frame at r is an entry's own and not part of the list, and returns there; 0: it is malloc's
 * caller. The entry, or NULL: the stack ended, and w->reason says how. Unless `full`, BAD_CFI says
 * no more than that a frame needs registers that the common rules do not keep: the loader's
 * trampoline, say, which a signal met while a call was bound.
 */
static struct entry *find(struct walk *w, struct cfi_regs *r, uintptr_t site, struct entry *j,
			  bool full)
{
	struct entry *first = j;

	for (;; site = 0) {
		uintptr_t pc = r->value[CFI_RA], at = r->value[PLACE];
		if (!site && !put(w, pc))
			return NULL;
		bool on = step(w, r, full);
		while (PLACE_OF_ENTRY(j) < at && !is_sentinel(j))
			j--;
		if (!on && w->reason == MTW_TRUNC_NONE)
			return NULL;
		if (!on && !full && w->reason == MTW_TRUNC_BAD_CFI)
			return NULL;
		if (!on && !by_site(w, r, site)) {
			if (site && !put(w, site))
				return NULL;
			return is_sentinel(j) || !on_its_stack(w, at, j)
				       ? NULL
				       : skip_to(w, site ? site : pc, j);
		}
		uintptr_t to = PLACE == CFI_SP ? r->value[CFI_SP] : at + 1;
		if (!is_sentinel(j) && is_frame_of(w, j, at, to, r->value[CFI_RA])) {
			w->slot = PLACE == CFI_SP ? to - WORD : at + WORD;
			return j;
		}
		if (r->value[CFI_RA] & PC_EXACT)
			j = first; /* perhaps on another stack now */
	}
}

static struct entry *link_to(struct walk *w, const struct regs *from, uintptr_t site,
			     struct entry *j)
{
	struct cfi_regs r;
	int before = w->n;

	start(&r, from->pc, from->sp, from->fp);
	struct entry *e = find(w, &r, site, j, false);

	if (unlikely(!e && w->reason == MTW_TRUNC_BAD_CFI)) {
		w->n = before;
		start(&r, from->pc, from->sp, from->fp);
		e = find(w, &r, site, j, true);
	}
	return e;
}

/* The caller's side of entry e: where it returns to, and on to the next entry outwards. */
static struct entry *out_of(struct walk *w, struct entry *e)
{
	if (likely(e->link == LINK_DIRECT))
		return put(w, e->site & CODE_MASK) ? e - 1 : NULL;
	if (e->link == LINK_INLINED)
		return e - 1;
	struct regs r = { e->body, e->sp, e->fp };
	int before = w->n;
	struct entry *outer = link_to(w, &r, e->site & CODE_MASK, e - 1);
	if (outer == e - 1 && w->n == before)
		e->link = LINK_INLINED;
	else if (outer == e - 1 && w->n == before + 1 && w->out[before] == (e->site & CODE_MASK))
		e->link = LINK_DIRECT;
	return outer;
}

static void collect(struct walk *w, const struct regs *from)
{
	struct entry *e = link_to(w, from, 0, mt_self_shadow()->top - 1);

	while (e) {
		if (w->trust && e->node) {
			w->stop = e;
			return;
		}
		if (w->mark_count < w->mark_max)
			w->marks[w->mark_count++] = (struct mark){ e, w->n };
		e = out_of(w, e);
	}
}

static bool empty(void)
{
	const struct shadow *s = mt_self_shadow();

	return !s || s->top == s->entry + 1;
}

/* Interns pcs, innermost first, below `top`, which stands for `frames`; entries learn theirs. */
static node_id number(struct walk *w, node_id top, unsigned frames)
{
	int m = w->mark_count;
	node_id node = top;

	for (int i = w->n;; i--) {
		while (m > 0 && w->marks[m - 1].at == i) {
			struct entry *e = w->marks[--m].e;
			e->frames = (uint16_t)(frames + (unsigned)(w->n - i));
			e->reason = (uint8_t)w->reason;
			e->node = node;
		}
		if (i == 0)
			return node;
		const struct call *call = unwind_pc(w->u, w->out[i - 1]);
		if (call->shape & FRAME_OWN)
			continue;
		node = call->code ? unwind_edge(w->u, node, call->code, NEED_WHOLE) : 0;
		if (unlikely(!node))
			return mt_unwind_fold_list(w->u, w->out, w->n, top);
	}
}

/* Where u keeps a stack for the other engines: pcs, then marks. */
static struct walk make_walk(struct unwind_cache *u, uint32_t depth)
{
	struct walk w = { .u = u, .known = &u->known, .max = (int)depth, .trust = true };

	w.out = (uintptr_t *)u->frames;
	w.marks = (struct mark *)(w.out + u->capacity);
	w.mark_max = (int)u->capacity;
	return w;
}
_Static_assert(2 * sizeof(struct frame) >= sizeof(uintptr_t) + sizeof(struct mark), "room");

static bool recalls(const struct memo *m, const struct entry *last, const struct unwind_cache *u,
		    const struct regs *r)
{
	return m->pc == r->pc && m->sp == r->sp && m->fp == r->fp && m->last_sp == last->sp &&
	       m->last_fp == last->fp && m->last_body == last->body && last->node &&
	       m->outer == last->node && m->generation == u->generation && !u->known.foreign &&
	       (*m->slot & CODE_MASK) == (last->site & CODE_MASK);
}

node_id mt_unwind_instrument_capture(struct unwind_cache *u, const struct regs *r)
{
	uint32_t depth = atomic_load_explicit(&mt_conf.xdepth, memory_order_relaxed);

	if (empty())
		return NO_NODE;
	depth = depth < u->capacity ? depth : u->capacity;
	u->count = 0;
	struct memo *m =
		&mt_self_shadow()->memo[((r->pc ^ r->sp) * 0x9e3779b97f4a7c15u >> 40) % MEMOS];
	const struct entry *last = mt_self_shadow()->top - 1;
	if (likely(recalls(m, last, u, r)) && likely(last->frames < depth))
		return m->node;
	if (unlikely(u->known.foreign || u->known.spilled))
		mt_unwind_renew(&u->known, r->sp);
	if (unlikely(!unwind_in(&u->known.at[0], r->sp - WORD) &&
		     !mt_unwind_enter(&u->known, r->sp, true)))
		return mt_stacks_truncated(MTW_TRUNC_BAD_CFI);
	struct walk w = make_walk(u, depth);
	node_id node = 0;
	unsigned frames = 0;
	collect(&w, r);
	if (w.stop) {
		node = w.stop->node;
		frames = w.stop->frames;
		w.reason = w.stop->reason;
	}
	if (unlikely(frames + (unsigned)w.n > depth)) { /* what is cut has another root */
		w = make_walk(u, depth);
		w.trust = false;
		collect(&w, r);
	}
	if (w.reason == MTW_TRUNC_DEPTH)
		w.mark_count = 0;
	if (!w.stop || w.reason == MTW_TRUNC_DEPTH)
		node = w.reason ? mt_stacks_truncated(w.reason) : 0;
	u->effort.frames += (uint64_t)w.n;
	u->effort.whole += !w.stop;
	node = number(&w, node, frames);
	if (w.n == 1 && w.stop == last && w.slot && !u->known.foreign)
		*m = (struct memo){ r->pc,
				    r->sp,
				    r->fp,
				    last->sp,
				    last->fp,
				    last->body,
				    (const uintptr_t *)w.slot,
				    last->node,
				    node,
				    u->generation };
	return node;
}

/* The list alone; from a signal handler, too. */
int mt_unwind_instrument_walk(struct thread *t, const struct regs *r, uintptr_t *out, int max,
			      unsigned *reason)
{
	struct known known = { .foreign = false };
	struct walk w = { .known = &known, .out = out, .max = max };

	if (empty())
		return BEST_WALK(t, r, out, max, reason);
	*reason = MTW_TRUNC_BAD_CFI;
	if (!mt_unwind_enter(&known, r->sp, true))
		return 0;
	collect(&w, r);
	*reason = w.reason;
	return w.n;
}

/* The next thread with this state begins with none. */
void mt_unwind_instrument_end(struct thread *t)
{
	struct shadow *s = t->shadow;

	if (!s)
		return;
	s->top = s->entry + 1;
	s->over = 0;
	if (s->bytes > SHADOW_FIRST_BYTES)
		mt_prim_drop((char *)s + SHADOW_FIRST_BYTES, s->bytes - SHADOW_FIRST_BYTES);
}
