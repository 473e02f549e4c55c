/* SPDX-License-Identifier: MIT
 *
 * types.h - what the model is made of and gives to its readers: counters, call paths, marks, scans.
 * No state.
 */
#ifndef MODEL_PATHS_TYPES_H
#define MODEL_PATHS_TYPES_H

#include "base/base.h"
#include <memtop/wire.h>

#define NO_ID UINT32_MAX

struct tally { /* cumulative; live = alloc - free */
	uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
};
static inline uint64_t live_bytes(const struct tally *t)
{
	return t->alloc_bytes - t->free_bytes;
}
static inline uint64_t live_blocks(const struct tally *t)
{
	return t->alloc_blocks - t->free_blocks;
}
static inline void tally_add(struct tally *t, const struct tally *d)
{
	t->alloc_blocks += d->alloc_blocks;
	t->alloc_bytes += d->alloc_bytes;
	t->free_blocks += d->free_blocks;
	t->free_bytes += d->free_bytes;
}
static inline struct tally tally_sub(const struct tally *a, const struct tally *b)
{
	return (struct tally){ a->alloc_blocks - b->alloc_blocks, a->alloc_bytes - b->alloc_bytes,
			       a->free_blocks - b->free_blocks, a->free_bytes - b->free_bytes };
}

struct change { /* against the base; net = born - gone */
	uint64_t born_blocks, born_bytes, gone_blocks, gone_bytes;
};
static inline void change_add(struct change *t, const struct change *d)
{
	t->born_blocks += d->born_blocks;
	t->born_bytes += d->born_bytes;
	t->gone_blocks += d->gone_blocks;
	t->gone_bytes += d->gone_bytes;
}
static inline struct change change_sub(const struct change *a, const struct change *b)
{
	return (struct change){ a->born_blocks - b->born_blocks, a->born_bytes - b->born_bytes,
				a->gone_blocks - b->gone_blocks, a->gone_bytes - b->gone_bytes };
}

struct rate {                   /* in the window of all rates: model_window() */
	uint64_t bytes, blocks; /* allocated */
	uint64_t freed;         /* bytes */
};
static inline void rate_add(struct rate *r, const struct rate *d)
{
	r->bytes += d->bytes;
	r->blocks += d->blocks;
	r->freed += d->freed;
}
static inline struct rate rate_sub(const struct rate *a, const struct rate *b)
{
	return (struct rate){ a->bytes - b->bytes, a->blocks - b->blocks, a->freed - b->freed };
}
static inline bool rate_any(const struct rate *r)
{
	return r->bytes | r->blocks | r->freed;
}

/* Code without a module, and its row while its function is unknown. */
#define GENERATED_NAME "[generated code]"

/* Whether an amount is known, and why not. What a screen shows for it: widgets/cells.h. */
enum known {
	KNOWN,
	KNOWN_NONE, /* the row has no such amount */
	KNOWN_NOT,  /* the instant does not have it: one state alone has no rate */
	KNOWN_SOON, /* the agent was asked for it */
};

/* The amounts of a stack, a call path, a call site, a library, a thread. Rows begin with it, so
 * that one column serves the rows of all views. */
struct amounts {
	struct tally sum;
	struct change change;
	struct rate rate;
	uint32_t sampled; /* stacks with a sampled share; 0 = sum is exact */
	/* enum known: live amounts, those since the start, the change, the rate. Sums of rows leave
	 * them 0, KNOWN; who makes a row for a view sets them. */
	uint8_t live, in_all, changed, rated;
};
static inline void amounts_add(struct amounts *a, const struct amounts *d)
{
	tally_add(&a->sum, &d->sum);
	change_add(&a->change, &d->change);
	rate_add(&a->rate, &d->rate);
	a->sampled += d->sampled;
}
/* Differences are modulo their type's size, as all of the model's. */
static inline void amounts_sub(struct amounts *a, const struct amounts *d)
{
	a->sum = tally_sub(&a->sum, &d->sum);
	a->change = change_sub(&a->change, &d->change);
	a->rate = rate_sub(&a->rate, &d->rate);
	a->sampled -= d->sampled;
}

struct effort { /* work of the agent's unwinding, as of its last report; cumulative */
	uint64_t allocations, captures; /* all, and those whose stack was not remembered */
	/* captures without any remembered part, frames walked in total */
	uint64_t whole, frames;
	uint64_t pc_misses, edge_misses;
};

struct memory_part { /* a part of the agent's own memory */
	char name[MTW_NAME_MAX + 1];
	uint64_t bytes;
};

struct module {
	bool known;
	uint32_t flags; /* MTW_MODULE_* */
	uint64_t bias, start, end, loaded_ns, unloaded_ns;
	uint8_t build_id[MTW_BUILD_ID_MAX];
	uint32_t build_id_len;
	char *path; /* owned */
	char *name; /* owned; last part of path; for the main program, its name */
};

struct location {        /* a code location: many nodes share one */
	uint64_t offset; /* or absolute pc, or truncation reason */
	uint32_t module; /* NO_ID for NOWHERE and TRUNCATED */
	uint8_t kind;    /* enum mtw_node */
};

struct mark_cell {
	uint32_t slot;
	uint64_t blocks, bytes;
};
/* Live per slot where it differs from the previous instant: as MARK_LIVE has them, { +slot, blocks,
 * bytes } in varints, by slot. A third of the memory of the numbers, and less. */
struct mark_cells {
	struct cell_bytes *bytes; /* NULL: none; cells_hold() */
	size_t len, room, count;
	uint32_t last; /* slot of the last one */
	bool mixed;    /* not by slot: until cells_finish() */
};
struct cell_at { /* where a reader of cells is; { 0 } = before the first */
	size_t at;
	uint32_t slot;
};

struct sample_figures {
	uint32_t serial;
	uint64_t time_ns, live_bytes, rss_bytes;
	/* of live bytes since the previous sample: the lowest, the largest drop */
	uint64_t low_bytes, fall_bytes;
};
struct sample { /* an agent's sample; growth is judged by samples */
	struct sample_figures f;
	bool whole; /* SAMPLE_LIVE arrived */
	struct mark_cells cells;
};

struct stop {                      /* a time when the program could not run (MTW_STOPS) */
	uint64_t begin_ns, end_ns; /* end UINT64_MAX: it is stopped now */
	uint64_t stopped_ns;       /* less than end - begin where several were joined */
	uint64_t times;            /* how many are in it */
	uint32_t why, pid; /* enum mtw_stop, or a later agent's; of its tracer, 0 = unknown */
	char name[MTW_COMM_MAX + 1]; /* of its tracer; "" = unknown */
};
struct stops {
	struct stop list[MTW_STOPS_MAX]; /* oldest first, without overlaps */
	size_t count;
	uint64_t slept_ns, slept_at_ns; /* the machine, in all, and when it last woke */
};

struct mark {
	uint32_t id;
	uint32_t flags;         /* MTW_MARK_* */
	bool known, live_known; /* live_known: MARK_LIVE arrived whole */
	bool coming;            /* not known yet: belongs to the state of model_coming() */
	uint64_t epoch, time_ns, rss_bytes;
	char name[MTW_NAME_MAX + 1], set_by[MTW_NAME_MAX + 1];
	struct tally totals;
	struct mark_cells cells;
};

struct thread {
	bool known, ended;
	uint32_t tid;
	char name[32];
	struct tally done;                /* by this thread */
	uint64_t live_blocks, live_bytes; /* its live blocks, from the last scan */
};

#define FILTERS_MAX 4096u
struct recorded { /* the filter of recording since time_ns; 0 and "" = all */
	uint64_t since_ns, sample, min_size, max_size, merge;
	char *libs, *exclude, *who; /* owned; who: "" = at start */
};

struct point { /* one point of the history; its time first, for count_up_to() */
	uint64_t time_ns, live_bytes, live_blocks, alloc_bytes, alloc_blocks, free_blocks,
		rss_bytes;
};

struct program {
	uint32_t pid, uid, word_bits;
	uint64_t start_unix_ns, tick_ns, features;          /* MTW_FEATURE_* */
	char *exe, *arch, *agent_version, *options, **args; /* owned */
	/* owned; the name it was called by, if that names a file; else exe's last part */
	char *name;
	size_t arg_count;
	bool forked;         /* a fork without exec; always false with older agents */
	struct tally before; /* part of the totals from before the fork, shared with its parent */
	/* Slots of earlier epochs hold what it inherited; 0: none does. Not inherits_apart: a fork
	 * with an older agent, whose slots mix inherited blocks with its own; then 0, too. */
	uint64_t first_epoch;
	bool inherits_apart;
};

struct peak_instant { /* of the agent's snapshot of the heap's peak */
	uint64_t time_ns;
	struct tally sum;
};

struct totals {
	uint64_t time_ns;
	struct tally sum;
	uint64_t peak_bytes, peak_error_bytes, peak_time_ns;
	uint64_t agent_memory_bytes, agent_cpu_ns, hook_ns, target_cpu_ns;
	uint64_t hook_error_ns; /* 0: an older agent, which does not say */
	uint64_t walked;        /* percent of a walk under way, plus 1; 0 = none is */
	uint64_t slots_total, slots_sent, live_sent_bytes;
	uint64_t agent_limit_bytes; /* of the agent's tables; 0: an older agent */
};

/* The resident memory of the process, in parts that add up to it (enum mtw_memory). */
struct rss {
	uint64_t time_ns, bytes[MTW_MEMORY_COUNT], mappings[MTW_MEMORY_COUNT];
};
#define RSS_NEAR_NS 10000000000u /* model_rss_at() */
static inline uint64_t rss_all(const struct rss *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MTW_MEMORY_COUNT; i++)
		sum += r->bytes[i];
	return sum;
}
struct rss_named { /* one file or shared memory: its share of a part */
	uint32_t what;
	char *name;
	uint64_t bytes, mappings;
};

struct scan_ages {
	uint64_t request, blocks, bytes;
	/* birth_ns; log2; thread index */
	struct age_cell {
		uint64_t key, blocks, bytes;
	} * births, *sizes, *threads;
	size_t birth_count, size_count, thread_count;
};

struct cohort {                /* live blocks with these in common */
	uint32_t slot, thread; /* thread: index of the allocating thread */
	uint32_t age_s;        /* at cohorts.time_ns, rounded down as mtw_age_step() does */
	uint64_t blocks, bytes;
};
/* One scan. Its cohorts are packed, by slot: model/state/cohorts.h reads them. */
struct cohorts {
	uint64_t time_ns;
	uint64_t left_blocks, left_bytes; /* live then, but in no cohort for lack of room */
	size_t count;
	uint8_t *bytes;
	size_t len;
	struct cohort_at {
		size_t at;
		uint32_t slot; /* the steps of slots go on from it */
	} * places;            /* before cohorts 0, COHORTS_STRIDE, ... */
};
#define COHORTS_STRIDE 64u

/* allocations and frees per second, in the window of all rates: model_window() */
struct rates {
	double alloc_bytes, alloc_blocks, free_bytes, free_blocks;
	bool known; /* false: one state alone has none, such as the one at the peak */
};

struct live {
	uint64_t blocks, bytes;
};

/* time_ns first, for count_up_to(); ticks: model_ticks_read() at that time */
struct instant {
	uint64_t time_ns, ticks;
};

#endif
