/* SPDX-License-Identifier: MIT
 *
 * presence.c - see diff/presence.h. The number of rows that come and go tells how many others
 * chance puts into one side alone: of n sessions, a row that each has with probability 1/2 is in
 * all of A and in none of B, or the other way round, 2 times in 2^n, and comes and goes within a
 * side 2^n - 4 times.
 */
#include "diff/presence.h"

#include "base/map.h"

#include <stdlib.h>

#define CHANCE 0.01 /* rows that chance may put into one side alone, all together */

struct group { /* of rows that may take each other's place */
	uint64_t most;
	size_t count; /* of rows that come and go */
};

struct presence {
	struct map of_key; /* -> group + 1 */
	struct group *groups;
	size_t count, room;
};

uint64_t presence_by_owner(const struct diff *d, uint32_t joined)
{
	const struct joined *e = &d->join->list[joined];

	return (uint64_t)(uintptr_t)d->sides[e->side]->stacks[e->stack].owner_key;
}

/* The largest amount of the sessions from..to; *some_lack: of one it is 0. */
static uint64_t most_of(const struct diff *d, const struct diff_row *r, size_t from, size_t to,
			bool *some_lack)
{
	uint64_t most = 0;

	*some_lack = false;
	for (size_t i = from; i < to; i++) {
		uint64_t n = diff_amount(&r->sums[i], d->value);
		most = n > most ? n : most;
		*some_lack |= !n;
	}
	return most;
}

static void add_row(struct presence *p, const struct diff *d, const struct diff_row *r,
		    presence_kind_fn kind)
{
	bool lack_a, lack_b;
	uint64_t a = most_of(d, r, 0, d->sides_a, &lack_a),
		 b = most_of(d, r, d->sides_a, d->sides_count, &lack_b), key = kind(d, r->stack);

	if (!(lack_a && a) && !(lack_b && b))
		return;
	uint32_t number = map_get(&p->of_key, key, 0);
	if (!number) {
		GROW(p->groups, p->room, p->count + 1);
		p->groups[p->count] = (struct group){ 0 };
		map_set(&p->of_key, key, number = (uint32_t)++p->count);
	}
	struct group *g = &p->groups[number - 1];
	g->count++;
	g->most = a > g->most ? a : g->most;
	g->most = b > g->most ? b : g->most;
}

static bool by_chance(const struct presence *p, const struct diff *d, const struct diff_row *r,
		      presence_kind_fn kind)
{
	bool lack;
	uint64_t a = most_of(d, r, 0, d->sides_a, &lack),
		 b = most_of(d, r, d->sides_a, d->sides_count, &lack);
	uint32_t number = map_get(&p->of_key, kind(d, r->stack), 0);
	double ways = 2;

	if (!number || (a && b))
		return false;
	for (size_t i = 1; i < d->sides_count; i++)
		ways *= 2;
	const struct group *g = &p->groups[number - 1];
	return (a > b ? a : b) <= g->most && (double)g->count * 2 / (ways - 4) >= CHANCE;
}

void presence_judge(const struct diff *d, struct diff_rows *rows, presence_kind_fn kind)
{
	struct presence p = { 0 };

	for (size_t i = 0; i < rows->count; i++)
		add_row(&p, d, &rows->list[i], kind);
	for (size_t i = 0; i < rows->count; i++)
		if (rows->list[i].moved && !rows->list[i].noise)
			rows->list[i].noise = by_chance(&p, d, &rows->list[i], kind);
	map_release(&p.of_key);
	free(p.groups);
}

uint64_t presence_most(const struct diff *d, const struct diff_row *site)
{
	uint64_t most = 0, n;
	bool lack;

	for (size_t i = 0; i < d->sites.count; i++) {
		const struct diff_row *r = &d->sites.list[i];
		if (presence_by_owner(d, r->stack) != presence_by_owner(d, site->stack))
			continue;
		n = most_of(d, r, 0, d->sides_a, &lack);
		most = lack && n > most ? n : most;
	}
	return most;
}
