/* SPDX-License-Identifier: MIT
 *
 * keys.h - what a frame is compared by: one number for code that counts as the same in all
 * sessions. Main thread only.
 */
#ifndef DIFF_KEYS_H
#define DIFF_KEYS_H

#include "base/map.h"
#include "diff/side.h"

struct place_keys {            /* of one place */
	uint32_t first, count; /* in numbers, outermost first */
	uint32_t outline;      /* the function that the others are inlined into */
	bool by_offset;
};

struct join_keys {
	const struct side *const *sides; /* borrowed */
	size_t count;
	bool one_run; /* all sessions are of one run */
	struct string_pool texts;
	struct map of_text; /* a text's address -> its number */
	uint32_t next;
	struct map builds;         /* a build-id's address -> in how many sessions */
	struct map bare;           /* a role's address: inlined frames do not count */
	struct map of_local;       /* local_key()'s address -> its place in locals + 1 */
	struct local_function {    /* of one unit, with its parameters */
		const char *plain; /* NULL = there are several */
		uint32_t in;       /* bits: the sides that name it so */
	} * locals;
	size_t local_count, local_room;
	struct place_keys **places; /* by side and place */
	uint32_t *numbers;
	size_t number_count, number_room;
	/* by number of an offset key: the place with the best names; side + 1, 0 = none */
	struct place_best {
		uint32_t side, place;
	} * best;
	size_t best_room;
};

struct join_keys *keys_new(const struct side *const *sides, size_t count);
void keys_free(struct join_keys *k);
/* The place whose names describe this one best: itself, or the same code of another session. */
const struct side_place *keys_best(const struct join_keys *k, uint32_t side, uint32_t place,
				   uint32_t *best_side);

#endif
