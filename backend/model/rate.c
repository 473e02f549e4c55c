/* SPDX-License-Identifier: MIT
 *
 * rate.c - how much is allocated per second: sums of the last second's differences.
 *
 * A tick's share is added when it comes and taken back a second later (model/tick.c does both, on
 * its walk). Ticks that are longer than a second (slow links) count in proportion. Nothing counts
 * as a rate before a link's first complete state: that is history.
 *
 * Most stacks of a large program rest: rates of slots lie in pages that are there once one of
 * theirs had one, and go when nothing was allocated for a second. What a batch holds is freed with
 * it: one late tick with a million changes must not be paid for in all the batches that come after
 * it.
 */
#include "model/internal.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull
#define PAGE 256u

bool rates_begin(const struct model *m, uint64_t now, size_t staged, struct rate_batch *b,
		 double *weight)
{
	uint64_t length = now - m->time_ns;

	if (!m->complete || m->resuming || !length || !staged)
		return false;
	uint64_t per_second = (SECOND + length / 2) / length;
	if (per_second < 1)
		per_second = 1;
	if (per_second > RATE_TICKS - 1)
		per_second = RATE_TICKS - 1;
	*weight = (double)SECOND / ((double)per_second * (double)length);
	uint64_t life = length > UINT64_MAX / RATE_TICKS ? 0 : per_second * length - length / 2;
	*b = (struct rate_batch){ .expire_ns = now > UINT64_MAX - life ? UINT64_MAX : now + life };
	return true;
}

bool rates_enter(struct rate_batch *b, uint32_t slot, double bytes, double blocks,
		 struct rate *rate)
{
	if (bytes >= 0x1p62 || blocks >= 0x1p32)
		return false;
	if (!b->blocks || b->blocks->count == RATE_ENTRIES) {
		struct rate_block *fresh = xmalloc(sizeof *fresh);
		fresh->next = b->blocks;
		fresh->count = 0;
		b->blocks = fresh;
	}
	*rate = (struct rate){ (uint64_t)bytes, (uint64_t)blocks };
	b->blocks->entries[b->blocks->count++] =
		(struct rate_entry){ rate->bytes, (uint32_t)rate->blocks, slot };
	b->count++;
	return true;
}

/* A full ring expires early: short ticks then have a shorter second. */
static bool is_due(const struct model *m, size_t i, uint64_t now)
{
	return rates_batch(m, i)->expire_ns <= now || m->batch_count - i >= RATE_TICKS;
}

const struct rate_batch *rates_batch(const struct model *m, size_t i)
{
	return &m->batches[(m->batch_first + i) % RATE_TICKS];
}

size_t rates_due(const struct model *m, uint64_t now, size_t *entries)
{
	size_t i = 0;

	for (*entries = 0; i < m->batch_count && is_due(m, i, now); i++)
		*entries += rates_batch(m, i)->count;
	return i;
}

void rates_push(struct model *m, struct rate_batch *b)
{
	m->batches[(m->batch_first + m->batch_count++) % RATE_TICKS] = *b;
	*b = (struct rate_batch){ 0 };
}

void rates_forget(struct rate_batch *b)
{
	while (b->blocks) {
		struct rate_block *next = b->blocks->next;
		free(b->blocks);
		b->blocks = next;
	}
	b->count = 0;
}

void rates_drop(struct model *m)
{
	rates_forget(&m->batches[m->batch_first]);
	m->batch_first = (m->batch_first + 1) % RATE_TICKS;
	m->batch_count--;
}

struct rate *rate_at(struct model *m, uint32_t slot)
{
	GROW(m->rates, m->rates_room, (size_t)slot / PAGE + 1);
	if (!m->rates[slot / PAGE])
		m->rates[slot / PAGE] = xcalloc(PAGE, sizeof **m->rates);
	return &m->rates[slot / PAGE][slot % PAGE];
}

struct rate rate_read(const struct model *m, uint32_t slot)
{
	size_t page = slot / PAGE;

	return page < m->rates_room && m->rates[page] ? m->rates[page][slot % PAGE]
						      : (struct rate){ 0, 0 };
}

static void forget_pages(struct model *m)
{
	for (size_t i = 0; i < m->rates_room; i++)
		free(m->rates[i]);
	free(m->rates);
	m->rates = NULL;
	m->rates_room = 0;
}

void rates_rest(struct model *m)
{
	if (!m->batch_count && m->rates)
		forget_pages(m);
}

void rates_clear(struct model *m)
{
	while (m->batch_count)
		rates_drop(m);
	m->batch_first = 0;
	forget_pages(m);
}

/* What the batches say of slots, added up. */
static void add_batches(const struct model *m, struct rate *(*at)(void *arg, uint32_t slot),
			void *arg)
{
	for (size_t i = 0; i < m->batch_count; i++)
		for (const struct rate_block *k = rates_batch(m, i)->blocks; k; k = k->next)
			for (uint32_t e = 0; e < k->count; e++)
				rate_add(at(arg, k->entries[e].slot),
					 &(struct rate){ k->entries[e].bytes,
							 k->entries[e].blocks });
}

static struct rate *in_page(void *m, uint32_t slot)
{
	return rate_at(m, slot);
}

void rates_sum_all(struct model *m)
{
	forget_pages(m);
	for (uint32_t i = 0; i < m->sum_count; i++)
		sum_at(m, i)->rate = (struct rate){ 0, 0 };
	add_batches(m, in_page, m);
	if (!m->rates)
		return;
	for (uint32_t i = 0; i < m->slot_count; i++) {
		struct rate r = rate_read(m, i);
		if (slot_at(m, i)->sum != NO_ID)
			rate_add(&sum_at(m, slot_at(m, i)->sum)->rate, &r);
	}
	for (uint32_t i = m->node_count; i-- > 0;) {
		const struct node *n = node_at(m, i);
		const struct sum *s = n->sum != NO_ID ? sum_at(m, n->sum) : NULL;
		if (s && s->up != NO_ID)
			rate_add(&sum_at(m, s->up)->rate, &s->rate);
	}
}

struct rate model_self_rate(const struct model *m, const struct node *n)
{
	struct rate rate = { 0, 0 };

	for (uint32_t i = n->first_slot; i != NO_ID; i = slot_at(m, i)->next_of_node) {
		const struct slot *s = slot_at(m, i);
		struct rate r = rate_read(m, i);
		rate_add(&rate, &r);
		if (m->job.folding && s->change)
			rate_add(&rate, &m->changes->list[s->change - 1].self_rate);
	}
	return rate;
}

static bool same_rate(const struct rate *a, const struct rate *b)
{
	return a->bytes == b->bytes && a->blocks == b->blocks;
}

static struct rate *in_array(void *rates, uint32_t slot)
{
	return &((struct rate *)rates)[slot];
}

bool rates_check(const struct model *m, struct err *err)
{
	struct rate *slots = xcalloc(m->slot_count, sizeof *slots),
		    *sums = xcalloc(m->node_count, sizeof *sums);
	bool ok = true;

	add_batches(m, in_array, slots);
	for (uint32_t i = 0; i < m->slot_count; i++)
		rate_add(&sums[slot_at(m, i)->node], &slots[i]);
	for (uint32_t i = m->node_count; ok && i-- > 0;) {
		const struct node *n = node_at(m, i);
		struct rate r = model_rate(m, n);
		if (!same_rate(&r, &sums[i]))
			ok = err_set(err, 125,
				     "model: node %u: the rate is not that of the last second",
				     n->id) == 0;
		if (i)
			rate_add(&sums[n->parent], &sums[i]);
	}
	free(slots);
	free(sums);
	return ok;
}
