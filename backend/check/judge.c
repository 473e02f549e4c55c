/* SPDX-License-Identifier: MIT
 *
 * judge.c - holds one process against the limits; see check/check.h.
 *
 *   whole heap:  found = totals - suppressed stacks - what a fork inherited
 *   a part:      found = sum over the stacks that the limit covers, suppressed ones aside
 */
#include "check/judging.h"

#include "report/between.h"
#include "report/coverage.h"
#include "report/format.h"

#include <stdlib.h>
#include <string.h>

#define STACKS_SHOWN 3

static const char *state_text(const struct judging *j, char *buf, size_t size)
{
	int status;
	bool known;
	char name[FORMAT_SIGNAL];
	uint32_t state = model_state(j->model, &status, &known);

	if (state == MTW_EXITED && known)
		snprintf(buf, size, "exited with status %d", status);
	else if (state == MTW_SIGNALLED && known)
		snprintf(buf, size, "ended by %s", format_signal(status, name));
	else if (state == MTW_EXECED)
		snprintf(buf, size, "replaced by another program");
	else
		snprintf(buf, size, "%s", report_state(state, known));
	return buf;
}

static uint32_t state_of(const struct judging *j)
{
	int status;
	bool known;

	return model_state(j->model, &status, &known);
}

static bool has_ended(const struct judging *j)
{
	return state_of(j) == MTW_EXITED || state_of(j) == MTW_SIGNALLED;
}

static bool wants(const struct check *c, enum check_kind kind)
{
	for (size_t i = 0; i < c->options.limit_count; i++)
		if (c->options.limits[i].kind == kind)
			return true;
	return false;
}

static bool is_first(const struct judging *j)
{
	return !j->line || !j->line->parent;
}

static void not_whole(const struct judging *j, const char *why)
{
	check_not_whole(j->check, j->process, why);
}

static void judge_end(const struct judging *j)
{
	struct program_end end = model_cut_end(j->model);
	uint32_t state = state_of(j);
	const char *problem = watch_problem(j->watch);

	if (state != MTW_CUT)
		end.state = model_state(j->model, &end.status, &end.known);
	if (end.state == MTW_SIGNALLED)
		check_signalled(j->check, j->process, end.status, end.known, is_first(j));

	if (state == MTW_CUT || state == MTW_LINK_LOST)
		not_whole(j, problem ? problem : "The session ends before its program does.");
	else if (!model_complete(j->model))
		not_whole(j, "The state is incomplete: stacks hold less than the totals say.");
	else if (j->check->options.must_end && state == MTW_RUNNING &&
		 (is_first(j) || !j->check->options.first_only))
		not_whole(j, "The recording ended before the program did.");
	if (coverage_late(j->model))
		not_whole(j, "The agent was attached while the program ran: older blocks are not "
			     "counted.");
}

static void judge_losses(const struct judging *j)
{
	bool growth = wants(j->check, CHECK_GROWTH);
	char n[FORMAT_NUMBER];

	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		uint64_t events, bytes;
		bool marks = i == MTW_LOSS_SLOTS || i == MTW_LOSS_MARKS;

		model_loss(j->model, i, &events, &bytes);
		if (!events || !report_loses(i) || (marks && !growth))
			continue;
		char *text = xasprintf("%s: %s times.", report_loss(i), format_count(n, events));
		not_whole(j, text);
		free(text);
	}
}

static void judge_coverage(const struct judging *j)
{
	const char *front = model_option(j->model, "malloc_before");

	for (uint32_t id = 0; id < model_module_count(j->model); id++) {
		const struct module *k = model_module(j->model, id);

		if (!k || !k->known || !coverage_lacks(k->flags))
			continue;
		char *text = xasprintf("%s: %s; its allocations are not counted.", k->name,
				       coverage_word(k->flags));
		not_whole(j, text);
		free(text);
	}
	if (front) {
		char *text = xasprintf("%s: has a malloc of its own, which comes before the "
				       "agent's: its blocks are not counted.",
				       front);
		not_whole(j, text);
		free(text);
	}
}

static void note_filters(const struct judging *j)
{
	const struct recorded *list;
	size_t n = model_filters(j->model, &list);
	char filter[1024];

	for (size_t i = 0; i < n; i++) {
		char *text =
			xasprintf("Recorded from %.1f s on: %s.", (double)list[i].since_ns / 1e9,
				  report_filter(&list[i], false, filter, sizeof filter));
		check_note(j->check, text);
		free(text);
	}
	if (model_estimate(j->model))
		check_note(j->check, "The session is sampled: figures with ~ are estimates.");
}

/* A run below a second counts as one: start-up is no rate. */
static double seconds(const struct judging *j)
{
	uint64_t end = model_time(j->model), begin = 0;

	if (j->line && j->line->forked) {
		begin = j->line->begin_ns;
		end = j->line->end_ns ? j->line->end_ns : end;
	}
	double s = (double)check_own(end, begin) / 1e9;
	return s < 1 ? 1 : s;
}

struct amount {
	int64_t bytes, blocks;
};

/* The whole heap's, of its totals: these may be complete before the stacks are. */
static struct amount amount_of_all(const struct judging *j, enum check_kind kind)
{
	const struct tally *all = &model_totals(j->model)->sum;
	const struct program *g = model_program(j->model);
	struct tally inherited = { 0 };

	if (j->line && j->line->inherited_bytes && g && !model_inherited(j->model, &inherited))
		inherited = g->before; /* what was freed since may be its own */
	if (kind == CHECK_RATE)
		return (struct amount){
			(int64_t)check_own(all->alloc_bytes, inherited.alloc_bytes),
			(int64_t)check_own(all->alloc_blocks, inherited.alloc_blocks),
		};
	return (struct amount){
		(int64_t)check_own(live_bytes(all), live_bytes(&inherited)),
		(int64_t)check_own(live_blocks(all), live_blocks(&inherited)),
	};
}

static void per_second(const struct judging *j, enum check_kind kind, struct amount *a)
{
	if (kind != CHECK_RATE)
		return;
	a->bytes = (int64_t)((double)a->bytes / seconds(j));
	a->blocks = (int64_t)((double)a->blocks / seconds(j));
}

/* A limit, and what it is held against. */
struct sum {
	const struct limit *limit;
	const bool *covered;     /* by stack */
	const struct heap *heap; /* with changes, of an interval */
	bool window;             /* of what was born in it alone */
	const struct live *then; /* by stack: live at another instant; NULL = the heap's */
};

/* Of a rate, all that the stack allocated. */
static struct amount amount_of(const struct sum *x, uint32_t k)
{
	struct tally t = heap_of_stack(x->heap, k);

	if (x->limit->kind == CHECK_GROWTH) {
		struct change c = heap_change_of_stack(x->heap, k);
		return (struct amount){
			(int64_t)(c.born_bytes - (x->window ? 0 : c.gone_bytes)),
			(int64_t)(c.born_blocks - (x->window ? 0 : c.gone_blocks)),
		};
	}
	if (x->limit->kind == CHECK_RATE)
		return (struct amount){ (int64_t)t.alloc_bytes, (int64_t)t.alloc_blocks };
	if (x->then)
		return (struct amount){ (int64_t)x->then[k].bytes, (int64_t)x->then[k].blocks };
	return (struct amount){ (int64_t)live_bytes(&t), (int64_t)live_blocks(&t) };
}

static int64_t weight(const struct sum *x, uint32_t k)
{
	struct amount a = amount_of(x, k);

	return limit_counts_blocks(x->limit->kind) ? a.blocks : a.bytes;
}

static bool is_counted(const struct judging *j, const struct sum *x, uint32_t k)
{
	struct tally t = heap_of_stack(x->heap, k);

	return x->covered[k] &&
	       (x->limit->kind != CHECK_LEAKED || !live_blocks(&t) || !runtime_keeps(j->report, k));
}

/* Equal ones as a report orders them. */
static bool is_heavier(const struct sum *x, uint32_t a, uint32_t b)
{
	int64_t m = weight(x, a), n = weight(x, b);
	struct tally s = heap_of_stack(x->heap, a), t = heap_of_stack(x->heap, b);

	return m != n ? m > n : live_bytes(&s) > live_bytes(&t);
}

/* The heaviest stacks, by insertion into a short list. */
static void keep_heaviest(struct judging *j, struct check_verdict *v, const struct sum *x)
{
	uint32_t top[STACKS_SHOWN], n = 0;

	for (uint32_t k = 0; k < x->heap->sums->stacks; k++) {
		if (!x->covered[k] || weight(x, k) <= 0 ||
		    (n == STACKS_SHOWN && !is_heavier(x, k, top[n - 1])) || !is_counted(j, x, k))
			continue;
		uint32_t at = n < STACKS_SHOWN ? n++ : n - 1;
		for (; at && is_heavier(x, k, top[at - 1]); at--)
			top[at] = top[at - 1];
		top[at] = k;
	}
	v->stacks = xcalloc(STACKS_SHOWN, sizeof *v->stacks);
	for (uint32_t i = 0; i < n; i++) {
		struct amount a = amount_of(x, top[i]);
		struct check_stack *to = &v->stacks[v->stack_count++];

		per_second(j, x->limit->kind, &a);
		judging_copy(j, top[i], to);
		to->bytes = a.bytes;
		to->blocks = a.blocks;
	}
}

static struct check_verdict *begin(struct judging *j, const struct limit *l)
{
	struct check_verdict *v = check_add(j->check, j->process, l->kind);

	v->name = xasprintf("--%s %s", limit_option(l->kind), l->text);
	v->where = xstrdup(l->where);
	return v;
}

/* Did the stack take part: allocate at all, or of an interval, change? */
static bool took_part(const struct sum *x, uint32_t k)
{
	struct tally t = heap_of_stack(x->heap, k);
	struct change c = heap_change_of_stack(x->heap, k);

	if (x->limit->kind == CHECK_GROWTH)
		return (c.born_bytes | c.born_blocks) ||
		       (!x->window && (c.gone_bytes | c.gone_blocks));
	return t.alloc_bytes | t.alloc_blocks;
}

/* The sum over the covered stacks; of the whole heap, the totals without the others. Does any
 * covered stack take part, and is a share of it an estimate? */
static struct amount add_up(const struct judging *j, const struct sum *x, bool *any, bool *estimate)
{
	struct amount sum = { 0 }, left = { 0 };

	for (uint32_t k = 0; k < x->heap->sums->stacks; k++) {
		if (!took_part(x, k))
			continue;
		struct amount a = amount_of(x, k);
		bool counts = is_counted(j, x, k);
		struct amount *to = counts ? &sum : &left;

		to->bytes += a.bytes;
		to->blocks += a.blocks;
		*any |= x->covered[k];
		*estimate |= counts && a.bytes && bit_of(x->heap->sums->estimate_bits, k);
	}
	if (x->limit->covers == COVERS_ALL && x->limit->kind != CHECK_GROWTH) {
		struct amount all = amount_of_all(j, x->limit->kind);
		sum.bytes = all.bytes > left.bytes ? all.bytes - left.bytes : 0;
		sum.blocks = all.blocks > left.blocks ? all.blocks - left.blocks : 0;
	}
	per_second(j, x->limit->kind, &sum);
	return sum;
}

static struct check_verdict *judge_sum(struct judging *j, const struct sum *x)
{
	const struct limit *l = x->limit;
	struct check_verdict *v = begin(j, l);
	bool any = false;
	struct amount sum = add_up(j, x, &any, &v->estimate);

	v->blocks = sum.blocks;
	if (!check_compare(v, limit_counts_blocks(l->kind) ? sum.blocks : sum.bytes, l->most))
		keep_heaviest(j, v, x);
	if (l->covers != COVERS_ALL && !any)
		v->why = xasprintf("no stack of this process matches %s", l->where);
	else if (v->failed && l->kind == CHECK_LEAKED)
		v->why = xstrdup("blocks that the program still had pointers to count, too");
	return v;
}

/*
 * The peak lies between both. The stacks shown are those of the whole heap's peak; where the agent
 * has not kept it, those of the end.
 */
static void judge_peak_within(struct judging *j, const struct limit *l, const bool *covered,
			      uint64_t least, uint64_t most)
{
	struct check_verdict *v = begin(j, l);
	char n[FORMAT_NUMBER];

	v->estimate = model_estimate(j->model);
	if (!check_compare(v, (int64_t)least, l->most)) {
		struct live *then = peaks_of_stacks(j->report);
		keep_heaviest(j, v, &(struct sum){ l, covered, j->report->heap, .then = then });
		free(then);
	} else if (most > l->most) {
		check_vague(j->check, v,
			    xasprintf("it may have been up to %s, so it cannot be told whether the "
				      "limit was kept",
				      format_bytes(n, most)));
	}
}

/* All limits of parts at once: the session is read again for them. */
static int find_peaks(struct judging *j, struct err *err)
{
	const struct check_options *o = &j->check->options;

	if (j->peaks)
		return 0;
	j->peaks = xcalloc(o->limit_count + 1, sizeof *j->peaks);
	for (size_t i = 0; i < o->limit_count; i++)
		if (o->limits[i].kind == CHECK_PEAK && o->limits[i].covers != COVERS_ALL)
			j->peaks[i].covered = judging_covers(j, &o->limits[i]);
	return peaks_find(watch_target(j->watch), j->report, j->peaks, o->limit_count, err);
}

static int judge_peak(struct judging *j, const struct limit *l, struct err *err)
{
	const struct totals *t = model_totals(j->model);

	if (l->covers != COVERS_ALL) {
		if (find_peaks(j, err))
			return -1;
		const struct part_peak *p = &j->peaks[l - j->check->options.limits];
		judge_peak_within(j, l, p->covered, p->bytes, p->most);
		return 0;
	}
	bool *covered = judging_covers(j, l);
	judge_peak_within(j, l, covered, t->peak_bytes, t->peak_bytes + t->peak_error_bytes);
	if (j->all)
		check_note(j->check,
			   "The peak of all processes is the largest sum at the points of "
			   "their graphs: it may have been higher between two.");
	free(covered);
	return 0;
}

/* The changes of one interval, until a worse one comes. */
struct worst {
	struct heap *heap; /* held; NULL = none yet */
	bool window;
	size_t windows, unjudged;
	int64_t bytes;
	uint32_t from;
	struct err why; /* of the last unjudged one */
};

static void keep_worst(struct judging *j, const struct limit *l, const bool *covered,
		       const struct report_options *o, struct worst *w)
{
	struct heap *h = report_interval(j->report, o, &w->why);
	struct sum x = { l, covered, h, .window = o->window };
	bool any = false, estimate = false;
	int64_t bytes = h ? add_up(j, &x, &any, &estimate).bytes : 0;

	w->unjudged += !h;
	if (!h || (w->heap && bytes <= w->bytes)) {
		heap_drop(h);
		return;
	}
	heap_drop(w->heap);
	w->heap = h;
	w->window = o->window;
	w->bytes = bytes;
	w->from = o->from;
}

static void find_worst_window(struct judging *j, const struct limit *l, const bool *covered,
			      struct worst *w)
{
	const char *name = j->check->options.between->from;
	struct report_options o = { .changes = true };

	for (uint32_t id = 0; (id = between_next_window(j->model, name, id)); w->windows++)
		if (!between_window(j->model, id, &o, &w->why))
			keep_worst(j, l, covered, &o, w);
		else
			w->unjudged++;
}

static void find_interval(struct judging *j, const struct limit *l, const bool *covered,
			  struct worst *w)
{
	struct report_options o = { .changes = true };
	struct err none;

	if (!between_find(j->model, j->check->options.between, &o, &none))
		keep_worst(j, l, covered, &o, w);
}

/* A window without an end, or without its stacks: what the others had says nothing of it. */
static void note_unjudged(struct judging *j, const struct worst *w)
{
	char *text = xasprintf("%zu of %zu windows cannot be judged: %s", w->unjudged, w->windows,
			       w->why.text);

	if (w->unjudged)
		not_whole(j, w->windows ? text : w->why.text);
	free(text);
}

/* A child that began after a mark, or ended before it, does not have it. */
static void judge_growth(struct judging *j, const struct limit *l)
{
	bool *covered = judging_covers(j, l);
	struct worst w = { 0 };

	if (j->check->options.between->to)
		find_interval(j, l, covered, &w);
	else
		find_worst_window(j, l, covered, &w);
	note_unjudged(j, &w);
	if (w.heap || w.unjudged)
		j->check->marks_found = true;
	else
		check_note(j->check, "A process without these marks was not held against "
				     "--max-growth.");
	if (w.heap) {
		struct check_verdict *v =
			judge_sum(j, &(struct sum){ l, covered, w.heap, .window = w.window });
		v->windows = w.windows;
		v->window = w.windows ? xstrdup(model_mark(j->model, w.from)->name) : NULL;
	}
	heap_drop(w.heap);
	free(covered);
}

static bool applies(const struct judging *j, const struct limit *l)
{
	if (j->skips[l->tree])
		return false;
	if (state_of(j) == MTW_EXECED)
		return limit_outlives_exec(l->kind);
	if (l->kind != CHECK_LEAKED || has_ended(j))
		return true;
	if (!j->all)
		check_runs_on(j->check, j->process, is_first(j));
	else
		check_note(j->check, "Processes ran on: --max-leaked was not held against all.");
	return false;
}

static int judge_limit(struct judging *j, const struct limit *l, struct err *err)
{
	if (!applies(j, l))
		return 0;
	if (l->kind == CHECK_PEAK)
		return judge_peak(j, l, err);
	if (l->kind == CHECK_GROWTH) {
		judge_growth(j, l);
		return 0;
	}
	bool *covered = judging_covers(j, l);
	judge_sum(j, &(struct sum){ .limit = l, .covered = covered, .heap = j->report->heap });
	free(covered);
	return 0;
}

static int judge_limits(struct judging *j, struct err *err)
{
	const struct check_options *o = &j->check->options;
	int rc = 0;

	for (size_t i = 0; i < o->limit_count && !rc; i++)
		rc = judge_limit(j, &o->limits[i], err);
	return rc;
}

bool check_wants_all(const struct check *c)
{
	for (size_t i = 0; i < c->options.limit_count; i++)
		if (c->options.limits[i].tree)
			return true;
	return false;
}

int check_judge_all(struct check *c, struct watch *w, size_t processes, bool alone, struct err *err)
{
	struct judging j;
	char state[64];

	judging_init(&j, c, w, NULL);
	j.all = true;
	j.skips[false] = !alone;
	snprintf(state, sizeof state, "%zu processes", processes);
	j.process = check_add_process(c, "All", 0, state);
	c->processes[j.process].all = true;
	if (alone)
		judge_end(&j);
	int rc = judge_limits(&j, err);
	judging_release(&j);
	return rc;
}

int check_judge(struct check *c, struct watch *w, const struct process *p, struct err *err)
{
	struct judging j;
	char state[64];
	int rc = 0;

	judging_init(&j, c, w, p);
	j.skips[true] = p != NULL; /* of the tree, which is more than this process */
	const struct program *g = model_program(j.model);
	j.process = check_add_process(c, judging_name(&j), g ? (int)g->pid : 0,
				      state_text(&j, state, sizeof state));
	judge_end(&j);
	judge_losses(&j);
	judge_coverage(&j);
	note_filters(&j);
	rc = judge_limits(&j, err);
	if (c->options.no_growing)
		growing_judge(&j);
	if (c->baseline_count && state_of(&j) != MTW_EXECED)
		baseline_judge(&j);
	judging_release(&j);
	return rc;
}

void check_learn(struct check *c, struct watch *w, const struct process *p)
{
	struct judging j;

	judging_init(&j, c, w, p);
	if (state_of(&j) != MTW_EXECED)
		baseline_learn(&j);
	judging_release(&j);
	/* those of the session that is checked are reported */
	for (size_t i = 0; i < c->suppressed_count; i++)
		c->suppressed[i].live_bytes = c->suppressed[i].live_blocks = 0;
}
