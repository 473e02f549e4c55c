/* SPDX-License-Identifier: MIT
 *
 * model_rate.c - how much is allocated per second: sums of the last second's differences.
 *
 * A tick's share is added when it comes and taken back a second later (model_tick.c does both, on
 * its walk). Ticks that are longer than a second (slow links) count in proportion. Nothing counts as
 * a rate before a link's first complete state: that is history.
 *
 * Most nodes of a large program rest: rates lie in pages that are there once a node of theirs had one,
 * and go when nothing was allocated for a second. What a batch holds is freed with it: one late tick
 * with a million changes must not be paid for in all the batches that come after it.
 */
#include "model_priv.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull
#define PAGE 256u

bool rates_begin(const struct model *m, uint64_t now, size_t staged, struct rate_batch *b, double *weight)
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

bool rates_enter(struct rate_batch *b, uint32_t index, double bytes, double blocks, struct rate *rate)
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
	b->blocks->entries[b->blocks->count++] = (struct rate_entry){ rate->bytes, (uint32_t)rate->blocks, index };
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

struct rate *rate_at(struct model *m, uint32_t index)
{
	GROW(m->rates, m->rates_room, (size_t)index / PAGE + 1);
	if (!m->rates[index / PAGE])
		m->rates[index / PAGE] = xcalloc(PAGE, sizeof **m->rates);
	return &m->rates[index / PAGE][index % PAGE];
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

static void add_batches(const struct model *m, struct rate *(*at)(void *arg, uint32_t index), void *arg)
{
	for (size_t i = 0; i < m->batch_count; i++)
		for (const struct rate_block *k = m->batches[(m->batch_first + i) % RATE_TICKS].blocks; k; k = k->next)
			for (uint32_t e = 0; e < k->count; e++) {
				struct rate *r = at(arg, k->entries[e].index);
				r->bytes += k->entries[e].bytes;
				r->blocks += k->entries[e].blocks;
			}
}

static struct rate *in_page(void *m, uint32_t index)
{
	return rate_at(m, index);
}

void rates_sum_all(struct model *m)
{
	forget_pages(m);
	add_batches(m, in_page, m);
	for (uint32_t i = m->rates ? m->node_count : 0; i-- > 1;) {
		const struct node *n = node_at(m, i);
		struct rate r = model_rate(m, n);
		if (!(r.bytes | r.blocks))
			continue;
		struct rate *up = rate_at(m, n->parent);
		up->bytes += r.bytes;
		up->blocks += r.blocks;
	}
}

struct rate model_rate(const struct model *m, const struct node *n)
{
	const struct delta *d = unfolded(m, n);
	struct rate r = { 0, 0 };
	size_t page = n->index / PAGE;

	if (n->known && page < m->rates_room && m->rates[page])
		r = m->rates[page][n->index % PAGE];
	if (d) {
		r.bytes += d->rate.bytes;
		r.blocks += d->rate.blocks;
	}
	return r;
}

/* What is left of it below the children; a node that rests has none that do not. */
struct rate model_self_rate(const struct model *m, const struct node *n)
{
	struct rate r = model_rate(m, n);

	for (uint32_t i = n->first_child; i != NO_ID && (r.bytes | r.blocks);) {
		const struct node *child = node_at(m, i);
		struct rate c = model_rate(m, child);
		r.bytes -= c.bytes;
		r.blocks -= c.blocks;
		i = child->next_sibling;
	}
	return r;
}

static struct rate *in_array(void *rates, uint32_t index)
{
	return &((struct rate *)rates)[index];
}

bool rates_check(const struct model *m, struct err *err)
{
	struct rate *sums = xcalloc(m->node_count, sizeof *sums);
	bool ok = true;

	add_batches(m, in_array, sums);
	for (uint32_t i = m->node_count; ok && i-- > 0;) {
		const struct node *n = node_at(m, i);
		struct rate r = model_rate(m, n);
		if (r.bytes != sums[i].bytes || r.blocks != sums[i].blocks)
			ok = err_set(err, 125, "model: node %u: the rate is not that of the last second", n->id) == 0;
		if (!i)
			continue;
		struct rate *up = &sums[n->parent];
		up->bytes += sums[i].bytes;
		up->blocks += sums[i].blocks;
	}
	free(sums);
	return ok;
}
