/* SPDX-License-Identifier: MIT
 *
 * all_state.h - the state of All, shared by its parts.
 *
 *   processes/all.c         its members: who they are, and what of each counts
 *   processes/all_members.c one of them: its slots, its clock
 *   processes/all_slots.c   their amounts
 *   processes/all_marks.c   its marks: those that all members have
 *   processes/all_holders.c which of them hold what
 *   processes/all_samples.c its samples, from which growth is judged
 *   processes/all_frames.c  the session made of them
 *   processes/all_code.c    one numbering of all code
 *   processes/all_graph.c   one graph
 */
#ifndef PROCESSES_ALL_STATE_H
#define PROCESSES_ALL_STATE_H

#include "heap/union.h"
#include "model/columns.h"
#include "processes/all.h"
#include "processes/all_code.h"
#include "processes/all_graph.h"
#include "processes/tree_state.h"
#include "processes/lines.h"

struct kept_slot {
	struct tally now;
	uint32_t node; /* of the union */
	uint32_t epoch;
	bool weighed;
};

/* A mark as a member has it. */
struct member_mark {
	char name[MTW_NAME_MAX + 1], set_by[MTW_NAME_MAX + 1];
	uint32_t id;
	uint64_t epoch, time_ns; /* time: on the clock of All */
	uint64_t joined_ns;      /* the time of All's mark that it is; 0 = none yet */
	struct tally totals;
	bool says, reduced; /* live is known by slot; never will be */
	/* of a member whose watch is closed: its slots that differ from the mark before; owned */
	struct mark_change {
		uint32_t slot;
		struct live is;
	} * changes;
	size_t count, room;
};

/* What a member's slots held at one of its marks, after all_marks_walk(). */
struct member_held {
	struct mark_walk walk; /* of a model; of a closed watch `held` and `slots` are owned, too */
	uint64_t chain;        /* model_marks_chain() */
	size_t at;             /* of a closed watch: marks so far */
};

/* A sample of a member (struct sample), and where its changes end. */
struct member_sample {
	struct sample_figures f;        /* time: on the clock of All */
	uint64_t live_bytes, low_bytes; /* of what counts for it */
	size_t end;
};

struct member {
	uint32_t id;         /* its line; 0 = those without call paths */
	struct watch *watch; /* borrowed; NULL: closed, or of a file */
	uint64_t resets;     /* model_resets() that the numbers below belong to */
	struct all_names names;
	uint32_t *at; /* by node of its model, in the order of arrival: the union's; owned */
	uint32_t known;
	size_t at_room;
	uint64_t named;         /* symbols_generation() of the names taken */
	struct kept_slot *kept; /* what a closed watch had; owned */
	size_t kept_count, kept_room;
	uint64_t first_epoch; /* slots of earlier epochs have what it inherited */
	uint64_t *holds_bits; /* by node of the union: it has live blocks there; owned */
	uint32_t nodes;       /* below this */
	uint64_t *order_bits; /* the same by stack of all.order; NULL = not made yet; owned */
	size_t stands_for;    /* processes */

	uint32_t *to; /* by its slot: All's; as of all.placings; owned */
	uint32_t placed;
	size_t to_room;
	uint64_t placings;

	/* of a file without marks, where its slots are not kept: live amounts by All's slot; owned
	 */
	struct mark_change *lives;
	size_t live_count, lives_room;

	/* all_marks.c */
	struct member_mark *marks; /* by id, without dropped ones; owned */
	size_t mark_count, mark_room;
	uint64_t marks_generation; /* of the model, + 1 */
	uint32_t *mark_of;         /* by All's mark: index + 1 in `marks`; 0 = it lacks it */
	size_t mark_of_room;
	/* by its epoch, the last for all later ones: All's; owned */
	uint32_t *epoch_of, epochs;
	size_t epoch_room;
	struct member_held held;

	/* all_samples.c */
	struct member_sample samples[MTW_SAMPLES_MAX];
	size_t sample_count, sample_at;
	/* by its slots; by All's, to the sample before; owned */
	struct mark_change *sample_changes, *sample_moves;
	size_t sample_change_count, sample_change_room;
	struct mark_walk sample_walk;
	uint64_t samples_generation; /* of the model, + 1 */
	uint64_t samples_placed;     /* all.placings that the changes are of */
};

/* The counters of one path between two marks, over all members. */
struct all_slot {
	uint32_t node, epoch;
	bool weighed, weighed_sent; /* it has a sampled share; the watch knows */
	struct tally now, sent;
};

struct all_mark {
	char name[MTW_NAME_MAX + 1], set_by[MTW_NAME_MAX + 1];
	uint64_t time_ns;
	bool reduced; /* one member has only its totals */
};

struct all {
	const struct processes *of; /* borrowed */
	struct watch *watch;
	struct err *err; /* of the frame that was refused */
	struct all_code code;
	struct heap_union paths; /* keys: numbers of the code's locations */
	struct map slot_of;      /* (node, epoch) -> slot + 1 */
	struct all_slot *slots;
	uint32_t slot_count;
	size_t slot_room;
	uint64_t placings; /* moves when slots of members belong to other epochs */
	struct member *members;
	size_t count, room;
	/* without call paths; as their row says; its location; its slot + 1 */
	size_t others, others_named;
	uint32_t others_location, others_slot;
	/* by time; which of them the watch has, and as what */
	struct all_mark *marks, *marks_sent;
	size_t mark_count, mark_room, marks_sent_count, marks_sent_room;
	struct skeleton *order;    /* of the members' order_bits; held; NULL = none have any */
	uint64_t order_ticks;      /* `ticks` then */
	struct line_share *shares; /* by line */
	size_t shares_room;
	struct all_graph graph; /* of members whose watch is closed */
	struct totals totals;
	uint64_t loss_events[MTW_LOSS_COUNT], loss_bytes[MTW_LOSS_COUNT];
	uint64_t samples_stamp, sampled_ns; /* all_samples_make() */
	size_t sample_count;
	char grew_most[96]; /* "nginx [123]": the process that grew most; "" = none */
	bool cut;
	bool live;
	uint64_t made_ns, cost_ns; /* of the last all_go_on() */

	/* all_frames.c: what the watch has */
	struct frames out;
	uint32_t starts; /* HELLOs so far */
	uint64_t ticks;
	uint32_t nodes_sent;
	uint32_t slots_sent;
	struct live *held; /* by slot: at the last mark that was sent */
	size_t held_room;
	uint32_t sample_serial; /* the last one */
	uint8_t *log;           /* frames of code, for another HELLO; owned */
	size_t log_bytes, log_room;
};

/* all_members.c. What a member's slots count, by their epoch: now, or at a mark. */
struct counting {
	uint64_t from, own;
	bool held;
};
struct counting all_counting(const struct all *a, const struct member *me,
			     const struct line_share *share);
const struct member *all_member_of(const struct all *a, uint32_t id);
uint64_t all_clock_of(const struct processes *p, uint32_t id); /* where its clock begins */
const struct columns *all_columns(const struct member *me);    /* NULL: its watch is closed */
uint32_t all_slots_of(const struct member *me, const struct columns *c);
struct kept_slot all_slot_of(const struct member *me, const struct columns *c, uint32_t slot);
void all_member_graph(const struct all *a, const struct member *me, struct all_graph *g);
void all_others_graph(const struct all *a, struct all_graph *g); /* those without call paths */
/* Live blocks of the processes without call paths that count now and had begun then. */
struct live all_others_since(const struct all *a, uint64_t time_ns);

/* all_slots.c. */
uint32_t all_slots_for(struct all *a, uint32_t node, uint32_t epoch);
void all_slots_add(struct all *a, struct member *me); /* what it holds now */

/* all_marks.c. */
void all_marks_take(const struct all *a, struct member *me); /* its marks, before a gathering */
void all_marks_keep(struct member *me); /* ... with amounts, before a watch closes */
/* Which marks of the members are All's, and which slots were born after which. */
void all_marks_gather(struct all *a);
uint32_t all_marks_epoch(const struct all *a, const struct member *me, uint64_t epoch);
/* What each slot of All held at its mark k; [slot_count], zero. And its totals. */
void all_marks_held(struct all *a, size_t k, struct live *held);
struct tally all_marks_totals(const struct all *a, size_t k, const struct live *held);
void all_marks_forget(struct member *me);

/* all_holders.c: after all_slots_add() */
void all_holders_keep(const struct all *a, struct member *me);
void all_holders_release(struct all *a);

/* all_samples.c: take, all_slots_add(), place */
void all_samples_take(const struct all *a, struct member *me);
void all_samples_place(struct all *a, struct member *me);
void all_samples_forget(struct member *me);
/* running: some process runs. At most MTW_SAMPLES_MAX; 0: as before. Then, in their order, what
 * each slot held at them, beginning with nothing. */
size_t all_samples_make(struct all *a, bool running, struct sample_figures *list);
void all_samples_held(struct all *a, bool running, uint64_t time_ns, struct live *held);

/* all_frames.c */
void all_frames_begin(struct all *a); /* the first HELLO */
/* What changed, as one tick. Where counters shrink, as a new program: a process that ended held
 * memory that now counts again. */
void all_frames_tick(struct all *a);
void all_frames_release(struct all *a);

#endif
