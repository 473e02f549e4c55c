/* SPDX-License-Identifier: MIT
 *
 * unwind.c - which engine takes stacks, and what holds for all of them.
 *
 * A capture must not meet itself: a signal handler that allocates while its thread is in here gets a
 * truncated stack of its caller alone. The mark that says so goes stale when the handler of such a
 * moment leaves by siglongjmp; it lies further in than the present stack pointer then, on a stack that
 * both share. Should it have been alive after all, on another stack, the interrupted capture sees that
 * `passes` moved, and calls its own result truncated.
 */
#include "unwind.h"
#include "cfi.h"
#include "maps.h"
#include "rule.h"
#include "stacks.h"

#include <string.h>

#define NATIVE_BELOW ((uintptr_t)256 << 10)
#define LIST_MAX 256 /* pcs of a list engine; deeper stacks are cut, as by depth= */

enum engine { ENGINE_CFI, ENGINE_LIST, ENGINE_CALLER };

static enum engine engine = ENGINE_CALLER;
static unwind_walk walk;
static _Atomic uint64_t xtruncated[MTW_TRUNC_COUNT];

static int walk_caller(struct thread *t, const struct regs *r, uintptr_t *out, int max,
		       unsigned *reason)
{
	(void)t;
	*reason = MTW_TRUNC_NONE;
	if (max > 0)
		out[0] = r->pc;
	return max > 0;
}

/* "" and "default" are this machine's best. */
bool mt_unwind_init(const char *name)
{
	bool preset = !name[0] || !strcmp(name, "default");

	mt_stacks_init();
	mt_cfi_init();
#if defined(__x86_64__)
	if (preset || !strcmp(name, "cfi")) {
		engine = ENGINE_CFI;
		walk = mt_unwind_cfi_walk;
		return true;
	}
#else
	if (preset)
		name = "fp";
#endif
	if (!strcmp(name, "fp")) {
		engine = ENGINE_LIST;
		walk = mt_unwind_fp_walk;
		return true;
	}
	if (!strcmp(name, "libunwind") && mt_unwind_libunwind_init()) {
		engine = ENGINE_LIST;
		walk = mt_unwind_libunwind_walk;
		return true;
	}
	if (!strcmp(name, "caller")) {
		engine = ENGINE_CALLER;
		walk = walk_caller;
		return true;
	}
	return false;
}

/* A list of pcs as a path: outermost first, the agent's own left out. */
static node_id intern(struct unwind_cache *u, const uintptr_t *pcs, int n, unsigned *reason)
{
	node_id node = *reason ? mt_stacks_truncated(*reason) : 0;

	for (int i = n - 1; i >= 0; i--) {
		const struct pc_entry *e = unwind_pc(u, pcs[i]);
		if (e->rule & RULE_OWN)
			continue;
		node = e->code ? unwind_edge(u, node, e->code) : 0;
		if (!node) {
			*reason = MTW_TRUNC_NODES;
			return mt_stacks_truncated(MTW_TRUNC_NODES);
		}
	}
	return node;
}

static MT_COLD node_id capture_list(struct thread *t, struct unwind_cache *u, const struct regs *r)
{
	uint32_t depth = atomic_load_explicit(&mt_conf.xdepth, memory_order_relaxed);
	uintptr_t pcs[LIST_MAX];
	unsigned reason;
	int n = walk(t, r, pcs, depth < LIST_MAX ? (int)depth : LIST_MAX, &reason);
	node_id node = intern(u, pcs, n, &reason);

	if (reason)
		mt_unwind_count_truncated(reason);
	return node;
}

/* The caller alone, under the reason; touches nothing that belongs to the thread. */
static MT_COLD node_id capture_caller(const struct regs *r, unsigned reason)
{
	node_id top = mt_stacks_truncated(reason);
	node_id node = mt_stacks_child(top, mt_stacks_code(r->pc, MTW_NODE_CODE));

	mt_unwind_count_truncated(reason);
	return node ? node : top;
}

/* Is the mark that a capture is under way left over from one that never came back? */
static MT_COLD bool stale(const struct unwind_cache *u, uintptr_t walking, const struct regs *r)
{
	for (int i = 0; i < KNOWN; i++) {
		const struct bounds *b = &u->known.at[i];
		uintptr_t below = b->native ? NATIVE_BELOW : 0; /* not yet met, but of the same stack */
		if (unwind_in(b, r->sp) && walking < b->hi && walking >= b->lo - below)
			return walking <= r->sp;
	}
	return false;
}

node_id mt_unwind_capture(struct thread *t, const struct regs *r)
{
	uint32_t depth = atomic_load_explicit(&mt_conf.xdepth, memory_order_relaxed);
	struct unwind_cache *u = t->unwind;
	node_id node;

	if (unlikely(!u || depth > u->capacity)) {
		u = mt_unwind_cache(t, depth);
		if (!u)
			return capture_caller(r, MTW_TRUNC_EARLY);
	}
	uintptr_t walking = atomic_load_explicit(&u->xwalking, memory_order_relaxed);
	if (unlikely(walking)) {
		if (!stale(u, walking, r))
			return capture_caller(r, MTW_TRUNC_REENTRY);
		u->count = 0; /* it may have ended in the middle of keeping its stack */
	}
	atomic_store_explicit(&u->xwalking, r->sp, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	uint32_t pass = ++u->passes;
	/* The loader allocates before it maps anything: what it replaced is gone by now. */
	if (unlikely(r->pc - mt_maps_loader_start < mt_maps_loader_bytes))
		mt_maps_invalidate();
	if (unlikely(u->suspicion !=
			     atomic_load_explicit(&mt_maps_suspicion, memory_order_relaxed) ||
		     u->generation !=
			     atomic_load_explicit(&mt_maps_changes, memory_order_relaxed)))
		mt_unwind_cache_settle(u);
	node = likely(engine == ENGINE_CFI) ? mt_unwind_cfi_capture(u, r) : capture_list(t, u, r);
	if (unlikely(u->passes != pass)) {
		u->count = 0;
		node = capture_caller(r, MTW_TRUNC_REENTRY);
	}
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&u->xwalking, 0, memory_order_relaxed);
	return node;
}

int mt_unwind_frames(struct thread *t, const struct regs *r, void **pcs, int max)
{
	uintptr_t *out = (uintptr_t *)pcs;
	unsigned reason;
	int n = walk ? walk(t, r, out, max, &reason) : 0, kept = 0;

	for (int i = 0; i < n; i++) {
		struct module *m = mt_maps_find(pc_lookup(out[i]));
		uint32_t flags = m ? atomic_load_explicit(&m->xflags, memory_order_relaxed) : 0;
		if ((flags & (MTW_MODULE_AGENT | MTW_MODULE_MAIN)) != MTW_MODULE_AGENT)
			out[kept++] = pc_bare(out[i]);
	}
	return kept;
}

/* The caches stay for the thread that inherits this set; its stack is another. */
void mt_unwind_thread_end(struct thread *t)
{
	struct unwind_cache *u = t->unwind;

	if (!u)
		return;
	u->count = 0;
	memset(&u->known, 0, sizeof(u->known));
	atomic_store_explicit(&u->xwalking, 0, memory_order_relaxed);
}

void mt_unwind_count_truncated(unsigned reason)
{
	atomic_fetch_add_explicit(&xtruncated[reason], 1, memory_order_relaxed);
}

uint64_t mt_unwind_truncated(unsigned reason)
{
	if (reason >= MTW_TRUNC_COUNT)
		return 0;
	return atomic_load_explicit(&xtruncated[reason], memory_order_relaxed);
}
