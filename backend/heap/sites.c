/* SPDX-License-Identifier: MIT
 *
 * sites.c - the call site of every stack, in one walk down the tree: a node has the site of the
 * nearest location at or above it that is more than a wrapper.
 */
#include "heap/sites.h"
#include "heap/room.h"

#include <stdlib.h>
#include <string.h>

uint32_t heap_site_above(const struct skeleton *s, const struct heap_names *n, uint32_t leaf,
			 uint32_t *frame)
{
	for (uint32_t node = leaf; node; node = s->parent[node]) {
		*frame = n->site_frame[s->location[node]];
		if (*frame != NO_ID)
			return node;
	}
	*frame = leaf ? n->first[s->location[leaf]] : NO_ID;
	return leaf;
}

uint32_t heap_site_node(const struct skeleton *s, const struct heap_names *n, uint32_t stack,
			uint32_t *frame)
{
	return heap_site_above(s, n, s->node_of_stack[stack], frame);
}

/* What a walk up from a stack does at a location. */
enum { GOES_ON, ENDS, NEEDS };

static uint8_t *steps_of(const struct heap_names *n)
{
	uint8_t *step = xmalloc(n->locations + 1ul);

	for (uint32_t l = 0; l < n->locations; l++)
		step[l] = !n->place[l].asked ? NEEDS : n->site_frame[l] != NO_ID ? ENDS : GOES_ON;
	return step;
}

bool heap_sites_need(const struct skeleton *s, const struct heap_names *n, uint64_t *locations)
{
	uint8_t *step = steps_of(n);
	bool any = false;

	for (uint32_t k = 0; k < s->stacks; k++)
		for (uint32_t node = s->node_of_stack[k]; node; node = s->parent[node]) {
			uint32_t l = s->location[node];

			if (step[l] == NEEDS)
				locations[l / 64] |= 1ull << l % 64;
			any = any || step[l] == NEEDS;
			if (step[l] != GOES_ON)
				break;
		}
	free(step);
	return any;
}

/* The function of each location's site; NO_ID = it has nothing but wrappers. */
static uint32_t *functions_of_locations(const struct heap_names *n)
{
	uint32_t *of = xmalloc((n->locations + 1ul) * sizeof *of);

	for (uint32_t l = 0; l < n->locations; l++)
		of[l] = n->site_frame[l] == NO_ID ? NO_ID : n->frames[n->site_frame[l]].function;
	return of;
}

/* The function of each node's site; NO_ID = there are only wrappers up to the root. There are many
 * more nodes than locations. */
static uint32_t *functions_of_nodes(const struct skeleton *s, const struct heap_names *n)
{
	uint32_t *of = room_large(s->nodes, sizeof *of), *location = functions_of_locations(n);

	of[0] = NO_ID;
	for (uint32_t i = 1; i < s->nodes; i++) {
		uint32_t function = location[s->location[i]];

		of[i] = function == NO_ID ? of[s->parent[i]] : function;
	}
	free(location);
	return of;
}

/* The root's site is of no function: blocks without any frame. */
struct heap_sites *heap_sites_new(struct skeleton *s, struct heap_names *n)
{
	struct heap_sites *x = xcalloc(1, sizeof *x);
	uint32_t *of_node = functions_of_nodes(s, n);
	uint32_t *number =
		xcalloc(n->functions + 1ul, sizeof *number); /* + 1; of no function: the last */

	atomic_init(&x->users, 1);
	x->skeleton = skeleton_hold(s);
	x->names = heap_names_hold(n);
	x->of_stack = room_large(s->stacks + 1ul, sizeof *x->of_stack);
	x->function = xmalloc((n->functions + 1ul) * sizeof *x->function);
	for (uint32_t k = 0; k < s->stacks; k++) {
		uint32_t leaf = s->node_of_stack[k], fn = of_node[leaf];

		if (fn == NO_ID && leaf)
			fn = n->frames[n->first[s->location[leaf]]].function;
		uint32_t *is = &number[fn == NO_ID ? n->functions : fn];
		if (!*is) {
			x->function[x->count++] = fn;
			*is = x->count;
		}
		x->of_stack[k] = *is - 1;
	}
	free(of_node);
	free(number);
	return x;
}

/* Equal ones: the one that the agent named first. */
static bool is_heavier(const struct skeleton *s, uint64_t live, uint32_t stack, uint64_t than,
		       uint32_t other)
{
	if (live != than)
		return live > than;
	return s->id[s->node_of_stack[stack]] < s->id[s->node_of_stack[other]];
}

struct summing {
	const struct heap *h;
	const uint32_t *number;
	struct heap_site *sums;
	uint64_t *most; /* live, of the heaviest so far */
};

static void sum_rate(void *arg, uint32_t stack, const struct rate *rate)
{
	const struct summing *x = arg;

	rate_add(&x->sums[x->number[stack]].amounts.rate, rate);
}

static void take_stack(const struct summing *x, uint32_t stack, const struct tally *t)
{
	uint32_t number = x->number[stack];
	struct heap_site *to = &x->sums[number];
	uint64_t live = live_bytes(t), most = x->most[number];

	if (!t->alloc_blocks)
		return;
	if (!to->stacks++ || is_heavier(x->h->skeleton, live, stack, most, to->heaviest)) {
		to->heaviest = stack;
		x->most[number] = live;
	}
}

static void sum_changes(const struct summing *x, uint32_t count)
{
	struct running_reader moved = { .of = x->h->changes ? &x->h->changes->sum : NULL };

	for (uint32_t k = 0; moved.of && k < x->h->sums->stacks; k++) {
		struct change c = change_of_quad(running_next(&moved));
		change_add(&x->sums[x->number[k]].amounts.change, &c);
	}
	for (uint32_t i = 0; !moved.of && i < count; i++)
		x->sums[i].amounts.change = heap_born(&x->sums[i].amounts.sum);
}

void heap_sum_by(const struct heap *h, const uint32_t *number, uint32_t count,
		 struct heap_site *sums)
{
	struct summing x = { h, number, sums, xcalloc(count + 1ul, sizeof *x.most) };
	struct running_reader all = { .of = &h->sums->sum };

	memset(sums, 0, count * sizeof *sums);
	for (uint32_t k = 0; k < h->sums->stacks; k++) {
		struct amounts *a = &sums[number[k]].amounts;
		struct tally t = tally_of_quad(running_next(&all));

		tally_add(&a->sum, &t);
		a->sampled += bit_of(h->sums->estimate_bits, k);
		take_stack(&x, k, &t);
	}
	sum_changes(&x, count);
	if (h->rates)
		heap_rates_each(h->rates, sum_rate, &x);
	free(x.most);
}
