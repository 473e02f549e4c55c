/* SPDX-License-Identifier: MIT
 *
 * judging.c - one process while it is judged: which of its stacks are suppressed, and which a limit
 * covers. Both are columns by stack of the snapshot; a function's stacks are ranges of it.
 */
#include "check/judging.h"

#include "check/pattern.h"
#include "report/frames.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 512

static uint32_t suppressed_as(struct check *c, const char *name)
{
	for (size_t i = 0; i < c->suppressed_count; i++)
		if (!strcmp(c->suppressed[i].name, name))
			return (uint32_t)i + 1;
	GROW(c->suppressed, c->suppressed_room, c->suppressed_count + 1);
	c->suppressed[c->suppressed_count] = (struct check_suppressed){ .name = xstrdup(name) };
	return (uint32_t)++c->suppressed_count;
}

/* By memtop's own rules, of a call site. */
static uint32_t expected_as(struct judging *j, uint32_t stack)
{
	const struct suppressions *s = j->check->options.suppressions;
	char key[EXPECTED_KEY_MAX];

	report_site_key(j->report, stack, key);
	if (!expected_has(watch_expected(j->watch), key))
		return 0;
	if (s)
		expected_mark_used(suppressions_own(s), key, j->check->used_own);
	return suppressed_as(j->check, key);
}

/* By other tools' rules, of all frames. */
static uint32_t matched_as(struct judging *j, uint32_t stack, struct frame_out *frames)
{
	const struct suppressions *s = j->check->options.suppressions;
	size_t n = report_stack_frames(j->report, stack, frames, FRAMES_MAX);
	size_t rule = suppressions_match(s, j->model, frames, n, j->check->used);

	return rule == SIZE_MAX ? 0 : suppressed_as(j->check, suppressions_name(s, rule));
}

/* The rules of a call site are asked once for all of its stacks. */
static void find_suppressed(struct judging *j)
{
	const struct report *r = j->report;
	const struct suppressions *s = j->check->options.suppressions;
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	uint32_t *of_site = xcalloc(r->names->first[r->names->locations] + 1ul, sizeof *of_site);
	const struct expected_rule *unused;
	bool own = expected_rules(watch_expected(j->watch), &unused) != 0;

	memset(of_site, 0xff, r->names->first[r->names->locations] * sizeof *of_site); /* NO_ID */
	j->suppressed = xcalloc(r->heap->sums->stacks + 1ul, sizeof *j->suppressed);
	for (size_t i = 0; i < r->stack_count; i++) {
		uint32_t k = r->order[i], site = own ? report_site(r, k) : NO_ID, rule = 0;

		if (site != NO_ID && of_site[site] == NO_ID)
			of_site[site] = expected_as(j, k);
		if (site != NO_ID)
			rule = of_site[site];
		if (s && suppressions_count(s)) {
			uint32_t other = matched_as(j, k, frames);

			rule = rule ? rule : other;
		}
		j->suppressed[k] = rule;
		if (!rule)
			continue;
		struct tally held = heap_of_stack(r->heap, k);
		j->check->suppressed[rule - 1].live_bytes += live_bytes(&held);
		j->check->suppressed[rule - 1].live_blocks += live_blocks(&held);
	}
	free(frames);
	free(of_site);
}

void judging_init(struct judging *j, struct check *c, struct watch *w, const struct process *p)
{
	*j = (struct judging){ .check = c, .watch = w, .line = p, .model = watch_model(w) };
	j->report = report_new(w);
	find_suppressed(j);
}

void judging_release(struct judging *j)
{
	for (size_t i = 0; j->peaks && i < j->check->options.limit_count; i++)
		free(j->peaks[i].covered);
	free(j->peaks);
	report_free(j->report);
	free(j->suppressed);
}

const char *judging_name(const struct judging *j)
{
	const struct program *g = model_program(j->model);

	return j->line ? j->line->name : g && *g->name ? g->name : "?";
}

/* By function of the report's names. */
static bool *named_functions(const struct heap_names *n, const struct limit *l)
{
	bool *named = xcalloc(n->functions + 1ul, sizeof *named);

	for (uint32_t i = 0; i < n->functions; i++) {
		const struct heap_function *f = &n->function[i];

		named[i] = (f->function && pattern_matches(l->pattern, f->function, false)) ||
			   (f->name && pattern_matches(l->pattern, f->name, false));
	}
	return named;
}

static bool is_at(const struct heap_names *n, uint32_t location, const bool *named)
{
	for (uint32_t i = n->first[location]; i < n->first[location + 1]; i++)
		if (named[n->frames[i].function])
			return true;
	return false;
}

/* All stacks at and below the topmost nodes of the function are one range each. */
static bool cover_function(struct judging *j, const struct limit *l, bool *covered)
{
	const struct skeleton *s = j->report->heap->skeleton;
	const struct heap_names *names = j->report->names;
	bool *named = named_functions(names, l), any = false;

	for (uint32_t n = 1; n < s->nodes;) {
		if (!is_at(names, s->location[n], named)) {
			n++;
			continue;
		}
		any = true;
		for (uint32_t k = skeleton_first(s, n); k < skeleton_last(s, n); k++)
			covered[k] = true;
		n = s->end[n];
	}
	free(named);
	return any;
}

/* A library that allocated nothing has the name, too. */
static bool is_loaded(const struct judging *j, const struct limit *l)
{
	for (uint32_t id = 0; id < model_module_count(j->model); id++) {
		const struct module *k = model_module(j->model, id);
		if (k && k->known && pattern_matches(l->pattern, k->name, false))
			return true;
	}
	return false;
}

static bool cover_library(struct judging *j, const struct limit *l, bool *covered)
{
	bool any = is_loaded(j, l);

	for (size_t i = 0; i < j->report->stack_count; i++) {
		uint32_t k = j->report->order[i];

		any |= covered[k] =
			pattern_matches(l->pattern, report_owner(j->report, k)->name, false);
	}
	return any;
}

bool *judging_covers(struct judging *j, const struct limit *l)
{
	uint32_t n = j->report->heap->sums->stacks;
	bool *covered = xcalloc((size_t)n + 1, sizeof *covered), any = true;

	if (l->covers == COVERS_FUNCTION)
		any = cover_function(j, l, covered);
	else if (l->covers == COVERS_LIBRARY)
		any = cover_library(j, l, covered);
	else
		memset(covered, 1, n);
	j->check->named[l - j->check->options.limits] |= any;
	for (uint32_t i = 0; i < n; i++)
		if (j->suppressed[i])
			covered[i] = false;
	return covered;
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

void judging_copy(const struct judging *j, uint32_t stack, struct check_stack *to)
{
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	size_t n = report_stack_frames(j->report, stack, frames, FRAMES_MAX);

	to->owner = xstrdup(report_owner(j->report, stack)->name);
	to->estimate = bit_of(j->report->heap->sums->estimate_bits, stack);
	to->frames = xcalloc(n + 1, sizeof *to->frames);
	for (size_t i = 0; i < n; i++) {
		const struct frame_out *f = &frames[i];

		if (!f->has_offset && !f->address && !f->module)
			continue; /* stands for frames that are not known */
		to->frames[to->count++] = (struct check_frame){
			.function = copy(f->function),
			.module = copy(f->module),
			.file = copy(f->file),
			.address = f->has_offset ? f->offset : f->address,
			.line = f->line,
			.inlined = f->inlined,
			.site = f->site,
		};
	}
	free(frames);
}
