/* SPDX-License-Identifier: MIT
 *
 * owners_state.h - the owners' current and past amounts, for owners/owner.c and owners/list.c
 * alone. Main thread only.
 */
#ifndef OWNERS_OWNERS_STATE_H
#define OWNERS_OWNERS_STATE_H

#include "owners/names.h"
#include "owners/owner.h"
#include "model/history/history.h"

struct held {
	struct owner pub;
	uint64_t series[SERIES_MAX + 1];
	uint64_t *other; /* same length, by the rule not in force; NULL = it never was. Owned */
};

/* The meaning of the series' columns. */
struct past {
	uint64_t times[SERIES_MAX + 1];
	bool known[SERIES_MAX + 1];
	size_t count;
};

struct owners {
	const struct model *m;
	struct names *names;
	struct held **held; /* 0 = unknown; then in order of appearance */
	size_t held_count, held_room;
	uint32_t *of_lib; /* lib -> held index, 0 = none yet */
	size_t lib_room;
	uint32_t generated; /* held index of OWNER_GENERATED, 0 = none yet */
	struct heap *heap;  /* the snapshot */
	/* What it is made of, the worker's while it works; */
	struct naming {
		struct heap *of, *last; /* the model's; the snapshot before. Held */
		struct names_copy coming;
		bool direct;
		uint64_t *need; /* locations that nobody asked for; NULL = none */
		struct heap *made;
	} naming;
	struct worker *worker; /* NULL: in line */
	struct heap *of;       /* ... and what the snapshot was made of; held */
	uint64_t of_names, of_awaited;
	uint64_t made_ns, cost_ns;
	bool hurried; /* owners_hurry() */
	bool direct;
	const struct owner **list; /* sorted */
	struct owner *copies;      /* in that order: the result of owners_update() */
	size_t list_room, copies_room;
	unsigned letters; /* letters assigned */
	struct past columns, other;
	bool complete;     /* the columns come from a complete model */
	uint64_t since_ns; /* the rule is in force since then; 0 = the start */
};

/* owners/owner.c: index in owners.held, also for OWNER_GENERATED; adds an owner if missing. */
uint32_t owner_held(struct owners *o, uint32_t module);

#endif
