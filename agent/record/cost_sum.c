/* SPDX-License-Identifier: MIT
 *
 * cost_sum.c - what the agent takes of the program's cpu time, by the times of some events. The
 * server asks. record/cost.c has the design.
 */
#include "base/prim_linux.h"
#include "base/thread_list.h"
#include "live/live_fast.h"
#include "record/cost.h"
#include "record/record_fast.h"
#include "record/sampled_fast.h"
#include "record/slots.h"
#include "record/slots_fast.h"

#define ENOUGH 24 /* samples, for a mean of their own */
#define MODEL 0.3
/* Of the base, and of what takes longer, the processor does the rest while it works for the
 * program.
 */
#define OVERLAP 0.7
#define WAITS 0.85

#define LOOP 256
#define TRIES 15

/* Newton's, for libm is not there; from above. */
static double root(double square)
{
	double r = square > 1 ? square : 1;

	for (int i = 0; i < 200 && r - square / r > 0.001 * r; i++)
		r = (r + square / r) / 2;
	return square > 0 ? r : 0;
}

/* Of the usual events, and of those that a filter leaves out. */
static struct {
	double base, floor;
} whole, left_out;

#define DEPTH 10 /* pairs of its stack */

/* A thread with one stack and one block, outside of the list of all. */
struct bench {
	struct thread t;
	struct mid mid;
	struct counter_page page;
	small_entry entry;
	uintptr_t word;
};

static void make_bench(struct bench *b)
{
	struct hit *h = &b->t.none;

	mt_slots_thread_init(&b->t);
	for (int i = 0; i < MID_PAGES; i++)
		atomic_store(&b->mid.xpage[i], &mt_slots_no_page);
	atomic_store(&b->mid.xpage[SLOT_ROOT / PAGE_SLOTS], &b->page);
	atomic_store(&b->t.root[0], &b->mid);
	h->sp = h->pc = (uintptr_t)b;
	h->few = h->count = DEPTH;
	h->counts = slots_counts(&b->page, SLOT_ROOT);
	for (int i = 0; i < DEPTH; i++)
		h->own[i].end = (uintptr_t)(&b->word + 1);
	for (int i = 0; i < HIT_NEXT; i++)
		h->next[i] = h;
	unwind_begin_at(h, false);
	b->t.last = h;
	b->t.link = h->next;
	b->t.alloc_room = b->t.free_room = INT64_MAX;
	atomic_store(&b->t.filter.xuntimed, INT64_MAX);
	atomic_store(&b->t.filter.xleft, INT64_MAX);
}

/* As record_alloc() and record_free(), with the bench's own entry and page where those of the
 * program's block would be. Each is called, as hooks are. */
static __attribute__((noinline)) void alloc_one(struct bench *b, size_t bytes)
{
	struct thread *t = &b->t;
	small_entry *e = live_small(live_fast(), b);
	struct hit *h = *t->link;

	__asm__ volatile("" : : "r"(e));
	live_expect(&b->entry);
	t->busy_sp = (uintptr_t)b;
	atomic_signal_fence(memory_order_seq_cst);
	h->era = mt_era_now();
	if (!unwind_hits(h, (uintptr_t)b, (uintptr_t)b, 0, h->era))
		return;
	record_met(t, h);
	atomic_store_explicit(&b->page.xstamp, mt_pass, memory_order_relaxed);
	if (slots_count_alloc(t, h->counts, bytes))
		live_put(&b->entry, bytes, 0);
	t->busy_sp = 0;
}

static __attribute__((noinline)) void free_one(struct bench *b)
{
	struct thread *t = &b->t;
	const struct live_open *in = live_fast();
	small_entry *e = live_small(in, b);
	uint32_t v = atomic_load_explicit(&b->entry, memory_order_acquire);
	slot_id slot = (slot_id)live_origin(in, v) | SLOT_ROOT;
	struct counter_page *page = slots_page(t, slot);

	__asm__ volatile("" : : "r"(e));
	if (!record_may_count(t, page))
		return;
	record_enter(t);
	atomic_store_explicit(&b->entry, 0, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	slots_count_free(t, slots_counts(page, slot), live_size(v));
	t->busy_sp = 0;
}

static void alloc_32(struct bench *b)
{
	alloc_one(b, 32);
}

static void one_pair(struct bench *b)
{
	alloc_one(b, 32);
	free_one(b);
}

/* An event of a sampled thread: record/sampled_fast.h. */
static __attribute__((noinline)) void one_left_out(struct bench *b)
{
	struct hot hot = { .sampled = &b->t };

	sampled_skips(&hot, 1);
}

static double clocked(void (*work)(struct bench *), struct bench *b, unsigned n)
{
	uint64_t begin = mt_prim_now_ns();

	for (unsigned i = 0; i < n; i++)
		work(b);
	return (double)(mt_prim_now_ns() - begin) / n;
}

/* Of one in a row, the best of some tries: the server may lose its cpu, or share its core. */
static double in_a_row(struct bench *b, void (*work)(struct bench *))
{
	double best = clocked(work, b, LOOP);

	for (int i = 0; i < TRIES; i++) {
		double ns = clocked(work, b, LOOP);
		best = ns < best ? ns : best;
	}
	return best;
}

/* Of one alone: the mean without those that were interrupted. A clock may tell tens of ns. */
static double alone(struct bench *b, void (*work)(struct bench *), void (*after)(struct bench *))
{
	double sum = 0, best = clocked(work, b, 1);
	unsigned n = 0;

	for (int i = 0; i < LOOP; i++) {
		if (after)
			after(b);
		double ns = clocked(work, b, 1);
		best = ns < best ? ns : best;
		if (ns > 2 * best + 20)
			continue;
		sum += ns;
		n++;
	}
	return n ? sum / n : best;
}

void mt_cost_calibrate(void)
{
	struct bench *b = whole.base > 0 ? NULL : mt_prim_map(sizeof(*b), false);

	if (!b)
		return;
	make_bench(b);
	whole.base = OVERLAP * in_a_row(b, one_pair) / 2;
	whole.floor = (alone(b, alloc_32, free_one) + alone(b, free_one, alloc_32)) / 2;
	left_out.base = OVERLAP * in_a_row(b, one_left_out);
	left_out.floor = alone(b, one_left_out, NULL);
	mt_prim_unmap(b, sizeof(*b));
}

static uint64_t whole_events(const struct thread *t)
{
	uint64_t weighed = atomic_load_explicit(&t->filter.xweighed, memory_order_relaxed),
		 no = weighed + t->cost.before + t->cost.first, all = slots_events(t);

	return all > no ? all - no : 0; /* the weighed ones are among those of the filter */
}

static uint64_t left_out_events(const struct thread *t)
{
	uint64_t all = filter_events(&t->filter);

	return all > t->cost.left_before ? all - t->cost.left_before : 0;
}

static void add_timed(struct timed *sum, const struct timed *t)
{
	sum->samples += t->samples;
	sum->ns += t->ns;
	sum->squares += t->squares;
}

/* Sum so far: the time, and the square of its error. */
struct estimate {
	double ns, square, model;
};

/* So many events, judged by t, or by all when it says too little. */
static void add_events(struct estimate *to, uint64_t events, const struct timed *t,
		       const struct timed *all, double base, double floor)
{
	const struct timed *by = t->samples >= ENOUGH ? t : all;
	double n = (double)by->samples, e = (double)events;
	double mean = n > 0 ? (double)by->ns / n : floor,
	       more = mean > floor ? WAITS * (mean - floor) : 0;
	double variance = n > 0 ? (double)by->squares / n - mean * mean : 0;

	to->ns += e * (base + more);
	to->model += e * (base + more);
	if (n > 1 && variance > 0)
		to->square += e * e * variance / (n - 1);
}

void mt_cost_sum(struct cost_sum *sum)
{
	struct timed all = { 0 }, all_left_out = { 0 };
	struct estimate is = { 0, 0, 0 };

	for (const struct thread *t = threads_first(); t; t = threads_next(t)) {
		add_timed(&all, &t->cost.timed);
		add_timed(&all_left_out, &t->filter.timed);
	}
	for (const struct thread *t = threads_first(); t; t = threads_next(t)) {
		is.ns += (double)t->cost.first_ns;
		add_events(&is, whole_events(t), &t->cost.timed, &all, whole.base, whole.floor);
		add_events(&is, left_out_events(t), &t->filter.timed, &all_left_out, left_out.base,
			   left_out.floor);
	}
	sum->ns = (uint64_t)is.ns;
	sum->error_ns = (uint64_t)(2 * root(is.square) + MODEL * is.model);
}
