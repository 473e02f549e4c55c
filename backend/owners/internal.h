/* SPDX-License-Identifier: MIT
 *
 * internal.h - the owners' current and past amounts, for owners/owner.c and owners/list.c alone.
 * Main thread only.
 */
#ifndef OWNERS_INTERNAL_H
#define OWNERS_INTERNAL_H

#include "owners/names.h"
#include "owners/owner.h"
#include "model/series.h"

struct held {
	struct owner pub;
	struct owner next; /* its sums, while they are made anew */
	uint64_t series[SERIES_MAX + 1];
	uint64_t *other; /* as long: by the rule that is not in force; NULL = it never was. Owned */
};

/* What the columns of the series are. */
struct columns {
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
	uint32_t *of_node;  /* dense index -> held index + 1, UNASKED or FRESH */
	size_t node_room;
	uint32_t *fresh;
	size_t fresh_count, fresh_room;
	bool stale;    /* sums are being made anew: */
	uint32_t made; /* those of nodes before this are in held.next */
	/* nodes from here on may have an owner by another rule; NO_ID: none has */
	uint32_t assigned;
	bool sliced; /* somebody goes on with what is not whole */
	bool direct;
	void (*on_move)(void *arg, const uint32_t *indices, size_t count);
	void *move_arg;
	void (*on_rename)(void *arg, const uint32_t *locs, size_t count);
	void *rename_arg;
	const struct owner **list; /* sorted */
	struct owner *copies;      /* in that order: what owners_update() lends */
	size_t list_room, copies_room;
	unsigned letters; /* given out */
	struct columns columns, other;
	bool complete;     /* what the columns have is of a model that was complete */
	uint64_t since_ns; /* the rule is in force from then on; 0 = from the start */
};

/* owners/owner.c: index in owners.held, of OWNER_GENERATED, too; a new one where there is none. */
uint32_t owner_held(struct owners *o, uint32_t module);

#endif
