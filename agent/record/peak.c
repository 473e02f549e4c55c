/* SPDX-License-Identifier: MIT
 *
 * peak.c - every counter as it was when the heap was at its highest.
 *
 * Nothing is copied at a peak. A peak is a number: it advances the pass, as a collection does. The
 * first event on a page (PAGE_SLOTS slots of one thread) after that finds the page not stamped with
 * this pass, and leaves the usual path, as after each collection. There, before the page changes,
 * its owner copies it. So at any later time
 *
 *     a counter at the peak = the page's copy, if the page has changed since, else the counter
 *
 * and the server reads this whenever it likes, also when the program has ended. No thread waits, no
 * lock is held, no system call is made but the arena's for more memory.
 *
 * WHEN. A thread that publishes a balance (record/slots.c) which passes the last peak's by a
 * PEAK_SHARE-th begins a new one; so does the server, when it sees more at a collection. The heap
 * may rise by less than that, and meanwhile replace all of its blocks. So a thread that publishes
 * also begins one when a PEAK_TURN-th of the heap has been freed since the highest balance, if that
 * is higher than the last peak's. Then no more than that, and what threads hold back, was freed or
 * allocated since the highest. For this a thread publishes before it frees a large block, too. The
 * copies of the peak before are overwritten, page by page.
 *
 * COST. From a heap of a to one of b bytes there are at most log(b / a) / log(1 + 1 / PEAK_SHARE)
 * peaks of the first kind, 89 for each doubling; of the second kind one for each PEAK_TURN-th that
 * is freed, and only when the heap was higher than ever in between. Each copies a page (1 KiB) at
 * most once, on its next event. A program whose heap does not grow any more has no cost. In memory:
 * a copy of each page that changed after a peak, half as much as its counters until one of them is
 * 2^32 or more.
 *
 * RACES. An event that had begun when a peak began counts as before it. A block's free is never
 * without its allocation: who frees it has seen the pass that the allocating thread saw. The shared
 * state's pages are copied by the first thread that comes, and another one does not wait for it:
 * the copy may have its event. Without memory for a copy, this peak cannot be read.
 */
#include "record/peak.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "base/state.h"

/* Of nearly all pages each counter fits in 32 bits: struct counts, in half the room. */
struct narrow {
	_Atomic uint32_t xalloc_blocks, xalloc_bytes, xfree_blocks, xfree_bytes;
};

struct kept_page {
	_Atomic uint32_t xclaimed;    /* the peak that somebody copies it for */
	_Atomic uint32_t xpass;       /* ... it was copied for */
	struct counts *_Atomic xwide; /* PAGE_SLOTS, once a counter needs them; NULL: narrow[] */
	struct narrow narrow[PAGE_SLOTS];
};

/* Where the counters at the peak are: one of the two, or neither. */
struct then {
	const struct counts *wide;
	const struct narrow *narrow;
};

MT_FORK_WORD _Atomic uint32_t mt_peak_pass;
MT_FORK_WORD static _Atomic int64_t xlive; /* live bytes at the peak, as published */
MT_FORK_WORD static _Atomic uint64_t xtime_ns;
MT_FORK_WORD static _Atomic int64_t
	xhighest;                       /* published since there is a peak; it is to have that */
static _Atomic uint64_t xfreed, xuntil; /* bytes, as published; ... when that was the highest */
MT_FORK_WORD static _Atomic bool xheld;

static void raise_to(_Atomic uint32_t *x, uint32_t to)
{
	uint32_t is = atomic_load_explicit(x, memory_order_relaxed);

	while (is < to && !atomic_compare_exchange_weak(x, &is, to))
		;
}

/* The number first: a thread that sees the new pass must know that it is a peak's. Another thread
 * may have a higher peak meanwhile, and then begins its own. */
MT_FORK_CODE static void begin(int64_t live)
{
	uint32_t pass = atomic_load_explicit(&mt_pass, memory_order_relaxed);

	atomic_store_explicit(&xtime_ns, mt_state_coarse_ns(), memory_order_relaxed);
	while (atomic_load_explicit(&xlive, memory_order_relaxed) == live) {
		raise_to(&mt_peak_pass, pass + 1);
		if (atomic_compare_exchange_strong(&mt_pass, &pass, pass + 1))
			break;
	}
	mt_era_next();
}

static bool raise_live(int64_t to, int64_t share)
{
	int64_t before = atomic_load_explicit(&xlive, memory_order_relaxed);

	do {
		if (to <= before + (share ? before / share : 0))
			return false;
	} while (!atomic_compare_exchange_weak(&xlive, &before, to));
	return true;
}

MT_COLD void mt_peak_rise(int64_t live, bool last)
{
	if (raise_live(live, last ? 0 : PEAK_SHARE))
		begin(live);
}

/* Where threads publish late, the heap is far below its highest: the last peak has more of it. */
MT_COLD void mt_peak_published(int64_t live, uint64_t freed, uint64_t next)
{
	int64_t high = atomic_load_explicit(&xhighest, memory_order_relaxed);
	uint64_t all = atomic_fetch_add_explicit(&xfreed, freed, memory_order_relaxed) + freed;
	bool higher = false;

	mt_peak_rise(live, false);
	while (live > high && !higher)
		higher = atomic_compare_exchange_weak(&xhighest, &high, live);
	if (higher) {
		high = live;
		atomic_store_explicit(&xuntil, all, memory_order_relaxed);
	}
	all += next - atomic_load_explicit(&xuntil, memory_order_relaxed);
	if (all >= (uint64_t)high / PEAK_TURN && live + high / PEAK_SHARE >= high &&
	    !atomic_load_explicit(&xheld, memory_order_relaxed) && raise_live(high, 0))
		begin(high);
}

MT_FORK_CODE void mt_peak_hold(bool on)
{
	atomic_store_explicit(&xheld, on, memory_order_relaxed);
}

MT_FORK_CODE void mt_peak_begin(int64_t live)
{
	atomic_store(&xlive, live);
	atomic_store(&xhighest, live);
	mt_peak_hold(false); /* our parent's server may read */
	begin(live);
}

void mt_peak_restart(void)
{
	atomic_store(&xlive, 0);
	atomic_store(&xhighest, 0);
	atomic_store(&mt_peak_pass, 0);
}

/* These copy with release: a reader who meets one of the words sees the newer peak, too. */
static void copy_word(_Atomic uint64_t *to, const _Atomic uint64_t *from)
{
	atomic_store_explicit(to, atomic_load_explicit(from, memory_order_relaxed),
			      memory_order_release);
}

static void copy_wide(struct counts *to, const struct counter_page *page)
{
	for (const struct counts *from = page->slot; from < page->slot + PAGE_SLOTS; from++, to++) {
		copy_word(&to->xfree_blocks, &from->xfree_blocks);
		copy_word(&to->xfree_bytes, &from->xfree_bytes);
		copy_word(&to->xalloc_blocks, &from->xalloc_blocks);
		copy_word(&to->xalloc_bytes, &from->xalloc_bytes);
	}
}

/* Returns the bits that did not fit. */
static uint64_t copy_half(_Atomic uint32_t *to, const _Atomic uint64_t *from)
{
	uint64_t is = atomic_load_explicit(from, memory_order_relaxed);

	atomic_store_explicit(to, (uint32_t)is, memory_order_release);
	return is >> 32;
}

/* False: a counter does not fit. */
static bool copy_narrow(struct narrow *to, const struct counter_page *page)
{
	uint64_t more = 0;

	for (const struct counts *from = page->slot; from < page->slot + PAGE_SLOTS; from++, to++) {
		more |= copy_half(&to->xfree_blocks, &from->xfree_blocks);
		more |= copy_half(&to->xfree_bytes, &from->xfree_bytes);
		more |= copy_half(&to->xalloc_blocks, &from->xalloc_blocks);
		more |= copy_half(&to->xalloc_bytes, &from->xalloc_bytes);
	}
	return !more;
}

/* False: no memory. Of several threads one alone copies for a peak. */
static bool copy_page(struct kept_page *k, const struct counter_page *page)
{
	struct counts *wide = atomic_load_explicit(&k->xwide, memory_order_relaxed);

	if (!wide && copy_narrow(k->narrow, page))
		return true;
	if (!wide && !(wide = mt_arena_alloc_for(NEED_PEAK, PAGE_SLOTS * sizeof(*wide))))
		return false;
	copy_wide(wide, page);
	atomic_store_explicit(&k->xwide, wide, memory_order_release);
	return true;
}

/* The room for its copy, from its first one on; NULL = no memory. */
static struct kept_page *room_of(struct counter_page *page)
{
	struct kept_page *k = atomic_load_explicit(&page->xkept, memory_order_acquire);

	if (k)
		return k;
	struct kept_page *fresh = mt_arena_alloc_for(NEED_PEAK, sizeof(*fresh));
	if (!fresh || atomic_compare_exchange_strong(&page->xkept, &k, fresh))
		return fresh;
	return k; /* the shared state: another thread was faster */
}

/* The owner may copy again: a signal handler that leaves by a jump may have cut its first try. */
MT_COLD void mt_peak_keep(const struct thread *t, struct counter_page *page)
{
	uint32_t pass = atomic_load_explicit(&mt_peak_pass, memory_order_acquire);

	if (!atomic_load_explicit(&page->xstamp, memory_order_relaxed)) {
		atomic_store_explicit(&page->xborn, pass, memory_order_relaxed);
		return;
	}
	struct kept_page *k = room_of(page);
	if (!k)
		return;
	uint32_t was = atomic_load_explicit(&k->xclaimed, memory_order_relaxed);
	if (t->shared && (was == pass || !atomic_compare_exchange_strong(&k->xclaimed, &was, pass)))
		return;
	if (!copy_page(k, page))
		return;
	atomic_store_explicit(&k->xpass, pass, memory_order_release);
	atomic_store_explicit(&page->xstamp, pass, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst); /* seen before the change that follows */
}

uint32_t mt_peak_newest(uint64_t *time_ns)
{
	*time_ns = atomic_load_explicit(&xtime_ns, memory_order_relaxed);
	return atomic_load_explicit(&mt_peak_pass, memory_order_acquire);
}

/* The page's counters at the peak; *none: it had not been met. Neither: they were not kept. */
static struct then counts_then(const struct counter_page *page, uint32_t number, bool *none)
{
	const struct kept_page *k;

	*none = false;
	if (atomic_load_explicit(&page->xstamp, memory_order_acquire) < number)
		return (struct then){ page->slot, NULL };
	*none = atomic_load_explicit(&page->xborn, memory_order_relaxed) >= number;
	k = atomic_load_explicit(&page->xkept, memory_order_acquire);
	if (!k || atomic_load_explicit(&k->xpass, memory_order_acquire) != number)
		return (struct then){ NULL, NULL };
	const struct counts *wide = atomic_load_explicit(&k->xwide, memory_order_acquire);
	return (struct then){ wide, wide ? NULL : k->narrow };
}

static void read_wide(const struct counts *c, struct tally is[PAGE_SLOTS])
{
	for (struct tally *t = is; t < is + PAGE_SLOTS; t++, c++) {
		t->free_blocks = atomic_load_explicit(&c->xfree_blocks, memory_order_acquire);
		t->free_bytes = atomic_load_explicit(&c->xfree_bytes, memory_order_acquire);
		t->alloc_blocks = atomic_load_explicit(&c->xalloc_blocks, memory_order_acquire);
		t->alloc_bytes = atomic_load_explicit(&c->xalloc_bytes, memory_order_acquire);
	}
}

static void read_narrow(const struct narrow *c, struct tally is[PAGE_SLOTS])
{
	for (struct tally *t = is; t < is + PAGE_SLOTS; t++, c++) {
		t->free_blocks = atomic_load_explicit(&c->xfree_blocks, memory_order_acquire);
		t->free_bytes = atomic_load_explicit(&c->xfree_bytes, memory_order_acquire);
		t->alloc_blocks = atomic_load_explicit(&c->xalloc_blocks, memory_order_acquire);
		t->alloc_bytes = atomic_load_explicit(&c->xalloc_bytes, memory_order_acquire);
	}
}

/* Read in place, a page may have been copied and changed meanwhile: once more, then. */
bool mt_peak_add(const struct counter_page *page, uint32_t number, struct tally sum[PAGE_SLOTS])
{
	struct tally is[PAGE_SLOTS];
	struct then from, again;
	bool none;

	for (from = counts_then(page, number, &none);; from = again) {
		if (none)
			return true;
		if (from.wide)
			read_wide(from.wide, is);
		else if (from.narrow)
			read_narrow(from.narrow, is);
		else
			return false;
		again = counts_then(page, number, &none);
		if (again.wide == from.wide && again.narrow == from.narrow)
			break;
	}
	for (unsigned i = 0; i < PAGE_SLOTS; i++) {
		sum[i].free_blocks += is[i].free_blocks;
		sum[i].free_bytes += is[i].free_bytes;
		sum[i].alloc_blocks += is[i].alloc_blocks;
		sum[i].alloc_bytes += is[i].alloc_bytes;
	}
	return true;
}

/* What is published next counts as the highest, before the peak is less: no thread may take what
 * has gone for a peak that is missing. */
void mt_peak_correct(uint32_t number, int64_t live)
{
	int64_t is = atomic_load_explicit(&xlive, memory_order_relaxed),
		high = atomic_load_explicit(&xhighest, memory_order_relaxed);

	if (atomic_load_explicit(&mt_peak_pass, memory_order_acquire) == number && high <= is &&
	    atomic_compare_exchange_strong(&xhighest, &high, live))
		atomic_compare_exchange_strong(&xlive, &is, live);
}
