/* SPDX-License-Identifier: MIT */
#include "processes/all_graph.h"

#include "processes/processes.h"

#include <stdlib.h>
#include <string.h>

static uint64_t less(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* Of several of one time the largest stays. */
static void add(struct all_graph *g, struct point p)
{
	struct all_point *last = g->count ? &g->points[g->count - 1] : NULL;

	if (last && last->member == g->members && last->p.time_ns >= p.time_ns) {
		p.time_ns = last->p.time_ns;
		if (p.live_bytes >= last->p.live_bytes)
			last->p = p;
		return;
	}
	GROW(g->points, g->room, g->count + 1);
	g->points[g->count++] = (struct all_point){ p, g->members };
}

/* Its graph, and what no point of that has: its peak, and its last word. free() the list. */
static struct point *points_of(const struct model *m, size_t *n)
{
	const struct totals *t = model_totals(m);
	const struct point *history;
	size_t count = model_history(m, &history), at = count;
	struct point *list = xcalloc(count + 2, sizeof *list);
	const struct point last = { .time_ns = t->time_ns,
				    .live_bytes = live_bytes(&t->sum),
				    .live_blocks = live_blocks(&t->sum),
				    .alloc_bytes = t->sum.alloc_bytes,
				    .alloc_blocks = t->sum.alloc_blocks };

	while (at && history[at - 1].time_ns > t->peak_time_ns)
		at--;
	if (at)
		memcpy(list, history, at * sizeof *list);
	list[at] = at ? history[at - 1] : (struct point){ 0 };
	list[at].time_ns = t->peak_time_ns;
	list[at].live_bytes = t->peak_bytes;
	if (at < count)
		memcpy(&list[at + 1], &history[at], (count - at) * sizeof *list);
	list[count + 1] = last;
	*n = t->time_ns ? count + 2 : 0;
	return list;
}

void all_graph_add(struct all_graph *g, const struct model *m, const struct process *p,
		   uint64_t clock_ns, uint64_t heir_ns)
{
	size_t n;
	struct point *list = points_of(m, &n);
	/* What it inherited, as it was at the fork: what was freed of it since is known now, and
	 * not for each point. So a sum is never more than there was. */
	struct point last = { 0 };

	for (size_t i = 0; i < n; i++) {
		last = list[i];
		last.time_ns += clock_ns;
		/* Its last word may be timed some milliseconds after memtop saw it end. */
		if (p->end_ns && last.time_ns >= p->end_ns)
			last.time_ns = p->end_ns - 1;
		if (last.time_ns < heir_ns) {
			last.live_bytes = less(last.live_bytes, p->inherited_bytes);
			last.live_blocks = less(last.live_blocks, p->inherited_blocks);
		}
		last.alloc_bytes = less(last.alloc_bytes, p->before_bytes);
		last.alloc_blocks = less(last.alloc_blocks, p->before_blocks);
		add(g, last);
	}
	if (n && p->end_ns) {
		last.time_ns = p->end_ns;
		last.live_bytes = last.live_blocks = 0;
		add(g, last);
	}
	g->members++;
	free(list);
}

void all_graph_add_end(struct all_graph *g, const struct process *p, uint64_t now_ns)
{
	uint64_t inherited = process_inherited(p), end = p->end_ns ? p->end_ns : now_ns;
	struct point at = { .time_ns = end ? end - 1 : 0,
			    .live_bytes = less(p->live_bytes, inherited),
			    .live_blocks = inherited ? 0 : p->live_blocks,
			    .alloc_bytes = process_allocated(p),
			    .alloc_blocks = process_allocated_blocks(p) };

	add(g, at);
	if (p->end_ns) {
		at.time_ns = end;
		at.live_bytes = at.live_blocks = 0;
		add(g, at);
	}
	g->members++;
}

void all_graph_copy(struct all_graph *to, const struct all_graph *from)
{
	*to = (struct all_graph){ .members = from->members };
	GROW(to->points, to->room, from->count + 1);
	memcpy(to->points, from->points, from->count * sizeof *to->points);
	to->count = from->count;
}

static int by_time(const void *a, const void *b)
{
	const struct all_point *x = a, *y = b;

	if (x->p.time_ns != y->p.time_ns)
		return x->p.time_ns < y->p.time_ns ? -1 : 1;
	return (x->member > y->member) - (x->member < y->member);
}

static void replace(struct point *sum, struct point *was, const struct point *is)
{
	sum->time_ns = is->time_ns;
	sum->live_bytes += is->live_bytes - was->live_bytes;
	sum->live_blocks += is->live_blocks - was->live_blocks;
	sum->alloc_bytes += is->alloc_bytes - was->alloc_bytes;
	sum->alloc_blocks += is->alloc_blocks - was->alloc_blocks;
	sum->free_blocks = less(sum->alloc_blocks, sum->live_blocks);
	*was = *is;
}

/* Of the sums of each span of time the largest stays, so the peak does. */
size_t all_graph_sum(struct all_graph *g, struct point *points, struct point *peak)
{
	struct point sum = { 0 }, *now = xcalloc(g->members + 1ul, sizeof *now);
	size_t n = 0;

	*peak = sum;
	if (g->count)
		qsort(g->points, g->count, sizeof *g->points, by_time);
	uint64_t span =
		g->count ? g->points[g->count - 1].p.time_ns / (ALL_GRAPH_POINTS - 1) + 1 : 1;
	for (size_t i = 0; i < g->count; i++) {
		const struct all_point *x = &g->points[i];
		replace(&sum, &now[x->member], &x->p);
		if (sum.live_bytes > peak->live_bytes)
			*peak = sum;
		if (!n || points[n - 1].time_ns / span != sum.time_ns / span)
			points[n++] = sum;
		else if (sum.live_bytes >= points[n - 1].live_bytes)
			points[n - 1] = sum;
	}
	free(now);
	return n;
}

void all_graph_release(struct all_graph *g)
{
	free(g->points);
}
