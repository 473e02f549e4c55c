/* SPDX-License-Identifier: MIT
 *
 * internal.h - inside of the model, for the files of model/ alone.
 *
 * Nodes and slots lie in chunks (addresses never move), in the order they came; idmap leads from a
 * wire id to that dense index. As a parent always comes before its children, one pass over the
 * dense indices downwards is bottom-up.
 */
#ifndef MODEL_INTERNAL_H
#define MODEL_INTERNAL_H

#include "base/idmap.h"
#include "base/map.h"
#include "model/model.h"
#include "model/series.h"
#include "wire/decode.h"

#define CHUNK 4096u
#define MODEL_BYTES_MAX (8ull << 30) /* a session that needs more is refused, not served badly */
#define OPTIONS_MAX 256u
#define RATE_TICKS 64u
#define OBSERVERS_MAX 8u
#define LOOK_EVERY 128u /* at the clock */

struct staged {
	uint32_t slot;
	struct tally now;
}; /* slot: dense */

/* What a sum and all above it get in this tick. */
struct delta {
	struct tally incl;
	struct rate rate;
	uint32_t sampled;
	uint32_t sum, up; /* numbers; up: NO_ID = none */
};
struct level {
	uint32_t *deltas;
	size_t count, room;
}; /* of one depth: indices */

/* What one tick added to the rates; taken back when it is older than a second. */
#define RATE_ENTRIES 1000u
struct rate_block {
	struct rate_block *next;
	uint32_t count;
	struct rate_entry {
		uint64_t bytes;
		uint32_t blocks, slot;
	} entries[RATE_ENTRIES];
};
struct rate_batch {
	uint64_t expire_ns;
	struct rate_block *blocks; /* owned */
	size_t count;              /* entries in all of them */
};

/*
 * A tick that is being taken in, perhaps in slices. Nothing of it is seen before it takes effect:
 * until then it is worked out beside what is there. Then all of it is, though the nodes' own
 * figures follow by and by (folding). What comes meanwhile is staged for the next one.
 */
struct tick_job {
	bool busy;
	uint64_t time_ns;
	uint32_t flags;
	struct totals totals;
	bool has_totals;
	bool all; /* all sums are made anew, from the slots */
	struct staged *staged;
	size_t count, room;
	struct rate_batch batch; /* of this tick */
	bool has_batch;
	double weight;
	size_t due, expiring; /* batches of rates that are taken back, entries in them */
	/* how far it is: batch and entry, staged slot, level of the walk and place in it */
	size_t expired, at;
	const struct rate_block *block;
	uint32_t entry;
	size_t next;
	bool estimates; /* a stack has its first share that was sampled */
	/* it took effect: what the deltas before `folded` say is in their sums, and the rates of
	 * the */
	bool folding;
	size_t folded, rated; /* changes before `rated` in their slots */
	bool no_interval;     /* changes count from the start to now since it began */
	bool waits;           /* a tick came meanwhile, */
	bool partial;         /* and a part of what belongs to the next one */
	uint64_t wait_ns;
	uint32_t wait_flags;
};

/*
 * Another interval to count changes in, being worked out beside the one in force. Between ticks: no
 * slot, and nothing of a node, moves from its begin to its end; those that come meanwhile hold
 * nothing yet.
 */
/* at: of the marks up to it */
struct live_job {
	struct live *live;
	uint32_t mark;
	size_t at, cell;
};
struct interval_job {
	bool busy, begun;
	struct live_job from, to;
	struct change *moves; /* by number of the sum */
	uint32_t slot_count, node_count, sum_count;
	/* slots before are in their sums, those of nodes from left on in the next above */
	uint32_t slot, left;
};

struct sum {
	struct tally incl;
	struct rate rate; /* of the last second */
	uint32_t sampled; /* as model_sampled() */
	uint32_t up;      /* number of the next sum above; NO_ID = none */
	/* model/walk.c: index + 1 while a tick is applied; late: the one child so far, NO_ID =
	 * slots */
	uint32_t delta;
	uint32_t depth : 24; /* of its node */
	uint32_t late : 1;   /* holds nothing yet */
};

struct locations {
	struct location *list;
	uint32_t *next; /* of the same hash; NO_ID ends */
	size_t count, room, next_room;
	struct map by_hash;
};

struct option {
	char *name, *value, *who;
};

struct model {
	struct program program;
	bool hello;
	struct totals totals, totals_staged;
	bool totals_pending;
	uint32_t state;
	int status;
	bool status_known;
	bool complete, final;
	bool resuming;            /* complete, greeted again, and the new state is not whole yet */
	struct instant *instants; /* by time */
	size_t instant_count, instant_room;
	uint64_t ticks_read; /* of this program, whether they took effect or not */
	bool tick_complete;  /* the last tick had the flag: totals = sum over slots */
	uint64_t time_ns, ticks, resets;
	uint64_t bytes; /* of everything whose size the peer decides */

	struct locations locations;
	struct idmap node_ids, slot_ids;
	struct node **nodes;
	struct slot **slots;
	struct sum **sums;                           /* of some nodes: node.sum */
	size_t node_chunks, slot_chunks, sum_chunks; /* room in chunks */
	uint32_t node_count, slot_count, sum_count;  /* dense */
	uint32_t *late;                              /* nodes whose sums are, dense */
	size_t late_count, late_room;
	uint32_t *truncated; /* ids of TRUNCATED nodes */
	size_t truncated_count, truncated_room;
	uint32_t *proven; /* ids of the outermost nodes that are by_pointer */
	size_t proven_count, proven_room;

	struct module *modules;
	size_t module_count, module_room;
	struct thread *threads;
	size_t thread_count, thread_room;
	struct mark *marks;
	size_t mark_limit, mark_room;
	uint64_t marks_generation;
	struct sample samples[MTW_SAMPLES_MAX];
	size_t sample_count;
	bool samples_told, samples_totals_only;
	uint64_t samples_generation;
	uint32_t base, until; /* what changes are counted from and to; until 0 = now */
	/* of the slots that there were when the interval was set; NULL = start, now */
	struct live *at_base, *at_until;
	size_t at_count;
	struct change *moves; /* by number of the sum; NULL = from the start to now */
	size_t moves_room;
	uint32_t base_wanted, until_wanted; /* survive a reconnect to the same program */
	struct interval_job interval;
	uint64_t intervals; /* moves with the interval */

	uint64_t loss_events[MTW_LOSS_COUNT], loss_bytes[MTW_LOSS_COUNT];
	struct effort effort;
	struct memory_part parts[MTW_PARTS_MAX];
	size_t part_count;
	uint64_t rss, virt;
	uint32_t process_threads, process_children;
	struct option options[OPTIONS_MAX];
	size_t option_count;
	struct recorded *filters;
	size_t filter_count, filter_room;
	uint64_t sampled_epoch; /* of the first slot that is weighed; UINT64_MAX = none */
	struct scan_ages ages;
	bool have_ages;
	uint64_t scan_request;
	/* session time of the newest answer of a kind; 0 = none came */
	uint64_t looked_ns[MTW_KIND_COUNT];
	uint64_t answers[MTW_KIND_COUNT]; /* so many, those that say nothing among them */
	struct rss *rss_list;
	struct rss_named *rss_named;
	size_t rss_count, rss_room, rss_named_count;
	struct cohorts cohorts, cohorts_coming; /* coming: its last part is not here yet */
	size_t cohorts_room;                    /* of the one that is coming */
	bool cohorts_whole, cohorts_begun;
	uint64_t cohorts_request; /* of the one that is coming */
	uint64_t cohort_scans;

	struct staged *staged;
	size_t staged_count, staged_room;
	/* dense; since the tick began that is being taken in */
	struct weighed {
		uint32_t slot;
		bool sampled;
	} * weighed;
	size_t weighed_count, weighed_room;
	struct tick_job job;
	bool sliced; /* large ticks are taken in by model_go_on() */
	struct delta *deltas;
	struct change *delta_moves; /* inclusive, beside them; only while changes are counted */
	size_t delta_count, delta_room, delta_moves_room;
	struct level *levels;           /* per depth */
	size_t level_count, level_room; /* count: depths with deltas lie below */
	/* what observers see; NULL = none, or anything may have changed */
	struct model_changes *changes;
	bool told; /* ... in this tick; else that anything may have changed */

	struct rate_batch batches[RATE_TICKS];
	size_t batch_first, batch_count;
	struct rate **rates; /* pages by dense index of slots, only those that had a rate */
	size_t rates_room;
	struct {
		uint64_t time_ns;
		struct tally sum;
	} ring[256]; /* totals of the last ticks */
	size_t ring_first, ring_count;

	/* coming: sent anew while resuming; no points = not sent */
	struct series series, series_coming;

	struct {
		void (*fn)(void *, const struct model_delta *, size_t);
		void *arg;
	} observers[OBSERVERS_MAX];
	size_t observer_count;
	void (*on_notice)(void *arg, const char *text);
	void *notice_arg;
};

static inline struct node *node_at(const struct model *m, uint32_t index)
{
	return &m->nodes[index / CHUNK][index % CHUNK];
}

static inline struct slot *slot_at(const struct model *m, uint32_t index)
{
	return &m->slots[index / CHUNK][index % CHUNK];
}

/* It will be looked at soon: slots lie anywhere in memory. */
static inline void expect_slot(const struct model *m, uint32_t index)
{
	__builtin_prefetch(slot_at(m, index), 1);
}

static inline struct sum *sum_at(const struct model *m, uint32_t number)
{
	return &m->sums[number / CHUNK][number % CHUNK];
}

/* Are inclusive changes kept, and do they move? */
static inline bool moving(const struct model *m)
{
	return m->moves && !m->until; /* between two marks nothing moves any more */
}

static inline bool slot_is_estimate(const struct slot *s, const struct tally *now)
{
	return s->sampled && (now->alloc_blocks | now->alloc_bytes);
}

/* What a tick that took effect has not given to the sum yet. */
static inline const struct delta *unfolded(const struct model *m, const struct sum *s)
{
	return m->job.folding && s->delta ? &m->deltas[s->delta - 1] : NULL;
}

static inline struct node *node_by_id(const struct model *m, uint32_t id)
{
	uint32_t i = idmap_get(&m->node_ids, id);

	return i == NO_ID ? NULL : node_at(m, i);
}

static inline struct slot *slot_by_id(const struct model *m, uint32_t id)
{
	uint32_t i = idmap_get(&m->slot_ids, id);

	return i == NO_ID ? NULL : slot_at(m, i);
}

/* From (blocks, bytes) alive to (blocks, bytes) alive, of one slot. */
static inline struct change change_between(uint64_t b0, uint64_t y0, uint64_t b1, uint64_t y1)
{
	return (struct change){ b1 > b0 ? b1 - b0 : 0, y1 > y0 ? y1 - y0 : 0, b0 > b1 ? b0 - b1 : 0,
				y0 > y1 ? y0 - y1 : 0 };
}

static inline struct live live_of(const struct tally *t)
{
	return (struct live){ live_blocks(t), live_bytes(t) };
}

/* In the interval; index: of the slot, dense; now: its counters. */
static inline struct change slot_change(const struct model *m, uint32_t index,
					const struct tally *now)
{
	struct live from = { 0, 0 }, to = from;

	if (m->at_base && index < m->at_count)
		from = m->at_base[index];
	if (!m->until)
		to = live_of(now);
	else if (index < m->at_count)
		to = m->at_until[index];
	return change_between(from.blocks, from.bytes, to.blocks, to.bytes);
}

/* model/model.c */
int model_take(struct model *m, uint64_t bytes, struct err *err); /* account; -1 past the limit */
void model_notify(struct model *m, const struct model_delta *d, size_t count);
/* room for the element */
void chunk_for(void ***chunks, size_t *count, uint32_t index, size_t size);
/* model/sums.c */
void sums_before(struct model *m, struct node *n, bool child); /* the node gets one, else a slot */
/* number of the next one, from the node itself up */
uint32_t sum_above(const struct model *m, const struct node *n);
/* nothing is being worked out. True: none is late any more */
bool sums_settle(struct model *m, uint64_t end_ns);
void sums_make(struct model *m); /* all anew */
bool sums_check(const struct model *m, struct err *err);
/* model/locations.c */
/* NO_ID = *err */
uint32_t locations_enter(struct model *m, uint32_t module, uint64_t offset, uint8_t kind,
			 struct err *err);
void locations_clear(struct model *m);
/* model/instants.c */
void instants_tick(struct model *m, uint64_t time_ns, uint32_t flags);
/* 0: at the last tick */
void instants_looked(struct model *m, enum mtw_kind kind, uint64_t time_ns);
void instants_clear(struct model *m);
/* model/rss.c */
void rss_apply(struct model *m, const struct event *e);
void rss_clear(struct model *m);
/* model/cohorts.c */
int cohorts_apply(struct model *m, const struct event *e, struct err *err);
void cohorts_clear(struct model *m);
/* model/tick.c */
int tick_stage(struct model *m, uint32_t slot, const struct tally *now, struct err *err);
/* the slot, dense: what is booked to it from now on */
void tick_weigh(struct model *m, uint32_t index, bool sampled);
void tick_apply(struct model *m, uint64_t time_ns, uint32_t flags);
void tick_clear(struct model *m);
void tick_settle(struct model *m); /* what is being taken in or worked out is, at once */
/* seen: in this slice, which comes on however late it begins. */
static inline bool time_is_up(size_t seen, uint64_t end_ns)
{
	return seen % LOOK_EVERY == LOOK_EVERY - 1 && end_ns != UINT64_MAX && now_ns() >= end_ns;
}
/* model/walk.c */
/* in slices. True: it is whole, and can take effect */
bool tick_work_out(struct model *m, uint64_t end_ns);
/* it took effect: sums and slots get what is beside them */
bool tick_fold(struct model *m, uint64_t end_ns);
void tick_undo(struct model *m); /* what was worked out is not needed: all is made anew */
void levels_forget(struct model *m);
void levels_free(struct model *m);
/* model/rate.c */
bool rates_begin(const struct model *m, uint64_t now, size_t staged, struct rate_batch *b,
		 double *weight);
/* Of a slot (dense) in this batch; false: more than can be. */
bool rates_enter(struct rate_batch *b, uint32_t slot, double bytes, double blocks,
		 struct rate *rate);
/* batches older than a second, and entries in them */
size_t rates_due(const struct model *m, uint64_t now, size_t *entries);
const struct rate_batch *rates_batch(const struct model *m, size_t i); /* the oldest is 0 */
/* the newest: takes its entries; the ring is not full */
void rates_push(struct model *m, struct rate_batch *b);
void rates_forget(struct rate_batch *b);
void rates_drop(struct model *m); /* the oldest batch */
struct rate *rate_at(struct model *m, uint32_t slot);
struct rate rate_read(const struct model *m, uint32_t slot);
void rates_rest(struct model *m);    /* no batch: no rates, and no memory of them */
void rates_sum_all(struct model *m); /* all anew, from the batches that are left */
bool rates_check(const struct model *m, struct err *err);
void rates_clear(struct model *m);
/* model/marks.c */
int marks_apply(struct model *m, const struct event *e, struct err *err);
int marks_cell(struct model *m, const struct event *e, struct err *err);
void marks_clear(struct model *m);
void marks_arrive(struct model *m);       /* the state that they came with is whole */
bool mark_in_chain(const struct mark *k); /* it is known by slot what was alive at it, or will be */
/* model/cells.c */
int cells_add(struct model *m, struct mark_cells *k, struct mark_cell cell, struct err *err);
void cells_finish(struct mark_cells *k); /* all have come */
void cells_merge(struct model *m, struct mark_cells *k, const struct mark_cells *older);
void cells_forget(struct model *m, struct mark_cells *k);
/* model/samples.c */
int samples_apply(struct model *m, const struct event *e, struct err *err);
int samples_cell(struct model *m, const struct event *e, struct err *err);
void samples_clear(struct model *m);
/* model/interval.c */
/* while it is busy, between ticks; true: it is in force */
bool interval_go_on(struct model *m, uint64_t end_ns);
void interval_sum_moves(struct model *m); /* inclusive changes anew */
void interval_resume(struct model *m);
void interval_unsettle(struct model *m, uint32_t mark);
void interval_without(struct model *m, uint32_t mark);
void interval_clear(struct model *m);

#endif
