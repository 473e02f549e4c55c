/* SPDX-License-Identifier: MIT
 *
 * agent.c - the agent in a JSON report: its losses, its cost, the quality of its stacks.
 */
#include "report/json/json.h"

#include "report/coverage.h"
#include "report/json/values.h"

/* Time in hooks is estimated from samples; the rest are the kernel's clocks. */
static json_t *cpu(const struct totals *t, const struct quality *q)
{
	json_t *o = json_object();

	set(o, "hooks_s", seconds(t->hook_ns));
	set(o, "hooks_estimate", json_true());
	set(o, "hooks_error_s", seconds(t->hook_error_ns));
	set(o, "server_s", seconds(t->agent_cpu_ns));
	set(o, "program_s", seconds(t->target_cpu_ns));
	set(o, "percent_of_program", percent(q->cost.both));
	set(o, "percent_error", percent(q->cost.error));
	set(o, "percent_of_core", percent(q->of_a_core));
	return o;
}

static json_t *memory(const struct model *m)
{
	const struct memory_part *parts;
	size_t n = model_memory(m, &parts);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *o = json_object();

		set(o, "part", report_json_text(parts[i].name));
		set(o, "bytes", number(parts[i].bytes));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *notices(const struct model *m)
{
	const char *const *sentences;
	json_t *list = json_array();

	for (size_t i = 0, n = model_notices(m, &sentences); i < n; i++)
		json_array_append_new(list, report_json_text(sentences[i]));
	return list;
}

/* How the stacks were captured, and where they were cut. */
static json_t *stack_effort(const struct report *r, const struct quality *q)
{
	const struct effort *e = model_effort(r->model);
	json_t *o = json_object(), *cuts = json_array();

	set(o, "allocations", number(e->allocations));
	set(o, "remembered",
	    number(e->allocations > e->captures ? e->allocations - e->captures : 0));
	set(o, "captures", number(e->captures));
	set(o, "captures_from_nothing", number(e->whole));
	set(o, "frames_walked", number(e->frames));
	set(o, "pc_misses", number(e->pc_misses));
	set(o, "edge_misses", number(e->edge_misses));
	set(o, "whole_percent", percent(q->whole));
	set(o, "by_fp_percent", percent(q->by_pointer));
	set(o, "remembered_percent", percent(q->remembered));
	set(o, "frames_per_capture", percent(q->frames));
	set(o, "pc_hit_percent", percent(q->pc_hits));
	set(o, "edge_hit_percent", percent(q->edge_hits));
	for (size_t i = 0; i < r->cut_count; i++) {
		const struct cut *c = &r->cuts[i];
		json_t *cut = json_object();

		set(cut, "reason", report_json_text(report_truncation(c->reason)));
		set(cut, "module", report_json_text(quality_module_name(r->model, c->module)));
		set(cut, "stacks", number(c->stacks));
		set(cut, "blocks", number(c->blocks));
		json_array_append_new(cuts, cut);
	}
	set(o, "truncated", cuts);
	return o;
}

json_t *report_json_agent(const struct report *r)
{
	const struct model *m = r->model;
	json_t *o = json_object(), *lost = json_object(), *reasons = json_array();
	uint64_t bytes, events = report_lost(m, &bytes);
	struct quality q;

	quality_of(m, &q);
	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		uint64_t e, b;

		model_loss(m, i, &e, &b);
		if (e && report_loses(i))
			json_array_append_new(reasons, report_json_text(report_loss(i)));
	}
	set(lost, "events", number(events));
	set(lost, "bytes", number(bytes));
	set(lost, "reasons", reasons);
	set(o, "version", report_json_text(model_program(m)->agent_version));
	set(o, "attached", json_boolean(coverage_late(m)));
	coverage_before(m, &events, &bytes);
	json_t *before = json_object();
	set(before, "freed_blocks", number(events));
	set(before, "freed_bytes", number(bytes));
	set(o, "before_attach", before);
	set(o, "unwind", report_json_text(model_option(m, "unwind")));
	set(o, "unwind_why", report_json_text(model_option(m, "unwind_why")));
	set(o, "min_size", number(model_filter(m) ? model_filter(m)->min_size : 0));
	set(o, "overhead_percent", percent(q.cost.both));
	set(o, "cpu", cpu(model_totals(m), &q));
	set(o, "memory_bytes", number(model_totals(m)->agent_memory_bytes));
	set(o, "memory_limit_bytes", number(model_totals(m)->agent_limit_bytes));
	set(o, "memory", memory(m));
	set(o, "truncated_stacks", number(r->truncated_stacks));
	set(o, "stacks", stack_effort(r, &q));
	set(o, "lost", lost);
	set(o, "notices", notices(m));
	return o;
}
