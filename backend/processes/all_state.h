/* SPDX-License-Identifier: MIT
 *
 * all_state.h - the state of All, shared by its parts.
 *
 *   processes/all.c         its members: who they are, and what of each counts
 *   processes/all_frames.c  the session made of them
 *   processes/all_code.c    one numbering of all code
 *   processes/all_graph.c   one graph
 */
#ifndef PROCESSES_ALL_STATE_H
#define PROCESSES_ALL_STATE_H

#include "heap/union.h"
#include "processes/all.h"
#include "processes/all_code.h"
#include "processes/all_graph.h"
#include "processes/internal.h"
#include "processes/lines.h"

struct kept_slot {
	struct tally now;
	uint32_t node; /* of the union */
	uint32_t epoch;
	bool weighed;
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
	size_t stands_for;    /* processes */
};

struct all {
	const struct processes *of; /* borrowed */
	struct watch *watch;
	struct err *err; /* of the frame that was refused */
	struct all_code code;
	struct heap_union paths; /* keys: numbers of the code's locations */
	struct tally *own;       /* by node */
	uint64_t *weighed_bits;  /* by node: with a sampled share */
	size_t own_room, weighed_room;
	struct member *members;
	size_t count, room;
	/* without call paths; as their row says; its location */
	size_t others, others_named;
	uint32_t others_location;
	struct line_share *shares; /* by line */
	size_t shares_room;
	struct all_graph graph;
	struct totals totals;
	uint64_t loss_events[MTW_LOSS_COUNT], loss_bytes[MTW_LOSS_COUNT];
	bool cut;
	bool live;
	uint64_t made_ns, cost_ns; /* of the last all_go_on() */

	/* --- all_frames.c: what the watch has */
	struct frames out;
	uint32_t starts; /* HELLOs so far */
	uint64_t ticks;
	uint32_t nodes_sent;
	uint32_t *slot_of, *node_of; /* by node, 0 = none; by slot - 1 */
	struct tally *sent;          /* by slot - 1 */
	uint32_t slots, slots_sent;
	size_t slot_room, node_room, sent_room;
	uint64_t *weighed_sent; /* by slot - 1 */
	size_t weighed_sent_room;
	uint8_t *log; /* frames of code, for another HELLO; owned */
	size_t log_bytes, log_room;
};

void all_frames_begin(struct all *a); /* the first HELLO */
/* What changed, as one tick. Where counters shrink, as a new program: a process that ended held
 * memory that now counts again. */
void all_frames_tick(struct all *a);
void all_frames_release(struct all *a);

#endif
