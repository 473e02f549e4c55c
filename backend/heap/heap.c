/* SPDX-License-Identifier: MIT
 *
 * heap.c - makes a snapshot: one pass over the slots for the sums, one more with a base.
 */
#include "heap/heap.h"
#include "heap/sites.h"

#include <stdlib.h>
#include <string.h>

/* Its sums are not made yet. estimates NULL: there are none yet. */
static struct sums *new_room(uint32_t stacks, uint64_t *estimates)
{
	struct sums *s = xcalloc(1, sizeof *s);

	atomic_init(&s->users, 1);
	s->stacks = stacks;
	s->estimate_bits = estimates ? estimates : xcalloc(stacks / 64 + 1ul, sizeof(uint64_t));
	s->estimates_before = xmalloc((stacks / 64 + 1ul) * sizeof(uint32_t));
	return s;
}

static void count_estimates(struct sums *s)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i <= s->stacks / 64; i++) {
		s->estimates_before[i] = before;
		before += (uint32_t)__builtin_popcountll(s->estimate_bits[i]);
	}
}

static struct sums *new_sums(const struct columns *c)
{
	struct sums *s = new_room(c->skeleton->stacks, NULL);
	struct running_pen pen;

	running_begin(&pen, &s->sum, s->stacks);
	for (uint32_t k = 0; k < s->stacks; k++) {
		uint64_t own[4] = { 0 };
		for (uint32_t i = c->first[k]; i < c->first[k + 1]; i++) {
			narrow_add(own, &c->now[i], &c->now_wide);
			if (bit_of(c->weighed_bits, i))
				s->estimate_bits[k / 64] |= 1ull << k % 64;
		}
		running_put(&pen, (struct quad){ { own[0], own[1], own[2], own[3] } });
	}
	running_end(&pen);
	count_estimates(s);
	return s;
}

static void add_change(struct change *sum, struct live was, struct live is)
{
	sum->born_blocks += is.blocks > was.blocks ? is.blocks - was.blocks : 0;
	sum->born_bytes += is.bytes > was.bytes ? is.bytes - was.bytes : 0;
	sum->gone_blocks += was.blocks > is.blocks ? was.blocks - is.blocks : 0;
	sum->gone_bytes += was.bytes > is.bytes ? was.bytes - is.bytes : 0;
}

static struct changes *new_changes(const struct columns *c, const struct base *base)
{
	uint32_t stacks = c->skeleton->stacks;
	struct changes *s = xcalloc(1, sizeof *s);
	struct running_pen pen;

	atomic_init(&s->users, 1);
	running_begin(&pen, &s->sum, stacks);
	s->held_bits = xcalloc(stacks / 64 + 1ul, sizeof(uint64_t));
	for (uint32_t k = 0; k < stacks; k++) {
		struct change own = { 0 };
		for (uint32_t i = c->first[k]; i < c->first[k + 1]; i++) {
			struct tally all = columns_at(c, i);
			struct live now = { live_blocks(&all), live_bytes(&all) };
			struct live was =
				base->from.list ? live_list_at(&base->from, i) : (struct live){ 0 };

			add_change(&own, was,
				   base->until.list ? live_list_at(&base->until, i) : now);
			if (was.blocks | was.bytes)
				s->held_bits[k / 64] |= 1ull << k % 64;
		}
		running_put(&pen, quad_of_change(&own));
	}
	running_end(&pen);
	return s;
}

static struct heap_rates *new_rates(const struct columns *c)
{
	uint32_t stacks = c->skeleton->stacks, k = 0;

	if (!c->rated || !c->rate)
		return NULL;
	struct rates_pen pen;
	heap_rates_begin(&pen, stacks, c->rated < stacks ? c->rated : stacks);
	for (uint32_t i = 0; i <= c->slots->count / 64; i++)
		for (uint64_t left = c->rated_bits[i]; left; left &= left - 1) {
			uint32_t at = i * 64 + (uint32_t)__builtin_ctzll(left);

			while (c->first[k + 1] <= at)
				k++;
			struct rate own = rate_of_quad(narrow_get(&c->rate[at], &c->rate_wide));
			heap_rates_put(&pen, k, &own);
		}
	return heap_rates_end(&pen);
}

struct heap *heap_new(const struct columns *c, const struct base *base)
{
	struct heap *h = xcalloc(1, sizeof *h);

	atomic_init(&h->users, 1);
	h->skeleton = skeleton_hold(c->skeleton);
	h->slots = slots_hold(c->slots);
	h->sums = new_sums(c);
	h->changes = base ? new_changes(c, base) : NULL;
	h->rates = new_rates(c);
	return h;
}

struct heap *heap_of(struct skeleton *s, const struct tally *own, uint64_t *estimates)
{
	struct heap *h = xcalloc(1, sizeof *h);
	struct running_pen pen;

	atomic_init(&h->users, 1);
	h->skeleton = skeleton_hold(s);
	h->sums = new_room(s->stacks, estimates);
	running_begin(&pen, &h->sums->sum, s->stacks);
	for (uint32_t k = 0; k < s->stacks; k++)
		running_put(&pen, quad_of_tally(&own[k]));
	running_end(&pen);
	count_estimates(h->sums);
	return h;
}

struct heap *heap_hold(struct heap *h)
{
	users_hold(&h->users);
	return h;
}

void heap_drop(struct heap *h)
{
	if (!h || !users_drop(&h->users))
		return;
	skeleton_drop(h->skeleton);
	slots_drop(h->slots);
	if (users_drop(&h->sums->users)) {
		running_release(&h->sums->sum);
		free(h->sums->estimate_bits);
		free(h->sums->estimates_before);
		free(h->sums);
	}
	if (h->changes && users_drop(&h->changes->users)) {
		running_release(&h->changes->sum);
		free(h->changes->held_bits);
		free(h->changes);
	}
	heap_rates_drop(h->rates);
	heap_names_drop(h->names);
	heap_sites_drop(h->sites);
	heap_owners_drop(h->owners);
	free(h->of_site);
	free(h->of_owner);
	free(h);
}

static bool is_stack(const struct heap *h, uint32_t node)
{
	return bit_of(h->skeleton->stack_bits, node);
}

struct tally heap_incl(const struct heap *h, uint32_t node)
{
	return heap_of_stacks(h, skeleton_first(h->skeleton, node),
			      skeleton_last(h->skeleton, node));
}

struct tally heap_self(const struct heap *h, uint32_t node)
{
	return is_stack(h, node) ? heap_of_stack(h, skeleton_first(h->skeleton, node))
				 : (struct tally){ 0 };
}

/* Of the stacks before k. */
static uint32_t estimates_before(const struct sums *s, uint32_t k)
{
	uint64_t below = s->estimate_bits[k / 64] & ((1ull << k % 64) - 1);

	return s->estimates_before[k / 64] + (uint32_t)__builtin_popcountll(below);
}

/* Of a range of stacks. */
static struct change change_between(const struct heap *h, uint32_t first, uint32_t end)
{
	if (h->changes)
		return change_of_quad(running_between(&h->changes->sum, first, end));
	struct tally t = heap_of_stacks(h, first, end);
	return heap_born(&t);
}

struct change heap_change_of_stack(const struct heap *h, uint32_t stack)
{
	return change_between(h, stack, stack + 1);
}

bool heap_held_at_base(const struct heap *h, uint32_t node)
{
	return h->changes && is_stack(h, node) &&
	       bit_of(h->changes->held_bits, skeleton_first(h->skeleton, node));
}

/* Of a range of stacks. */
static struct rate rate_between(const struct heap *h, uint32_t first, uint32_t end)
{
	return h->rates ? heap_rates_between(h->rates, first, end) : (struct rate){ 0 };
}

static struct amounts amounts_between(const struct heap *h, uint32_t first, uint32_t end)
{
	return (struct amounts){
		.sum = heap_of_stacks(h, first, end),
		.change = change_between(h, first, end),
		.rate = rate_between(h, first, end),
		.sampled = estimates_before(h->sums, end) - estimates_before(h->sums, first),
	};
}

struct amounts heap_amounts(const struct heap *h, uint32_t node)
{
	return amounts_between(h, skeleton_first(h->skeleton, node),
			       skeleton_last(h->skeleton, node));
}

struct amounts heap_amounts_of_stack(const struct heap *h, uint32_t stack)
{
	return amounts_between(h, stack, stack + 1);
}

struct amounts heap_self_amounts(const struct heap *h, uint32_t node)
{
	return is_stack(h, node) ? heap_amounts_of_stack(h, skeleton_first(h->skeleton, node))
				 : (struct amounts){ 0 };
}
