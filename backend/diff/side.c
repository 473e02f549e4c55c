/* SPDX-License-Identifier: MIT
 *
 * side.c - copies a session's stacks out of its watch.
 *
 * At a mark, nothing is played back: the last state tells all. A slot's epoch says which blocks are
 * older than the mark, and the mark kept what was alive:
 *     allocated = sum over slots with epoch <= the mark's    live = the mark's cells
 */
#include "diff/side.h"

#include "diff/plain.h"
#include "owners/names.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

struct making {
	const struct side_options *o;
	const struct watch *w;
	struct side *s;
	const struct model *m;
	struct report *r;
	struct names *names;
	struct string_pool *pool;
	uint32_t mark;
	struct tally *at_mark; /* by dense node; NULL = no mark */
	bool *sampled;         /* likewise */
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

static void copy_modules(struct making *x)
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

static void copy_frame(struct making *x, const struct name_frame *f)
{
	const struct name_fn *fn = names_fn(x->names, f->fn);
	struct side *s = x->s;

	GROW(s->frames, s->frame_room, s->frame_count + 1);
	s->frames[s->frame_count++] = (struct side_frame){
		.function = string_pool_keep(x->pool, fn->function),
		.name = string_pool_keep(x->pool, fn->name),
		.plain = fn->function ? keep_take(x->pool, plain_function(fn->function)) : NULL,
		.file = string_pool_keep(x->pool, f->file),
		.line = f->line,
		.inlined = f->inlined,
		.tells = names_tells(x->names, f->fn),
	};
}

static void copy_places(struct making *x)
{
	struct side *s = x->s;

	s->place_count = names_loc_count(x->names);
	s->places = xcalloc(s->place_count + 1, sizeof *s->places);
	for (uint32_t i = 0; i < s->place_count; i++) {
		const struct name_loc *l = names_loc(x->names, i);
		struct side_module *k = l->module < s->module_count ? &s->modules[l->module] : NULL;
		s->places[i] = (struct side_place){
			.module = k && k->name ? l->module : NO_ID,
			.kind = l->kind,
			.offset = l->offset,
			.first = (uint32_t)s->frame_count,
			.count = l->count,
		};
		if (k) {
			k->named |= l->source >= SYMBOL_TABLE;
			k->lines |= l->source == SYMBOL_DWARF;
		}
		for (uint32_t j = 0; j < l->count; j++)
			copy_frame(x, &l->frames[j]);
	}
}

static void copy_nodes(struct making *x)
{
	struct side *s = x->s;

	s->node_count = model_dense_count(x->m);
	s->nodes = xcalloc(s->node_count + 1, sizeof *s->nodes);
	for (uint32_t i = 1; i < s->node_count; i++) {
		const struct node *n = model_dense(x->m, i, NULL);
		s->nodes[i].parent = n->parent;
		s->nodes[i].place = names_loc_of(x->names, i);
	}
}

/* --- amounts */

static void add_live(void *arg, uint32_t slot, const struct change *c)
{
	struct making *x = arg;
	struct tally *t = &x->at_mark[model_slot(x->m, slot)->node];

	t->free_blocks -= c->born_blocks - c->gone_blocks;
	t->free_bytes -= c->born_bytes - c->gone_bytes;
}

static int amounts_at_mark(struct making *x, struct err *err)
{
	const struct mark *k = model_mark(x->m, x->mark);

	x->at_mark = xcalloc(model_dense_count(x->m) + 1, sizeof *x->at_mark);
	x->sampled = xcalloc(model_dense_count(x->m) + 1, sizeof *x->sampled);
	for (uint32_t i = 0; i < model_slot_count(x->m); i++) {
		const struct slot *s = model_slot(x->m, i);
		if (!s || !s->known || s->epoch > k->epoch)
			continue;
		struct tally *t = &x->at_mark[s->node];
		t->alloc_blocks += s->now.alloc_blocks;
		t->alloc_bytes += s->now.alloc_bytes;
		t->free_blocks += s->now.alloc_blocks;
		t->free_bytes += s->now.alloc_bytes;
		x->sampled[s->node] |= s->sampled;
	}
	if (!model_between(x->m, 0, x->mark, add_live, x))
		return 0;
	return err_set(err, 3,
		       "%s: the mark kept only its totals, not its stacks; choose a later mark or "
		       "raise mark_memory=",
		       k->name);
}

static const char *owner_key(const struct making *x, const struct owner *o)
{
	const struct module *k = model_module(x->m, o->module);

	return k && k->known ? keep_take(x->pool, plain_module(k->name, k->flags))
			     : string_pool_keep(x->pool, o->name);
}

static void copy_stack(struct making *x, const struct report_stack *r)
{
	struct side_stack *to = &x->s->stacks[x->s->stack_count];
	const struct owner *o = owners_of_node(x->r->owners, r->leaf);
	uint32_t index = model_node(x->m, r->leaf)->index;

	*to = (struct side_stack){
		.node = index,
		.owner = string_pool_keep(x->pool, o->name),
		.owner_key = owner_key(x, o),
		.estimate = x->at_mark ? x->sampled[index] : r->estimate,
		.sum = x->at_mark ? x->at_mark[index] : r->sum,
	};
	if (!to->sum.alloc_blocks && !to->sum.alloc_bytes)
		return; /* not yet at that mark */
	to->site = owners_site_of_index(x->r->owners, index, &to->site_frame);
	tally_add(&x->s->totals, &to->sum);
	x->s->stack_count++;
}

static void copy_stacks(struct making *x)
{
	x->s->stacks = xcalloc(x->r->stack_count + 1, sizeof *x->s->stacks);
	for (size_t i = 0; i < x->r->stack_count; i++)
		if (!x->o->counts || x->o->counts(x->o->arg, &x->r->stacks[i]))
			copy_stack(x, &x->r->stacks[i]);
}

/* --- what the side is */

static void warn(struct making *x, const char *sentence)
{
	GROW(x->s->warnings, x->s->warning_room, x->s->warning_count + 1);
	x->s->warnings[x->s->warning_count++] = string_pool_keep(x->pool, sentence);
}

static void describe(struct making *x, const char *label)
{
	const struct program *g = model_program(x->m);
	const struct mark *k = x->mark ? model_mark(x->m, x->mark) : NULL;
	const struct tally *own = k ? &k->totals : &model_totals(x->m)->sum;
	struct side *s = x->s;
	int status;
	bool known;
	uint32_t state = model_state(x->m, &status, &known);

	s->label = string_pool_keep(x->pool, label);
	s->program = string_pool_keep(x->pool, g && *g->name ? g->name : "?");
	s->pid = g ? g->pid : 0;
	s->start_unix_ns = g ? g->start_unix_ns : 0;
	s->time_ns = k ? k->time_ns : model_time(x->m);
	s->peak_lacks = k ? 0 : watch_peak_lacks(x->w);
	s->state = k ? NULL : report_state(state, known);
	s->mark = k ? string_pool_keep(x->pool, k->name) : NULL;
	s->estimate = k ? model_mark_estimate(x->m, x->mark) : model_estimate(x->m);
	for (size_t i = 0; i < x->r->warning_count; i++)
		warn(x, x->r->warnings[i]);
	if (!x->o->counts && memcmp(own, &s->totals, sizeof *own))
		warn(x, "The session's totals count blocks without a stack; this diff leaves them "
			"out.");
}

struct side *side_new(struct watch *w, const struct side_options *o, struct string_pool *pool,
		      struct err *err)
{
	struct making x = {
		.o = o,
		.w = w,
		.s = xcalloc(1, sizeof *x.s),
		.m = watch_model(w),
		.r = o->report ? o->report : report_new(w),
		.pool = pool,
		.mark = o->mark,
	};

	owners_refresh(x.r->owners);
	x.names = owners_names(x.r->owners);
	if (o->mark && amounts_at_mark(&x, err)) {
		side_free(x.s);
		x.s = NULL;
	} else {
		copy_modules(&x);
		copy_places(&x);
		copy_nodes(&x);
		copy_stacks(&x);
		describe(&x, o->label);
	}
	free(x.at_mark);
	free(x.sampled);
	if (!o->report)
		report_free(x.r);
	return x.s;
}

void side_free(struct side *s)
{
	if (!s)
		return;
	free(s->modules);
	free(s->places);
	free(s->frames);
	free(s->nodes);
	free(s->stacks);
	free(s->warnings);
	free(s);
}
