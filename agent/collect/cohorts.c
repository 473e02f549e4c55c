/* SPDX-License-Identifier: MIT
 *
 * cohorts.c - see collect/cohorts.h.
 *
 * A table with open addressing finds a block's cohort. A chain for each slot lists its cohorts, so
 * the output is in the order of slots without sorting. Blocks come in the order of addresses, and
 * neighbours often share a cohort.
 */
#include "collect/cohorts.h"
#include "collect/memory.h"
#include "live/ticks.h"
#include "record/slots.h"

#define COHORTS_MAX (1u << 19)
#define PLACES_LEAST 4096u
#define HEAD_BYTES 64u   /* bound of what is before the cohorts */
#define COHORT_BYTES 34u /* of one */

struct cohort {
	uint64_t blocks, bytes;
	slot_id slot;
	uint32_t next; /* 1 + the next of its slot; 0 = none */
	uint32_t age_s;
	uint32_t thread;
};

struct cohorts {
	uint64_t time_ns;
	uint64_t left_blocks, left_bytes; /* in no cohort */
	uint32_t count, last; /* last: 1 + the one that a block was added to; 0 = none */
	uint32_t tick, age_s; /* of the last block */
	slot_id limit;        /* of_slot has so many */
	uint32_t *of_slot;    /* 1 + its newest */
	/* 1 + number; 0 = free: half of them, but where it is crowded one */
	uint32_t places, *place;
	bool crowded; /* there was no memory for more */
	struct cohort cohort[COHORTS_MAX];
};

struct cohorts *cohorts_new(void)
{
	struct cohorts *c = memory_map(sizeof(*c));

	if (!c)
		return NULL;
	c->time_ns = server_now();
	c->limit = mt_slots_count();
	c->of_slot = memory_map(c->limit * sizeof(*c->of_slot));
	c->places = PLACES_LEAST;
	c->place = memory_map(c->places * sizeof(*c->place));
	c->tick = UINT32_MAX;
	if (c->of_slot && c->place)
		return c;
	cohorts_free(c);
	return NULL;
}

void cohorts_free(struct cohorts *c)
{
	if (!c)
		return;
	memory_unmap(c->of_slot, c->limit * sizeof(*c->of_slot));
	memory_unmap(c->place, c->places * sizeof(*c->place));
	memory_unmap(c, sizeof(*c));
}

static uint32_t age_of(struct cohorts *c, uint32_t tick)
{
	if (tick == c->tick)
		return c->age_s;
	uint64_t born = mt_live_tick_ns(tick);
	uint64_t s = c->time_ns > born ? (c->time_ns - born) / SECOND : 0;
	c->tick = tick;
	return c->age_s = mtw_age_step(s < UINT32_MAX ? (uint32_t)s : UINT32_MAX);
}

static bool same(const struct cohort *x, slot_id slot, uint32_t thread, uint32_t age_s)
{
	return x->slot == slot && x->thread == thread && x->age_s == age_s;
}

static uint32_t hash(const struct cohorts *c, slot_id slot, uint32_t thread, uint32_t age_s)
{
	uint64_t h = (uint64_t)slot << 32 ^ (uint64_t)thread << 18 ^ age_s;

	return (uint32_t)(h * 0x9e3779b97f4a7c15u >> 40) & (c->places - 1);
}

/* Twice the places. False: no memory for them. */
static bool grow(struct cohorts *c)
{
	uint32_t *place = memory_map(2 * (size_t)c->places * sizeof(*place));

	if (!place)
		return false;
	memory_unmap(c->place, c->places * sizeof(*c->place));
	c->place = place;
	c->places *= 2;
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t at = hash(c, c->cohort[i].slot, c->cohort[i].thread, c->cohort[i].age_s);
		while (c->place[at])
			at = (at + 1) & (c->places - 1);
		c->place[at] = i + 1;
	}
	return true;
}

/* NULL: there is no room for another one. */
static struct cohort *find(struct cohorts *c, slot_id slot, uint32_t thread, uint32_t age_s)
{
	uint32_t at;

	if (c->last && same(&c->cohort[c->last - 1], slot, thread, age_s))
		return &c->cohort[c->last - 1];
	if (c->count >= c->places / 2 && c->count < COHORTS_MAX && !c->crowded)
		c->crowded = !grow(c);
	for (at = hash(c, slot, thread, age_s); c->place[at]; at = (at + 1) & (c->places - 1)) {
		struct cohort *x = &c->cohort[c->place[at] - 1];
		if (same(x, slot, thread, age_s)) {
			c->last = c->place[at];
			return x;
		}
	}
	if (c->count == COHORTS_MAX || slot >= c->limit ||
	    (c->crowded && c->count + 1 >= c->places))
		return NULL;
	c->cohort[c->count] = (struct cohort){
		.slot = slot, .thread = thread, .age_s = age_s, .next = c->of_slot[slot]
	};
	c->last = c->place[at] = c->of_slot[slot] = ++c->count;
	return &c->cohort[c->count - 1];
}

void cohorts_add(struct cohorts *c, slot_id slot, const struct block *b, uint64_t weight)
{
	struct cohort *x =
		find(c, slot, b->thread < MTW_THREADS_MAX ? b->thread : 0, age_of(c, b->tick));

	*(x ? &x->blocks : &c->left_blocks) += weight;
	*(x ? &x->bytes : &c->left_bytes) += weight * b->size;
}

/* The one that comes next; there is one. */
static const struct cohort *take(const struct cohorts *c, struct cohorts_at *at)
{
	while (!at->next)
		at->next = c->of_slot[++at->slot];
	const struct cohort *x = &c->cohort[at->next - 1];
	at->next = x->next;
	at->sent++;
	return x;
}

size_t cohorts_encode(const struct cohorts *c, struct cohorts_at *at, uint64_t request,
		      uint8_t *buf, size_t size)
{
	struct mtw_out o = { buf, buf + size, false };
	uint32_t most = (uint32_t)((size - HEAD_BYTES) / COHORT_BYTES), n = c->count - at->sent;
	slot_id before = 0;

	most = most < MTW_BATCH_MAX ? most : MTW_BATCH_MAX;
	at->whole = n <= most;
	n = n < most ? n : most;
	mtw_put(&o, request);
	mtw_put(&o, (at->sent ? 0 : MTW_PART_FIRST) | (at->whole ? MTW_PART_LAST : 0));
	mtw_put(&o, c->time_ns);
	mtw_put(&o, c->left_blocks);
	mtw_put(&o, c->left_bytes);
	mtw_put(&o, n);
	for (; n; n--) {
		const struct cohort *x = take(c, at);
		mtw_put(&o, x->slot - before);
		mtw_put(&o, x->thread);
		mtw_put(&o, x->age_s);
		mtw_put(&o, x->blocks);
		mtw_put(&o, x->bytes);
		before = x->slot;
	}
	return (size_t)(o.at - buf);
}
