/* SPDX-License-Identifier: MIT
 *
 * quality.c - see model/quality.h. The call tree shows where a cut stack ends: a node for the
 * missing rest is a child of the root, and each of its children is the last known frame of the
 * stacks below it. So counting by module visits these children, not the stacks.
 */
#include "model/quality.h"
#include "model/columns.h"

#include <math.h>
#include <stdlib.h>

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)(part < whole ? part : whole) / (double)whole : NAN;
}

/* Percentage of `all` without a miss. */
static double hits(uint64_t misses, uint64_t all)
{
	return share(misses < all ? all - misses : 0, all);
}

bool quality_busy(uint64_t cpu_ns, uint64_t time_ns)
{
	return (double)cpu_ns > QUALITY_BUSY * (double)time_ns;
}

struct cost quality_cost_of(uint64_t calls_ns, uint64_t error_ns, uint64_t server_ns,
			    uint64_t program_ns)
{
	double all = (double)(program_ns + server_ns), calls;
	struct cost c = { NAN, NAN, NAN, NAN };

	if (!(all > 0))
		return c;
	calls = (double)(calls_ns < program_ns ? calls_ns : program_ns); /* an estimate */
	c.calls = 100.0 * calls / all;
	c.server = 100.0 * (double)server_ns / all;
	c.both = c.calls + c.server;
	c.error = 100.0 * (double)error_ns / all;
	c.error = c.error < 100.0 ? c.error : 100.0;
	return c;
}

static void add_cost(const struct totals *t, struct quality *q)
{
	uint64_t cpu = t->target_cpu_ns, calls = t->hook_ns < cpu ? t->hook_ns : cpu;

	q->cost = (struct cost){ NAN, NAN, NAN, NAN };
	q->of_a_core = NAN;
	if (t->time_ns < QUALITY_COST_NS)
		return;
	q->of_a_core = 100.0 * (double)(calls + t->agent_cpu_ns) / (double)t->time_ns;
	if (quality_busy(cpu, t->time_ns))
		q->cost = quality_cost_of(calls, t->hook_error_ns, t->agent_cpu_ns, cpu);
}

void quality_of(const struct model *m, struct quality *q)
{
	const struct effort *e = model_effort(m);
	uint64_t blocks = heap_incl(model_heap(m), 0).alloc_blocks;

	q->cut_blocks = 0;
	for (unsigned i = 1; i <= MTW_TRUNC_COUNT; i++)
		q->cut_blocks += model_truncated(m, i);
	q->whole = hits(q->cut_blocks, blocks);
	q->pointer_blocks = model_by_pointer(m);
	q->by_pointer = share(q->pointer_blocks, blocks);
	/* Of samples the allocations are an estimate, the captures are not. */
	q->remembered = model_estimate(m) ? NAN : hits(e->captures, e->allocations);
	q->frames = e->captures ? (double)e->frames / (double)e->captures : NAN;
	q->pc_hits = hits(e->pc_misses, e->frames);
	q->edge_hits = hits(e->edge_misses, e->frames);
	add_cost(model_totals(m), q);
}

static int more_blocks(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	if (x->blocks != y->blocks)
		return x->blocks < y->blocks ? 1 : -1;
	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	return (x->module > y->module) - (x->module < y->module);
}

struct cuts {
	struct cut *list;
	size_t count, room;
};

static void add(struct cuts *c, uint64_t reason, uint32_t module, uint64_t blocks)
{
	if (!blocks)
		return;
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].reason == reason && c->list[i].module == module) {
			c->list[i].blocks += blocks;
			return;
		}
	GROW(c->list, c->room, c->count + 1);
	c->list[c->count++] =
		(struct cut){ .reason = (uint32_t)reason, .module = module, .blocks = blocks };
}

uint32_t quality_module(const struct location *at)
{
	return at->kind == MTW_NODE_NOWHERE ? CUT_GENERATED : at->module;
}

const char *quality_module_name(const struct model *m, uint32_t module)
{
	return module == CUT_GENERATED ? GENERATED_NAME
	       : module == NO_ID       ? NULL
				       : model_module(m, module)->name;
}

size_t quality_cuts(const struct model *m, struct cut **list)
{
	struct cuts c = { NULL, 0, 0 };
	const struct heap *h = model_heap(m);

	const struct skeleton *s = h->skeleton;

	GROW(c.list, c.room, 1);
	for (uint32_t n = 1; n < s->nodes; n = s->end[n]) {
		const struct location *cut = model_location(m, s->location[n]);
		if (cut->kind != MTW_NODE_TRUNCATED)
			continue;
		add(&c, cut->offset, NO_ID, heap_self(h, n).alloc_blocks);
		for (uint32_t last = n + 1; last < s->end[n]; last = s->end[last])
			add(&c, cut->offset, quality_module(model_location(m, s->location[last])),
			    heap_incl(h, last).alloc_blocks);
	}
	qsort(c.list, c.count, sizeof *c.list, more_blocks);
	*list = c.list;
	return c.count;
}

const char *quality_share(char buf[QUALITY_TEXT], double percent)
{
	if (isnan(percent))
		snprintf(buf, QUALITY_TEXT, "-");
	else if (percent >= 100)
		snprintf(buf, QUALITY_TEXT, "100");
	else
		snprintf(buf, QUALITY_TEXT, "%.1f", (double)(unsigned)(percent * 10) / 10);
	return buf;
}

const char *quality_within(char buf[QUALITY_TEXT], const struct cost *c)
{
	int n = snprintf(buf, QUALITY_TEXT, "%.1f", c->both);

	if (c->error > 0)
		snprintf(buf + n, QUALITY_TEXT - (size_t)n, " +- %.1f", c->error);
	return buf;
}
