/* SPDX-License-Identifier: MIT
 *
 * stack_keys.h - what a frame is compared by: one number for code that counts as the same in all
 * sessions. Main thread only.
 */
#ifndef DIFF_STACK_KEYS_H
#define DIFF_STACK_KEYS_H

#include "base/map.h"
#include "diff/side.h"
#include "heap/union.h"

struct side_keys {         /* of one side, by location */
	uint32_t *first;   /* and one more: in numbers, outermost first; at least one each */
	uint32_t *outline; /* the function that the others are inlined into */
	bool *by_offset;
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
	struct side_keys *sides_keys;
	uint32_t *numbers;
	size_t number_count, number_room;
	/* by number of an offset key: the location with the best names; side + 1, 0 = none */
	struct location_best {
		uint32_t side, location;
	} * best;
	size_t best_room;
};

struct join_keys *stack_keys_new(const struct side *const *sides, size_t count);
void stack_keys_free(struct join_keys *k);
/* The location whose names describe this one best: itself, or the same code of another session. */
uint32_t stack_keys_best(const struct join_keys *k, uint32_t side, uint32_t location,
			 uint32_t *best_side);

#endif
