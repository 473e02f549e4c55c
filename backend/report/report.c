/* SPDX-License-Identifier: MIT
 *
 * report.c - gathers the data that the formats print.
 *
 * Order: by live bytes, then by frames, outermost first. Most stacks of a finished program hold 0
 * bytes, so ties are the rule. The call tree's siblings lie in the order of their names, so the
 * order of its stacks is that of their frames, and a stable sort by live bytes keeps it.
 */
#include "report/report.h"
#include "base/sanitize.h"
#include "model/columns.h"
#include "owners/names.h"
#include "report/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct frame_key {
	const char *function, *module;
	uint64_t offset;
	uint32_t location;
	uint8_t kind;
};

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : !a ? 1 : !b ? -1 : strcmp(a, b); /* unknown names last */
}

static int compare_keys(const void *pa, const void *pb)
{
	const struct frame_key *a = pa, *b = pb;
	int c = compare_text(a->function, b->function);

	if (!c)
		c = compare_text(a->module, b->module);
	if (!c)
		c = (a->offset > b->offset) - (a->offset < b->offset);
	return c ? c : (int)a->kind - (int)b->kind;
}

/* The call tree with siblings by name. */
static void order_frames(struct report *r)
{
	uint32_t n = model_location_count(r->model), ranks = 0;
	struct frame_key *keys = xcalloc(n, sizeof *keys);
	uint32_t *rank = xcalloc(n + 1ul, sizeof *rank);

	for (uint32_t i = 0; i < n; i++) {
		const struct location *at = model_location(r->model, i);
		const struct module *m = model_module(r->model, at->module);
		const struct heap_frame *f = &r->names->frames[r->names->first[i]];
		keys[i] = (struct frame_key){
			.function = r->names->function[f->function].function,
			.module = m ? m->name : NULL,
			.offset = at->offset,
			.location = i,
			.kind = at->kind,
		};
	}
	if (n)
		qsort(keys, n, sizeof *keys, compare_keys);
	for (uint32_t i = 0; i < n; i++) {
		ranks += i == 0 || compare_keys(&keys[i - 1], &keys[i]) != 0;
		rank[keys[i].location] = ranks - 1;
	}
	r->columns = model_ranked(r->model, rank, ranks);
	free(rank);
	free(keys);
}

/* A bit for each stack that allocated; free() it. */
static uint64_t *allocated(const struct heap *h)
{
	uint64_t *bits = xcalloc(h->sums->stacks / 64 + 1ul, sizeof *bits);
	struct running_reader all = { .of = &h->sums->sum };

	for (uint32_t k = 0; k < h->sums->stacks; k++) {
		struct tally t = tally_of_quad(running_next(&all));

		if (t.alloc_blocks | t.alloc_bytes)
			bits[k / 64] |= 1ull << k % 64;
	}
	return bits;
}

/* The stacks from `first` on end early: why, and in which module (NO_ID = not known). */
static void count_cut(struct report *r, const uint64_t *bits, uint32_t first, uint32_t end,
		      const struct cut *of)
{
	size_t count = 0;

	for (uint32_t k = first; k < end; k++)
		count += bit_of(bits, k);
	r->truncated_stacks += count;
	for (size_t i = 0; i < r->cut_count; i++)
		if (r->cuts[i].reason == of->reason && r->cuts[i].module == of->module)
			r->cuts[i].stacks += count;
}

/* Cut stacks are below a child of the root that is named by the reason; its children are the last
 * frames that are known. */
static void count_cuts(struct report *r, const uint64_t *bits)
{
	const struct skeleton *s = r->heap->skeleton;

	for (uint32_t n = 1; n < s->nodes; n = s->end[n]) {
		const struct location *at = model_location(r->model, s->location[n]);
		struct cut of = { .reason = (uint32_t)at->offset, .module = NO_ID };

		if (at->kind != MTW_NODE_TRUNCATED || of.reason == MTW_TRUNC_NONE)
			continue;
		count_cut(r, bits, skeleton_first(s, n), skeleton_first(s, n + 1), &of);
		for (uint32_t last = n + 1; last < s->end[n]; last = s->end[last]) {
			of.module = quality_module(model_location(r->model, s->location[last]));
			count_cut(r, bits, skeleton_first(s, last), skeleton_last(s, last), &of);
		}
	}
}

struct report_stack report_stack(const struct report *r, uint32_t stack)
{
	return (struct report_stack){ .leaf = r->heap->skeleton->id[report_node(r, stack)],
				      .stack = stack,
				      .sum = heap_of_stack(r->heap, stack),
				      .estimate = bit_of(r->heap->sums->estimate_bits, stack) };
}

/* A cut stack is a child of the root that is named by its reason. */
uint32_t report_truncated(const struct report *r, uint32_t stack)
{
	const struct skeleton *s = r->heap->skeleton;
	uint32_t n = report_node(r, stack);

	while (n && s->parent[n])
		n = s->parent[n];
	const struct location *at = n ? model_location(r->model, s->location[n]) : NULL;
	return at && at->kind == MTW_NODE_TRUNCATED ? (uint32_t)at->offset : MTW_TRUNC_NONE;
}

static void gather_stacks(struct report *r)
{
	uint64_t *bits = allocated(r->heap);
	uint32_t count = r->heap->skeleton->stacks;

	r->cut_count = quality_cuts(r->model, &r->cuts);
	count_cuts(r, bits);
	r->order = xmalloc((count + 1ul) * sizeof *r->order);
	heap_order(r->heap, r->order);
	for (uint32_t i = 0; i < count; i++)
		if (bit_of(bits, r->order[i]))
			r->order[r->stack_count++] = r->order[i];
	free(bits);
}

struct heap *report_interval(const struct report *r, const struct report_options *o,
			     struct err *err)
{
	struct base base = { .from = model_live_at(r->model, r->columns, o->from) };
	struct heap *h = NULL;

	if (o->to)
		base.until = model_live_at(r->model, r->columns, o->to);
	if (base.from.list && (base.until.list || !o->to))
		h = heap_new(r->columns, &base);
	else
		err_set(err, 3,
			"changes: a mark kept only its totals, not its stacks; choose a later mark "
			"or raise mark_memory=");
	live_list_release(&base.from);
	live_list_release(&base.until);
	return h;
}

struct report_stack *report_changes(struct report *r, const struct report_options *o, size_t *count,
				    struct err *err)
{
	struct heap *h = report_interval(r, o, err);

	*count = 0;
	if (!h)
		return NULL;
	struct report_stack *list = NULL;
	size_t room = 0;
	GROW(list, room, 1);
	for (size_t i = 0; i < r->stack_count; i++) {
		struct change c = heap_change_of_stack(h, r->order[i]);

		if (o->window)
			c.gone_blocks = c.gone_bytes = 0;
		if (!(c.born_blocks | c.gone_blocks | c.born_bytes | c.gone_bytes))
			continue;
		GROW(list, room, *count + 1);
		list[*count] = report_stack(r, r->order[i]);
		list[(*count)++].change = c;
	}
	heap_drop(h);
	return list;
}

const struct owner *report_owner(const struct report *r, uint32_t stack)
{
	const struct skeleton *s = r->heap->skeleton;
	const struct heap *named = owners_heap(r->owners);

	if (named->skeleton == s)
		return owners_at(r->owners, heap_owner_of_stack(named, stack));
	return owners_of_node(r->owners, s->id[report_node(r, stack)]);
}

static void add_warning(struct report *r, char *sentence_take)
{
	for (size_t i = 0; i < r->warning_count; i++) {
		if (!strcmp(r->warnings[i], sentence_take)) {
			free(sentence_take);
			return;
		}
	}
	GROW(r->warnings, r->warning_room, r->warning_count + 1);
	r->warnings[r->warning_count++] = sentence_take;
}

static void warn_incomplete(struct report *r)
{
	char a[FORMAT_NUMBER], b[FORMAT_NUMBER];
	const struct tally *all = &model_totals(r->model)->sum;
	struct tally held = { 0 };

	for (size_t i = 0; i < r->stack_count; i++) {
		struct tally sum = heap_of_stack(r->heap, r->order[i]);
		tally_add(&held, &sum);
	}
	if (!memcmp(&held, all, sizeof held))
		return;
	add_warning(r, xasprintf("The state is incomplete: its stacks hold %s of the %s bytes that "
				 "are live; sums by library and stack are smaller than the totals.",
				 format_count(a, live_bytes(&held)),
				 format_count(b, live_bytes(all))));
}

static void warn_state(struct report *r, struct watch *w)
{
	bool known;
	int status;
	uint32_t state = model_state(r->model, &status, &known);
	const char *problem = watch_problem(w);

	if (problem)
		add_warning(r, xstrdup(problem));
	if (state == MTW_CUT)
		add_warning(r, report_cut_end(r->model));
	if (state == MTW_EXECED)
		add_warning(r,
			    xstrdup("The program executed another one; this report ends there."));
	if (state == MTW_DETACHED)
		add_warning(r, xstrdup("The agent was detached from the program, which ran on; "
				       "this report ends there."));
	if (!model_whole(r->model))
		warn_incomplete(r);
}

/* Of All: processes that ended one after the other never held it together. */
static void warn_ends(struct report *r)
{
	const struct totals *t = model_totals(r->model);
	char live[FORMAT_NUMBER], peak[FORMAT_NUMBER];

	if (t->peak_bytes && live_bytes(&t->sum) > t->peak_bytes)
		add_warning(r, xasprintf("Live is what each process held at its end: %s together, "
					 "though never more than %s at one time.",
					 format_bytes(live, live_bytes(&t->sum)),
					 format_bytes(peak, t->peak_bytes)));
}

static void warn_counts(struct report *r)
{
	char n[FORMAT_NUMBER];

	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		uint64_t events, bytes;

		model_loss(r->model, i, &events, &bytes);
		if (events && !(i == MTW_LOSS_UNKNOWN_FREE && coverage_late(r->model)))
			add_warning(r, xasprintf("%s: %s times.", report_loss(i),
						 format_count(n, events)));
	}
	for (unsigned i = 1; i < MTW_TRUNC_COUNT; i++) {
		uint64_t blocks = model_truncated(r->model, i);

		if (blocks)
			add_warning(r, xasprintf("%s block%s a stack that ends early: %s.",
						 format_count(n, blocks),
						 blocks == 1 ? " has" : "s have",
						 report_truncation(i)));
	}
}

/* Warns about filters: nothing else shows what they left out. */
static void warn_filters(struct report *r)
{
	const struct recorded *list;
	size_t n = model_filters(r->model, &list);
	char text[1024];

	for (size_t i = 0; i < n; i++)
		add_warning(r, xasprintf("Recorded from %.1f s on%s%s: %s.",
					 (double)list[i].since_ns / 1e9,
					 *list[i].who ? ", set by " : "", list[i].who,
					 report_filter(&list[i], false, text, sizeof text)));
}

uint32_t report_flags(const struct report *r, uint32_t node)
{
	const struct module *m =
		node ? model_module(
			       r->model,
			       model_location(r->model, r->heap->skeleton->location[node])->module)
		     : NULL;

	return m ? m->flags : 0;
}

bool report_emergency_pool(const struct report *r, uint32_t stack)
{
	const struct skeleton *s = r->heap->skeleton;
	struct tally held = heap_of_stack(r->heap, stack);
	uint32_t node = s->node_of_stack[stack];

	while (node && (report_flags(r, node) & MTW_MODULE_AGENT))
		node = s->parent[node];
	if (live_blocks(&held) != 1 || !(report_flags(r, node) & MTW_MODULE_CXX))
		return false;
	while (node && (report_flags(r, node) & MTW_MODULE_CXX))
		node = s->parent[node];
	return report_flags(r, node) & MTW_MODULE_LIBC;
}

/* Explains the emergency pool, which puzzles many users. */
static void warn_emergency_pool(struct report *r)
{
	char n[FORMAT_NUMBER];

	for (size_t i = 0; i < r->stack_count; i++) {
		struct tally held = heap_of_stack(r->heap, r->order[i]);

		if (live_bytes(&held) <= 4096)
			return;
		if (!report_emergency_pool(r, r->order[i]))
			continue;
		add_warning(r, xasprintf("%s bytes are libstdc++'s emergency pool for exceptions, "
					 "not a leak.",
					 format_count(n, live_bytes(&held))));
		return;
	}
}

/* memtop checks the file of a program that it starts: that warning says more. */
static void warn_front(struct report *r)
{
	const char *who = model_option(r->model, "malloc_before");

	for (size_t i = 0; who && i < r->warning_count; i++)
		if (strstr(r->warnings[i], "has a malloc of its own"))
			return;
	if (who)
		add_warning(
			r, xasprintf("%s: has a malloc of its own, which comes before the agent's: "
				     "memtop misses its blocks unless it passes the calls on; if "
				     "it is a library, name the agent before it in LD_PRELOAD",
				     who));
}

static void warn_late(struct report *r)
{
	char n[FORMAT_NUMBER], b[FORMAT_NUMBER];
	uint64_t frees, bytes;

	if (!coverage_late(r->model))
		return;
	coverage_before(r->model, &frees, &bytes);
	add_warning(r, xasprintf("The agent was attached while the program ran: older blocks are "
				 "not shown; %s of them were freed since (%s, usable size).",
				 format_count(n, frees), format_bytes(b, bytes)));
}

static void warn_unseen(struct report *r)
{
	for (uint32_t id = 0; id < model_module_count(r->model); id++) {
		const struct module *k = model_module(r->model, id);
		if (k && k->known && coverage_lacks(k->flags))
			add_warning(r, xasprintf("%s: %s; memtop does not see its allocations.",
						 k->name, coverage_word(k->flags)));
	}
}

static void warn_folded(struct report *r)
{
	const char *fold = model_option(r->model, "fold_recursion");

	if (fold && !strcmp(fold, "auto"))
		add_warning(r,
			    xstrdup("recursion was folded when call paths had taken half of the "
				    "agent's "
				    "limit (max_memory=): newer stacks have each call site once; "
				    "totals stay exact"));
	else if (fold && !strcmp(fold, "on"))
		add_warning(r, xstrdup("recursion is folded (fold_recursion=on): a stack has each "
				       "call site once; totals stay exact"));
}

static void gather_warnings(struct report *r, struct watch *w)
{
	const char *const *list = NULL;

	warn_state(r, w);
	if (watch_target(w)->kind == TARGET_MADE)
		warn_ends(r);
	for (size_t i = 0, n = watch_warnings(w, &list); i < n; i++)
		add_warning(r, xstrdup(list[i]));
	for (size_t i = 0, n = symbols_warnings(r->symbols, &list); i < n; i++)
		add_warning(r, xstrdup(list[i]));
	char *stops = report_stops(r->model);
	if (stops)
		add_warning(r, stops);
	warn_front(r);
	warn_late(r);
	warn_unseen(r);
	warn_filters(r);
	warn_folded(r);
	warn_counts(r);
	warn_emergency_pool(r);
}

static void resolve(struct watch *w)
{
	uint32_t count = model_location_count(watch_model(w));

	for (uint32_t i = 0; i < count; i++)
		symbols_of_location(watch_symbols(w), i);
	symbols_wait(watch_symbols(w));
}

struct report *report_new(struct watch *w)
{
	struct report *r = xcalloc(1, sizeof *r);

	r->model = watch_model(w);
	r->pid = watch_pid(w, &r->inner_pid);
	r->symbols = watch_symbols(w);
	resolve(w);
	r->owners = owners_new(r->model, r->symbols);
	names_ask_all(owners_names(r->owners), UINT32_MAX);
	r->names = heap_names_hold(names_taken(owners_names(r->owners)));
	order_frames(r);
	r->heap = heap_hold(model_heap(r->model));
	gather_stacks(r);
	gather_warnings(r, w);
	return r;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->warning_count; i++)
		free(r->warnings[i]);
	free(r->warnings);
	free(r->order);
	free(r->cuts);
	heap_drop(r->heap);
	heap_names_drop(r->names);
	owners_free(r->owners);
	free(r);
}

int report_flush(FILE *out, struct err *err)
{
	if (!fflush(out) && !ferror(out))
		return 0;
	return err_set(err, 3, "the report: cannot be written: %s; the output is incomplete",
		       strerror(errno));
}

char *report_command(const struct model *m)
{
	const struct program *g = model_program(m);
	char *line = xstrdup("");

	for (size_t i = 0; i < g->arg_count; i++) {
		char *more = xasprintf("%s%s%s", line, i ? " " : "", g->args[i]);
		free(line);
		line = more;
	}
	return sanitize_clean(line, strlen(line) + 1, line);
}

static int by_peak(const void *a, const void *b)
{
	const struct process *x = *(const struct process *const *)a,
			     *y = *(const struct process *const *)b;

	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

size_t report_tree_sorted(const struct processes *p, const struct process ***sorted)
{
	const struct process *list;
	size_t n = processes_list(p, &list);

	*sorted = xcalloc(n + 1, sizeof **sorted);
	for (size_t i = 0; i < n; i++)
		(*sorted)[i] = &list[i];
	qsort(*sorted, n, sizeof **sorted, by_peak);
	return n;
}

size_t report_not_known(const struct watch *w, const char *why[REPORT_LOOKS])
{
	static const enum mtw_kind kinds[REPORT_LOOKS] = { MTW_KIND_THREADS, MTW_KIND_MEMORY,
							   MTW_KIND_COHORTS };
	size_t n = 0;

	for (size_t i = 0; i < REPORT_LOOKS; i++) {
		const char *one = watch_missing(w, kinds[i]);
		bool said = !one;
		for (size_t k = 0; k < n && one; k++)
			said |= !strcmp(why[k], one);
		if (!said)
			why[n++] = one;
	}
	return n;
}
