/* SPDX-License-Identifier: MIT */
#include "link/budget.h"

#include "model/quality.h"

#define WINDOW_NS (2000ull * 1000 * 1000)
#define SAVES 0.8 /* the saving that a change must bring to justify the next one */
#define FIRST_SAMPLE (64ull << 10)
#define LAST_SAMPLE (16ull << 20)

static void begin(struct budget *b, const struct totals *t, size_t filters)
{
	b->begun = true;
	b->since_ns = t->time_ns;
	b->hook_ns = t->hook_ns;
	b->server_ns = t->agent_cpu_ns;
	b->cpu_ns = t->target_cpu_ns;
	b->filters = filters;
}

static uint64_t next_sample(const struct model *m)
{
	const struct recorded *now = model_filter(m);

	if (!now || !now->sample)
		return FIRST_SAMPLE;
	return now->sample * 4 <= LAST_SAMPLE ? now->sample * 4 : 0;
}

static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/* What the calls of the window may be wrong by, in the same proportion as all of them. */
static uint64_t window_error(const struct totals *t, const struct budget *b)
{
	double part = t->hook_ns ? (double)t->hook_error_ns / (double)t->hook_ns : 0;

	return (uint64_t)(part * (double)since(t->hook_ns, b->hook_ns));
}

bool budget_exceeded(struct budget *b, const struct model *m, double *cost, uint64_t *sample)
{
	const struct totals *t = model_totals(m);
	const struct recorded *list;
	size_t filters = model_filters(m, &list);

	if (!(b->percent > 0) || !t->time_ns)
		return false;
	if (!b->begun || filters != b->filters || t->time_ns < b->since_ns ||
	    t->target_cpu_ns < b->cpu_ns) {
		begin(b, t, filters);
		return false;
	}
	uint64_t window = t->time_ns - b->since_ns, cpu = t->target_cpu_ns - b->cpu_ns;
	if (window < WINDOW_NS)
		return false;
	struct cost c = quality_cost_of(since(t->hook_ns, b->hook_ns), window_error(t, b),
					since(t->agent_cpu_ns, b->server_ns), cpu);
	begin(b, t, filters);
	*cost = c.both;
	if (!quality_busy(cpu, window) || !(c.both - c.error > b->percent))
		return false;
	*sample = b->last_cost > 0 && *cost > SAVES * b->last_cost ? 0 : next_sample(m);
	b->last_cost = *cost;
	return true;
}
