/* SPDX-License-Identifier: MIT
 *
 * side.c - takes a session's heap and names out of its watch.
 */
#include "diff/side.h"

#include "base/map.h"
#include "diff/plain.h"
#include "heap/sites.h"
#include "model/columns.h"
#include "owners/names.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

struct making {
	const struct side_options *o;
	struct watch *w;
	struct side *s;
	const struct model *m;
	struct report *r;
	struct string_pool *pool;
};

static const char *keep_take(struct string_pool *pool, char *text)
{
	const char *kept = string_pool_keep(pool, text);

	free(text);
	return kept;
}

static const char *hexadecimal(struct string_pool *pool, const struct module *k)
{
	char hex[2 * MTW_BUILD_ID_MAX + 1];

	for (uint32_t i = 0; i < k->build_id_len; i++)
		sprintf(hex + 2 * i, "%02x", k->build_id[i]);
	return k->build_id_len ? string_pool_keep(pool, hex) : NULL;
}

static void take_modules(struct making *x)
{
	struct side *s = x->s;

	s->module_count = model_module_count(x->m);
	s->modules = xcalloc(s->module_count + 1, sizeof *s->modules);
	for (uint32_t i = 0; i < s->module_count; i++) {
		const struct module *k = model_module(x->m, i);
		if (!k->known)
			continue;
		s->modules[i].name = string_pool_keep(x->pool, k->name);
		s->modules[i].role = keep_take(x->pool, plain_module(k->name, k->flags));
		s->modules[i].build = hexadecimal(x->pool, k);
		s->modules[i].flags = k->flags;
	}
}

static void take_locations(struct making *x, struct names *names)
{
	struct side *s = x->s;

	s->locations = xcalloc(s->names->locations + 1ul, sizeof *s->locations);
	for (uint32_t i = 0; i < s->names->locations; i++) {
		struct location *l = &s->locations[i];

		*l = *model_location(x->m, i);
		if (l->module >= s->module_count)
			l->module = NO_ID;
		if (l->module == NO_ID)
			continue;
		int source = names_loc(names, i)->source;
		struct side_module *k = &s->modules[l->module];
		k->named |= source >= SYMBOL_TABLE;
		k->lines |= source == SYMBOL_DWARF;
		if (!k->name)
			l->module = NO_ID;
	}
}

static void keep_files(struct heap_names *n, struct string_pool *pool)
{
	struct map kept = { 0 }; /* the symbols' text -> the first frame that has it, + 1 */

	for (uint32_t i = 0; i < n->first[n->locations]; i++) {
		uint64_t text = (uint64_t)(uintptr_t)n->frames[i].file;
		uint32_t first = text ? map_get(&kept, text, 0) : 0;

		if (text && !first)
			map_set(&kept, text, i + 1);
		n->frames[i].file = first ? n->frames[first - 1].file
					  : string_pool_keep(pool, n->frames[i].file);
	}
	map_release(&kept);
}

static void take_names(struct making *x, struct names *names)
{
	struct side *s = x->s;
	struct heap_names *n = names_take(names);

	s->names = n;
	s->functions = xcalloc(n->functions + 1ul, sizeof *s->functions);
	for (uint32_t i = 0; i < n->functions; i++) {
		struct heap_function *f = &n->function[i];

		s->functions[i].tells = names_tells(names, i);
		if (f->function)
			s->functions[i].plain = keep_take(x->pool, plain_function(f->function));
		f->function = string_pool_keep(x->pool, f->function);
		f->name = string_pool_keep(x->pool, f->name);
	}
	keep_files(n, x->pool);
	take_locations(x, names);
}

static void take_stack(struct making *x, uint32_t stack)
{
	struct side *s = x->s;
	struct side_stack *to = &s->stacks[s->stack_count];
	const struct owner *o = report_owner(x->r, stack);
	struct tally sum = heap_of_stack(s->heap, stack);
	uint32_t frame;

	if (!sum.alloc_blocks && !sum.alloc_bytes)
		return; /* not yet at that mark */
	*to = (struct side_stack){ .number = stack, .owner = string_pool_keep(x->pool, o->name) };
	to->owner_key = o->module < s->module_count && s->modules[o->module].role
				? s->modules[o->module].role
				: to->owner;
	to->site = heap_site_node(s->heap->skeleton, s->names, stack, &frame);
	if (frame != NO_ID)
		to->site_frame = frame - s->names->first[side_location(s, to->site)];
	tally_add(&s->totals, &sum);
	s->stack_count++;
}

static void take_heap(struct making *x)
{
	struct side *s = x->s;

	s->heap = heap_hold(x->r->heap);
	s->stacks = xcalloc(x->r->stack_count + 1, sizeof *s->stacks);
	for (size_t i = 0; i < x->r->stack_count; i++)
		if (!x->o->counts || x->o->counts(x->o->arg, x->r->order[i]))
			take_stack(x, x->r->order[i]);
}

static void warn(struct making *x, const char *sentence)
{
	GROW(x->s->warnings, x->s->warning_room, x->s->warning_count + 1);
	x->s->warnings[x->s->warning_count++] = string_pool_keep(x->pool, sentence);
}

/* The mark that the watch shows; NULL: none. */
static const struct mark *mark_of(struct watch *w)
{
	uint64_t at = watch_instant(w);
	uint32_t kept = at ? model_kept_at(watch_now(w), at) : NO_ID;

	return kept == NO_ID || kept == KEPT_PEAK ? NULL : model_mark(watch_now(w), kept);
}

static void describe(struct making *x, const char *label)
{
	const struct program *g = model_program(x->m);
	const struct mark *k = mark_of(x->w);
	const struct tally *own = k ? &k->totals : &model_totals(x->m)->sum;
	struct side *s = x->s;
	int status;
	bool known;
	uint32_t state = model_state(x->m, &status, &known);

	s->label = string_pool_keep(x->pool, label);
	s->program = string_pool_keep(x->pool, g && *g->name ? g->name : "?");
	s->pid = g ? g->pid : 0;
	s->start_unix_ns = g ? g->start_unix_ns : 0;
	s->time_ns = model_time(x->m);
	s->peak_lacks = watch_peak_lacks(x->w);
	s->state = k ? NULL : report_state(state, known);
	s->mark = k ? string_pool_keep(x->pool, k->name) : NULL;
	s->estimate = k ? model_mark_estimate(watch_now(x->w), k->id) : model_estimate(x->m);
	for (size_t i = 0; i < x->r->warning_count; i++)
		/* the label names the mark, and what it lacks is in no diff */
		if (!k || strcmp(x->r->warnings[i], watch_instant_words(x->w)))
			warn(x, x->r->warnings[i]);
	if (!x->o->counts && memcmp(own, &s->totals, sizeof *own))
		warn(x, "The session's totals count blocks without a stack; this diff leaves them "
			"out.");
}

struct side *side_new(struct watch *w, const struct side_options *o, struct string_pool *pool)
{
	struct making x = {
		.o = o,
		.w = w,
		.s = xcalloc(1, sizeof *x.s),
		.m = watch_model(w),
		.r = o->report ? o->report : report_new(w),
		.pool = pool,
	};

	owners_refresh(x.r->owners);
	take_modules(&x);
	take_names(&x, owners_names(x.r->owners));
	take_heap(&x);
	describe(&x, o->label);
	if (!o->report)
		report_free(x.r);
	return x.s;
}

void side_free(struct side *s)
{
	if (!s)
		return;
	heap_drop(s->heap);
	heap_names_drop(s->names);
	free(s->locations);
	free(s->functions);
	free(s->modules);
	free(s->stacks);
	free(s->warnings);
	free(s);
}
