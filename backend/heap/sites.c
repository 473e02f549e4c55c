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

void heap_sites_sum(const struct heap_sites *s, const struct heap *h, struct heap_site *sums)
{
	struct amounts *amounts = xcalloc(s->count + 1ul, sizeof *amounts);
	uint64_t *most = xcalloc(s->count + 1ul, sizeof *most); /* live, of the heaviest so far */
	struct running_reader all = { .of = &h->sums->sum };

	heap_sum_by(h, s->of_stack, amounts);
	memset(sums, 0, s->count * sizeof *sums);
	for (uint32_t i = 0; i < s->count; i++)
		sums[i].amounts = amounts[i];
	for (uint32_t k = 0; k < h->sums->stacks; k++) {
		struct tally t = tally_of_quad(running_next(&all));
		uint32_t i = s->of_stack[k];
		struct heap_site *x = &sums[i];
		uint64_t live = live_bytes(&t);

		if (!t.alloc_blocks)
			continue;
		if (!x->stacks++ || is_heavier(h->skeleton, live, k, most[i], x->heaviest)) {
			x->heaviest = k;
			most[i] = live;
		}
	}
	free(amounts);
	free(most);
}
