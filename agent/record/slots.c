/* SPDX-License-Identifier: MIT
 *
 * slots.c - slots, their counters, and their changes.
 *
 * A slot is a pair (stack, epoch). A stack that allocates for the first time in an epoch gets one
 * by compare-and-swap on its trie node; from then on it is one load away.
 *
 * Counters are per thread and have one writer: a plain add is ten times cheaper than a shared one,
 * and twenty-five times when two threads meet on a stack. A thread's set is a radix tree root ->
 * mid -> page of 32 slots, mapped where the thread has been, and never NULL: elsewhere one empty
 * mid and one empty page stand for all. The one state that several threads may write
 * (thread->shared) uses atomic additions.
 *
 * Sums: the reader adds up all freed counters first (acquire), then all allocated ones. A block
 * counts as allocated before it is entered in the live map, and as freed after it is taken out. So
 * a free that the reader sees has its allocation seen too: live is never negative.
 *
 * Publication: mt_slots_new() fills a slot with plain stores; the CAS on the node's xslot (release)
 * hands it to other threads, which load xslot with acquire. The server goes by counters alone. A
 * thread stores the allocated blocks of a slot with release, behind their bytes. mt_slots_sum()
 * acquires them, and leaves out the bytes of a thread whose blocks it does not see. So a slot with
 * a sum has a node, and so do all nodes and codes below it.
 *
 * Dirty marks: a page, its mid and its thread are stamped with the pass, which collections and
 * peaks (record/peak.c) advance. A page is stamped before it changes. A writer may stamp with the
 * pass that it read just before the collector advanced it, so a collection takes everything stamped
 * since the last but one began. A writer that sleeps longer than that is caught by the next event
 * on that page, and by the full collection behind every final state.
 *
 * Peak: threads add their balance to a global one in steps; see step_bytes().
 *
 * record/slots_fast.h has the code that each event runs.
 */
#include "record/slots.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/thread_list.h"
#include "base/wiped.h"
#include "record/cost.h"
#include "record/loss.h"
#include "record/peak.h"
#include "record/slots_fast.h"
#include "unwind/stacks.h"

#include <memtop/wire.h>
#include <string.h>

#define CHUNK_SHIFT 12 /* slots are kept in chunks of 4096 */
#define CHUNK_SLOTS (1u << CHUNK_SHIFT)
#define CHUNKS (MTW_SLOTS_MAX >> CHUNK_SHIFT)
#define PAGES (MTW_SLOTS_MAX / PAGE_SLOTS)
#define STEP_MAX (64 * 1024)
#define STEP_FIRST 256

static void *_Atomic chunks[CHUNKS];
static _Atomic uint32_t xnext = SLOT_ROOT + 1;
static struct slot root_slot[CHUNK_SLOTS]; /* the first chunk: needs no memory to be had */

static _Atomic int64_t xbalance; /* published live bytes */
static _Atomic int64_t xheld;    /* the most that all threads together may hold back now */
MT_FORK_WORD static _Atomic int64_t
	xbound; /* the most that has been live, with all that was held back */
MT_FORK_WORD static _Atomic uint64_t xpeak, xpeak_ns;

uint64_t mt_slots_next_epoch(void)
{
	uint64_t ends = atomic_fetch_add(&mt_epoch, 1);

	mt_era_next();
	return ends;
}

struct counter_page mt_slots_no_page;
static struct mid no_mid;

void mt_slots_thread_init(struct thread *t)
{
	if (!no_mid.xpage[0]) /* the first state is made before there are threads */
		for (int i = 0; i < MID_PAGES; i++)
			atomic_store_explicit(&no_mid.xpage[i], &mt_slots_no_page,
					      memory_order_relaxed);
	for (int i = 0; i < ROOT_MIDS; i++)
		atomic_store_explicit(&t->root[i], &no_mid, memory_order_relaxed);
}

/* Call sites, which stacks are folded to at last, may take what is left; with a heap, they are two
 * nodes deep. */
static enum need need_of(node_id node)
{
	node_id parent = node < MTW_TRUNC_COUNT ? 0 : node_parent(mt_stacks_node(node));

	if (parent >= MTW_TRUNC_COUNT)
		parent = node_parent(mt_stacks_node(parent));
	return parent < MTW_TRUNC_COUNT ? NEED_ALL : NEED_COUNTERS;
}

static struct slot *slot_place(slot_id id, enum need need)
{
	void *_Atomic *at = &chunks[id >> CHUNK_SHIFT];
	struct slot *c = atomic_load_explicit(at, memory_order_acquire);

	if (id < CHUNK_SLOTS)
		return &root_slot[id];
	if (!arena_is_made(c))
		c = mt_arena_place(at, need, CHUNK_SLOTS * sizeof(*c));
	return c ? &c[id & (CHUNK_SLOTS - 1)] : NULL;
}

/* A fresh id, or 0. Never passes SLOTS_END, however many threads fail at once. */
slot_id mt_slots_new(node_id node, uint64_t epoch, uint32_t rate)
{
	enum need need = need_of(node);
	uint32_t id = atomic_load_explicit(&xnext, memory_order_relaxed),
		 end = need == NEED_ALL ? SLOTS_END : SLOTS_END / 8 * 7;
	struct slot *s;

	do {
		s = id < end ? slot_place(id, need) : NULL;
		if (!s)
			return 0;
	} while (!atomic_compare_exchange_weak(&xnext, &id, id + 1));
	*s = (struct slot){ .epoch = epoch, .rate = rate, .node = node };
	return id;
}

MT_COLD slot_id mt_slots_of_slow(node_id node, struct node *n, slot_id seen, uint64_t epoch)
{
	slot_id id = mt_slots_new(node, epoch, 0);

	if (!id) {
		node_id site = mt_stacks_call_site(node);
		if (site == node) {
			mt_record_loss(MTW_LOSS_SLOTS, 0);
			return seen ? seen : SLOT_ROOT; /* an older epoch of the same stack */
		}
		id = mt_slots_of(site); /* the stack's, too, for the rest of this epoch */
	}
	if (node_swap_slot(n, &seen, id))
		return id;
	/* Another thread was faster: our id stays unused, with counters of 0. */
	return seen;
}

slot_id mt_slots_of(node_id node)
{
	struct node *n = mt_stacks_node(node);
	uint64_t epoch = atomic_load_explicit(&mt_epoch, memory_order_relaxed);
	slot_id seen = node_slot(n);

	if (likely(seen && slots_is_of(seen, epoch)))
		return seen;
	return mt_slots_of_slow(node, n, seen, epoch);
}

const struct slot *mt_slots_at(slot_id id)
{
	if (id < CHUNK_SLOTS)
		return &root_slot[id];
	const struct slot *c =
		atomic_load_explicit(&chunks[id >> CHUNK_SHIFT], memory_order_acquire);
	return arena_is_made(c) ? &c[id & (CHUNK_SLOTS - 1)] : &root_slot[SLOT_ROOT];
}

uint32_t mt_slots_count(void)
{
	return atomic_load_explicit(&xnext, memory_order_acquire);
}

/* The set of t down to a page. Several threads may race only on the shared state. */
MT_COLD static struct counter_page *make_page(struct thread *t, slot_id s)
{
	uint32_t m = s / MID_SLOTS, l = s / PAGE_SLOTS % MID_PAGES;
	/* what one thread counts, each must be able to take back: the shared state serves all that
	 * have no memory for their own */
	enum need need = t->shared ? NEED_ALWAYS : need_of(mt_slots_at(s)->node);
	struct mid *mid = atomic_load_explicit(&t->root[m], memory_order_acquire);

	if (mid == &no_mid) {
		struct mid *fresh = mt_arena_alloc_for(need, sizeof(*fresh));
		if (!fresh)
			return NULL;
		memcpy(fresh, &no_mid, sizeof(no_mid));
		if (atomic_compare_exchange_strong(&t->root[m], &mid, fresh))
			mid = fresh;
	}
	struct counter_page *page = atomic_load_explicit(&mid->xpage[l], memory_order_acquire);
	if (page == &mt_slots_no_page) {
		struct counter_page *fresh = mt_arena_alloc_for(need, sizeof(*fresh));
		if (!fresh)
			return NULL;
		if (atomic_compare_exchange_strong(&mid->xpage[l], &page, fresh))
			page = fresh;
	}
	return page;
}

MT_INLINE void stamp_with(struct thread *t, slot_id s, struct counter_page *page, uint32_t pass)
{
	struct mid *mid = atomic_load_explicit(&t->root[s / MID_SLOTS], memory_order_relaxed);

	atomic_store_explicit(&page->xstamp, pass, memory_order_release);
	atomic_store_explicit(&mid->xstamp, pass, memory_order_release);
	atomic_store_explicit(&t->xstamp, pass, memory_order_release);
}

/* Its first change since the peak. */
MT_COLD static void keep_and_stamp(struct thread *t, slot_id s, struct counter_page *page,
				   uint32_t pass)
{
	mt_peak_keep(t, page);
	stamp_with(t, s, page, pass);
}

/* The pass is read before the peak: one that begins in between is met again. */
void mt_slots_stamp(struct thread *t, slot_id s, struct counter_page *page)
{
	uint32_t pass = atomic_load_explicit(&mt_pass, memory_order_acquire);

	if (unlikely(!mt_peak_has(page)))
		keep_and_stamp(t, s, page, pass);
	else
		stamp_with(t, s, page, pass);
}

/*
 * Bytes that a thread may hold back before it publishes them: 64 MiB in all, shared by those that
 * there are. It begins with few, and has twice as many each time: one that allocates little holds
 * back little. A thread that has its share gives it back when it publishes next, not at once when
 * others come: until then they hold 64 KiB a thread up to 1,024, and no more than what grows as the
 * logarithm from there on.
 */
static int64_t step_bytes(const struct thread *t)
{
	uint32_t n = atomic_load_explicit(&mt_thread_states, memory_order_relaxed);
	int64_t most = n <= 1024 ? STEP_MAX : (64 << 20) / (int64_t)n,
		step = t->step ? 2 * t->step : STEP_FIRST;

	return step < most ? step : most;
}

static void raise_bound(int64_t now)
{
	int64_t most = now + atomic_load(&xheld),
		seen = atomic_load_explicit(&xbound, memory_order_relaxed);

	while (most > seen && !atomic_compare_exchange_weak(&xbound, &seen, most))
		;
}

static void raise_peak(int64_t now)
{
	uint64_t seen = atomic_load_explicit(&xpeak, memory_order_relaxed);

	raise_bound(now);
	while (now > (int64_t)seen)
		if (atomic_compare_exchange_weak(&xpeak, &seen, (uint64_t)now)) {
			atomic_store_explicit(&xpeak_ns, mt_state_coarse_ns(),
					      memory_order_relaxed);
			return;
		}
}

MT_COLD static void publish(int64_t bytes, uint64_t freed, uint64_t next)
{
	int64_t now = atomic_fetch_add(&xbalance, bytes) + bytes;

	raise_peak(now);
	mt_peak_published(now, freed, next);
}

/* Its whole balance; from now on it may hold back `step`, which counts before and after. `next`
 * bytes are to be freed at once. */
static void publish_all(struct thread *t, int64_t step, uint64_t next)
{
	int64_t live = slots_live(t), more = step - t->step;

	if (more > 0)
		atomic_fetch_add(&xheld, more);
	publish(live - t->published, (uint64_t)(t->step - t->free_room), next);
	if (more < 0)
		atomic_fetch_add(&xheld, more);
	t->published = live;
	t->alloc_room = t->free_room = t->step = step;
}

void mt_slots_ended(struct thread *t)
{
	publish_all(t, 0, 0);
}

/* A thread's allocations and frees since it published are bounded separately, so their difference
 * is, too. More threads than usual make the step smaller; each learns this when it publishes, not
 * at each event. */
MT_COLD void mt_slots_after_slow(struct thread *t)
{
	if ((t->alloc_room >= 0 && t->free_room >= 0) || thread_is_late(t))
		return;
	publish_all(t, step_bytes(t), 0);
	if (mt_cost_due(t, slots_events(t)) && unlikely(mt_wiped_by_hand))
		mt_wiped_look();
}

/* Several threads may be here at once; only the state that has no owner comes this way. */
MT_COLD static void count_shared(struct thread *t, slot_id s, struct counter_page *page, bool alloc,
				 uint64_t blocks, size_t bytes)
{
	struct counts *all[2] = { slots_counts(page, s), &t->total };

	for (int i = 0; i < 2; i++) {
		atomic_fetch_add(alloc ? &all[i]->xalloc_bytes : &all[i]->xfree_bytes, bytes);
		atomic_fetch_add(alloc ? &all[i]->xalloc_blocks : &all[i]->xfree_blocks, blocks);
	}
	publish(alloc ? (int64_t)bytes : -(int64_t)bytes, alloc ? 0 : bytes, 0);
}

/* The page, stamped before it changes: record/peak.c. NULL: there is no memory for it. */
MT_INLINE struct counter_page *find_page(struct thread *t, slot_id s)
{
	struct counter_page *page = slots_page(t, s);

	if (unlikely(page == &mt_slots_no_page))
		page = make_page(t, s);
	if (unlikely(page && !slots_stamped(page)))
		mt_slots_stamp(t, s, page);
	return page;
}

bool mt_slots_alloc(struct thread *t, slot_id s, size_t bytes)
{
	struct counter_page *page = find_page(t, s);

	if (unlikely(!page))
		return false;
	if (unlikely(t->shared))
		count_shared(t, s, page, true, 1, bytes);
	else if (!slots_count_alloc(t, slots_counts(page, s), bytes))
		mt_slots_after_slow(t);
	return true;
}

/* A large block that is freed would be missing at the peak. */
MT_INLINE void before_free(struct thread *t, uint64_t bytes)
{
	if (unlikely(bytes > STEP_MAX && !t->shared) && !thread_is_late(t))
		publish_all(t, t->step, bytes);
}

bool mt_slots_free(struct thread *t, slot_id s, size_t bytes)
{
	before_free(t, bytes);
	struct counter_page *page = find_page(t, s);

	if (unlikely(!page))
		return false;
	if (unlikely(t->shared))
		count_shared(t, s, page, false, 1, bytes);
	else if (!slots_count_free(t, slots_counts(page, s), bytes))
		mt_slots_after_slow(t);
	return true;
}

/* A block that stands for several; rare, so it always takes the long way. */
bool mt_slots_weighed(struct thread *t, slot_id s, bool alloc, uint64_t blocks, uint64_t bytes)
{
	before_free(t, alloc ? 0 : bytes);
	struct counter_page *page = find_page(t, s);

	if (!page)
		return false;
	if (t->shared) {
		count_shared(t, s, page, alloc, blocks, bytes);
		return true;
	}
	struct counts *all[2] = { slots_counts(page, s), &t->total };
	for (int i = 0; i < 2; i++) {
		if (alloc) {
			slots_add(&all[i]->xalloc_bytes, bytes, memory_order_relaxed);
			slots_add(&all[i]->xalloc_blocks, blocks, memory_order_release);
		} else {
			slots_add(&all[i]->xfree_bytes, bytes, memory_order_release);
			slots_add(&all[i]->xfree_blocks, blocks, memory_order_release);
		}
	}
	slots_room(alloc ? &t->alloc_room : &t->free_room, bytes);
	mt_slots_after_slow(t);
	return true;
}

void mt_slots_sum(slot_id s, struct tally *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (const struct thread *t = threads_first(); t; t = threads_next(t)) {
		struct counter_page *page = slots_page(t, s);
		const struct counts *c = slots_counts(page, s);
		sum->free_blocks += atomic_load_explicit(&c->xfree_blocks, memory_order_acquire);
		sum->free_bytes += atomic_load_explicit(&c->xfree_bytes, memory_order_acquire);
	}
	/* A new thread may have done the allocations: read the list again. */
	for (const struct thread *t = threads_first(); t; t = threads_next(t)) {
		struct counter_page *page = slots_page(t, s);
		const struct counts *c = slots_counts(page, s);
		uint64_t blocks = atomic_load_explicit(&c->xalloc_blocks, memory_order_acquire);
		if (!blocks)
			continue;
		sum->alloc_blocks += blocks;
		sum->alloc_bytes += atomic_load_explicit(&c->xalloc_bytes, memory_order_relaxed);
	}
}

MT_FORK_CODE void mt_slots_totals(struct tally *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (const struct thread *t = threads_first(); t; t = threads_next(t)) {
		sum->free_blocks +=
			atomic_load_explicit(&t->total.xfree_blocks, memory_order_acquire);
		sum->free_bytes +=
			atomic_load_explicit(&t->total.xfree_bytes, memory_order_acquire);
	}
	for (const struct thread *t = threads_first(); t; t = threads_next(t)) {
		sum->alloc_blocks +=
			atomic_load_explicit(&t->total.xalloc_blocks, memory_order_relaxed);
		sum->alloc_bytes +=
			atomic_load_explicit(&t->total.xalloc_bytes, memory_order_relaxed);
	}
}

bool mt_slots_at_peak(uint32_t number, uint32_t page, struct tally sum[PAGE_SLOTS])
{
	memset(sum, 0, PAGE_SLOTS * sizeof(*sum));
	for (const struct thread *t = threads_first(); t; t = threads_next(t)) {
		const struct counter_page *l = slots_page(t, page * PAGE_SLOTS);
		if (l != &mt_slots_no_page && !mt_peak_add(l, number, sum))
			return false;
	}
	return atomic_load_explicit(&mt_peak_pass, memory_order_acquire) == number;
}

/* Sets a bit for each page of t that was stamped since `from`. */
static void collect_thread(const struct thread *t, uint32_t from, uint64_t *dirty)
{
	for (unsigned m = 0; m < ROOT_MIDS; m++) {
		struct mid *mid = atomic_load_explicit(&t->root[m], memory_order_acquire);
		if (mid == &no_mid ||
		    atomic_load_explicit(&mid->xstamp, memory_order_acquire) < from)
			continue;
		for (unsigned l = 0; l < MID_PAGES; l++) {
			struct counter_page *page =
				atomic_load_explicit(&mid->xpage[l], memory_order_acquire);
			unsigned i = m * MID_PAGES + l;
			if (page != &mt_slots_no_page &&
			    atomic_load_explicit(&page->xstamp, memory_order_acquire) >= from)
				dirty[i / 64] |= (uint64_t)1 << i % 64;
		}
	}
}

void mt_slots_collect(bool all, void (*changed)(void *arg, slot_id s), void *arg)
{
	static uint64_t dirty[PAGES / 64]; /* server thread only; clear between calls */
	/* the passes that the last collection began, and the one before; a peak begins others */
	static uint32_t last, before;
	uint32_t pass = atomic_fetch_add_explicit(&mt_pass, 1, memory_order_acq_rel) + 1;
	uint32_t from = all ? 0 : before;
	before = last;
	last = pass;
	mt_era_next();
	for (const struct thread *t = threads_first(); t; t = threads_next(t))
		if (atomic_load_explicit(&t->xstamp, memory_order_acquire) >= from)
			collect_thread(t, from, dirty);
	uint32_t count = mt_slots_count();
	for (unsigned w = 0; w < PAGES / 64 && w * 64 * PAGE_SLOTS < count; w++) {
		for (; dirty[w]; dirty[w] &= dirty[w] - 1) {
			slot_id s = (w * 64 + (unsigned)__builtin_ctzll(dirty[w])) * PAGE_SLOTS;
			for (unsigned i = 0; i < PAGE_SLOTS; i++, s++)
				if (s && s < count)
					changed(arg, s);
		}
	}
}

void mt_slots_thread_restart(struct thread *t)
{
	for (unsigned m = 0; m < ROOT_MIDS; m++) {
		struct mid *mid = atomic_load_explicit(&t->root[m], memory_order_acquire);
		for (unsigned l = 0; mid != &no_mid && l < MID_PAGES; l++) {
			struct counter_page *page =
				atomic_load_explicit(&mid->xpage[l], memory_order_acquire);
			if (page == &mt_slots_no_page)
				continue;
			memset(page->slot, 0, sizeof(page->slot));
			page->origins_of = 0;
			atomic_store(&page->xstamp, 0);
		}
	}
	memset(&t->total, 0, sizeof(t->total));
	memset(&t->base, 0, sizeof(t->base));
	t->alloc_room = t->free_room = t->published = t->step = 0;
	memset(&t->cost, 0, sizeof(t->cost));
	memset(&t->filter, 0, sizeof(t->filter));
	atomic_store(&t->xstamp, 0);
}

MT_FORK_CODE void mt_slots_forked(void)
{
	struct tally sum;

	/* The peak's era follows: no stack keeps its slot. */
	mt_first_epoch = atomic_load_explicit(&mt_epoch, memory_order_relaxed) + 1;
	atomic_store_explicit(&mt_epoch, mt_first_epoch, memory_order_relaxed);
	mt_slots_totals(&sum);
	atomic_store_explicit(&xpeak, sum.alloc_bytes - sum.free_bytes, memory_order_relaxed);
	atomic_store(&xbound, 0);
	raise_bound((int64_t)(sum.alloc_bytes - sum.free_bytes));
	mt_peak_begin((int64_t)(sum.alloc_bytes - sum.free_bytes));
	atomic_store_explicit(&xpeak_ns, mt_state_coarse_ns(), memory_order_relaxed);
}

void mt_slots_restart(void)
{
	atomic_store(&xbalance, 0);
	atomic_store(&xheld, 0);
	atomic_store(&xbound, 0);
	atomic_store(&xpeak, 0);
	atomic_store(&xpeak_ns, 0);
	mt_peak_restart();
	mt_era_next();
}

MT_FORK_CODE void mt_slots_peak(uint64_t *bytes, uint64_t *error, uint64_t *at_ns)
{
	*bytes = atomic_load_explicit(&xpeak, memory_order_relaxed);
	*at_ns = atomic_load_explicit(&xpeak_ns, memory_order_relaxed);
	int64_t over = atomic_load_explicit(&xbound, memory_order_relaxed) - (int64_t)*bytes;
	*error = over > 0 ? (uint64_t)over : 0;
}
