/* SPDX-License-Identifier: MIT
 *
 * rate.c - allocation rates per second: sums of the last second's differences.
 *
 * A tick's share is added when it arrives and taken back a second later (model/tick.c does both in
 * its walk). Ticks longer than a second (slow links) count in proportion. Nothing before a link's
 * first complete state counts as a rate: that is history.
 *
 * Most stacks of a large program rest. So the rates of slots lie in pages, which exist from the
 * first rate in them until a second passes without an allocation. A batch's memory is freed with
 * it: one late tick with a million changes must not burden all later batches.
 */
#include "model/paths/rate.h"

#include <stdlib.h>

#define SECOND 1000000000ull
#define PAGE 256u

bool rates_begin(uint64_t before_ns, uint64_t now, size_t staged, struct rate_batch *b,
		 double *weight)
{
	uint64_t length = now - before_ns;

	if (!length || !staged)
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
	/* to the nearest: cut off, ten ticks of a few calls each would lose up to ten a second */
	bytes += 0.5;
	blocks += 0.5;
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
static bool is_due(const struct rate_book *r, size_t i, uint64_t now)
{
	return rates_batch(r, i)->expire_ns <= now || r->count - i >= RATE_TICKS;
}

const struct rate_batch *rates_batch(const struct rate_book *r, size_t i)
{
	return &r->batches[(r->first + i) % RATE_TICKS];
}

size_t rates_due(const struct rate_book *r, uint64_t now, size_t *entries)
{
	size_t i = 0;

	for (*entries = 0; i < r->count && is_due(r, i, now); i++)
		*entries += rates_batch(r, i)->count;
	return i;
}

void rates_push(struct rate_book *r, struct rate_batch *b)
{
	r->batches[(r->first + r->count++) % RATE_TICKS] = *b;
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

void rates_drop(struct rate_book *r)
{
	rates_forget(&r->batches[r->first]);
	r->first = (r->first + 1) % RATE_TICKS;
	r->count--;
}

struct rate *rate_at(struct rate_book *r, uint32_t slot)
{
	GROW(r->pages, r->room, (size_t)slot / PAGE + 1);
	if (!r->pages[slot / PAGE])
		r->pages[slot / PAGE] = xcalloc(PAGE, sizeof **r->pages);
	return &r->pages[slot / PAGE][slot % PAGE];
}

struct rate rate_read(const struct rate_book *r, uint32_t slot)
{
	size_t page = slot / PAGE;

	return page < r->room && r->pages[page] ? r->pages[page][slot % PAGE]
						: (struct rate){ 0, 0 };
}

size_t rates_entries(const struct rate_book *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += rates_batch(r, i)->count;
	return n;
}

size_t rates_room(const struct rate_book *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->room; i++)
		n += r->pages[i] ? PAGE : 0;
	return n;
}

size_t rates_next(const struct rate_book *r, size_t slot)
{
	while (slot < r->room * PAGE) {
		const struct rate *page = r->pages[slot / PAGE];
		if (!page)
			slot = (slot / PAGE + 1) * PAGE;
		else if (page[slot % PAGE].bytes | page[slot % PAGE].blocks)
			return slot;
		else
			slot++;
	}
	return SIZE_MAX;
}

static void forget_pages(struct rate_book *r)
{
	for (size_t i = 0; i < r->room; i++)
		free(r->pages[i]);
	free(r->pages);
	r->pages = NULL;
	r->room = 0;
}

void rates_rest(struct rate_book *r)
{
	if (!r->count && r->pages)
		forget_pages(r);
}

void rates_clear(struct rate_book *r)
{
	while (r->count)
		rates_drop(r);
	r->first = 0;
	forget_pages(r);
}

/* Adds up the batches' rates by slot. */
static void add_batches(const struct rate_book *r, struct rate *(*at)(void *arg, uint32_t slot),
			void *arg)
{
	for (size_t i = 0; i < r->count; i++)
		for (const struct rate_block *k = rates_batch(r, i)->blocks; k; k = k->next)
			for (uint32_t e = 0; e < k->count; e++)
				rate_add(at(arg, k->entries[e].slot),
					 &(struct rate){ k->entries[e].bytes,
							 k->entries[e].blocks });
}

static struct rate *in_page(void *r, uint32_t slot)
{
	return rate_at(r, slot);
}

struct rated { /* a walk over both */
	struct rate_book *rates;
	const struct trie *trie;
};

static void begin_sum(void *arg, uint32_t i)
{
	const struct rated *x = arg;

	sum_at(x->trie, i)->rate = (struct rate){ 0, 0 };
}

static void sum_slot(void *arg, uint32_t i)
{
	const struct rated *x = arg;
	struct rate own = rate_read(x->rates, i);

	if (slot_at(x->trie, i)->sum != NO_ID)
		rate_add(&sum_at(x->trie, slot_at(x->trie, i)->sum)->rate, &own);
}

static void sum_node(void *arg, uint32_t i)
{
	const struct rated *x = arg;
	const struct node *n = node_at(x->trie, i);
	const struct sum *s = n->sum != NO_ID ? sum_at(x->trie, n->sum) : NULL;

	if (s && s->up != NO_ID)
		rate_add(&sum_at(x->trie, s->up)->rate, &s->rate);
}

bool rates_sum_all(struct rate_book *r, const struct trie *t, struct parts *x, uint64_t end_ns)
{
	struct rated of = { r, t };

	if (!x->part && !x->done) {
		forget_pages(r);
		add_batches(r, in_page, r);
	}
	const struct part list[] = {
		{ begin_sum, t->sum_count, false },
		{ sum_slot, r->pages ? t->slot_count : 0, false },
		{ sum_node, r->pages ? t->node_count : 0, true },
	};
	return parts_go_on(x, list, sizeof list / sizeof *list, &of, end_ns);
}

static struct rate *in_array(void *rates, uint32_t slot)
{
	return &((struct rate *)rates)[slot];
}

void rates_add_up(const struct rate_book *r, struct rate *slots)
{
	add_batches(r, in_array, slots);
}
