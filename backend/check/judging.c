/* SPDX-License-Identifier: MIT
 *
 * judging.c - one process while it is judged: its stacks, and which of them a limit covers.
 *
 * Names are compared once per code location, not once per frame: what a location or a node says
 * holds for all nodes below it.
 */
#include "check/internal.h"

#include "check/pattern.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 512

/* --- suppressed stacks */

static uint32_t suppressed_as(struct check *c, const char *name)
{
	for (size_t i = 0; i < c->suppressed_count; i++)
		if (!strcmp(c->suppressed[i].name, name))
			return (uint32_t)i + 1;
	GROW(c->suppressed, c->suppressed_room, c->suppressed_count + 1);
	c->suppressed[c->suppressed_count] = (struct check_suppressed){ .name = xstrdup(name) };
	return (uint32_t)++c->suppressed_count;
}

/* The number of the rule that suppresses a stack, 0 = none. */
static uint32_t rule_for(struct judging *j, uint32_t leaf, struct frame_out *frames)
{
	const struct suppressions *s = j->check->options.suppressions;
	bool own = query_expected(j->query, leaf);
	size_t rule = SIZE_MAX;
	char key[EXPECTED_KEY_MAX];

	if (own) {
		query_stack_key(j->query, leaf, key);
		if (s)
			expected_mark_used(suppressions_own(s), key, j->check->used_own);
	}
	if (s && suppressions_count(s)) {
		size_t n = query_stack(j->query, leaf, frames, FRAMES_MAX);
		rule = suppressions_match(s, j->model, frames, n < FRAMES_MAX ? n : FRAMES_MAX,
					  j->check->used);
	}
	if (own)
		return suppressed_as(j->check, key);
	return rule == SIZE_MAX ? 0 : suppressed_as(j->check, suppressions_name(s, rule));
}

static void find_suppressed(struct judging *j)
{
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);

	j->suppressed = xcalloc((size_t)model_dense_count(j->model) + 1, sizeof *j->suppressed);
	for (size_t i = 0; i < j->report->stack_count; i++) {
		const struct report_stack *s = &j->report->stacks[i];
		uint32_t rule = rule_for(j, s->leaf, frames);

		j->suppressed[model_node(j->model, s->leaf)->index] = rule;
		if (!rule)
			continue;
		j->check->suppressed[rule - 1].live_bytes += live_bytes(&s->sum);
		j->check->suppressed[rule - 1].live_blocks += live_blocks(&s->sum);
	}
	free(frames);
}

/* --- one process */

void judging_init(struct judging *j, struct check *c, struct watch *w, const struct process *p)
{
	*j = (struct judging){ .check = c, .watch = w, .line = p, .model = watch_model(w) };
	j->report = report_new(w);
	j->query = query_new(j->model, watch_symbols(w), j->report->owners);
	query_expect(j->query, watch_expected(w));
	find_suppressed(j);
}

void judging_release(struct judging *j)
{
	query_free(j->query);
	report_free(j->report);
	free(j->suppressed);
}

const char *judging_name(const struct judging *j)
{
	const struct program *g = model_program(j->model);

	return j->line ? j->line->name : g && *g->name ? g->name : "?";
}

bool judging_counts(const struct judging *j, const struct report_stack *s)
{
	return !j->suppressed[model_node(j->model, s->leaf)->index];
}

/* --- what a limit covers */

static bool names_location(struct judging *j, const struct limit *l, uint32_t number)
{
	const struct symbol *s = symbols_of_location(j->report->symbols, number);

	for (uint32_t i = 0; i < s->count; i++)
		if ((s->frames[i].function &&
		     pattern_matches(l->pattern, s->frames[i].function, false)) ||
		    (s->frames[i].name && pattern_matches(l->pattern, s->frames[i].name, false)))
			return true;
	return false;
}

/* A node is covered when its function is the one, or its parent is covered: parents come first. */
static bool cover_function(struct judging *j, const struct limit *l, bool *covered)
{
	uint32_t places = model_location_count(j->model), n = model_dense_count(j->model), id;
	bool *named = xcalloc((size_t)places + 1, sizeof *named), any = false;

	for (uint32_t i = 0; i < places; i++)
		any |= named[i] = names_location(j, l, i);
	for (uint32_t i = 1; i < n; i++) {
		const struct node *node = model_dense(j->model, i, &id);
		covered[i] = (node->parent != NO_ID && covered[node->parent]) ||
			     (node->location < places && named[node->location]);
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
		uint32_t leaf = j->report->stacks[i].leaf;
		const struct owner *o = owners_of_node(j->report->owners, leaf);

		any |= covered[model_node(j->model, leaf)->index] =
			pattern_matches(l->pattern, o->name, false);
	}
	return any;
}

bool *judging_covers(struct judging *j, const struct limit *l)
{
	uint32_t n = model_dense_count(j->model);
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

/* --- for results */

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

void judging_copy(struct judging *j, const struct report_stack *s, struct check_stack *to)
{
	struct frame_out *frames = xcalloc(FRAMES_MAX, sizeof *frames);
	size_t n = query_stack(j->query, s->leaf, frames, FRAMES_MAX);

	n = n < FRAMES_MAX ? n : FRAMES_MAX;
	to->owner = xstrdup(owners_of_node(j->report->owners, s->leaf)->name);
	to->estimate = s->estimate;
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
