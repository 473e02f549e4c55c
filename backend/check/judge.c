/* SPDX-License-Identifier: MIT
 *
 * judge.c - holds one process against the limits; see check/check.h.
 *
 *   whole heap:  found = totals - suppressed stacks - what a fork inherited
 *   a part:      found = sum over the stacks that the limit covers, suppressed ones aside
 */
#include "check/internal.h"

#include "report/between.h"
#include "report/coverage.h"
#include "report/format.h"

#include <stdlib.h>
#include <string.h>

#define STACKS_SHOWN 3

/* --- what is known of the process */

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

/* --- is the session whole? */

static void whole(const struct judging *j, const char *why)
{
	check_whole(j->check, j->process, why);
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
		whole(j, problem ? problem : "The session ends before its program does.");
	else if (!model_complete(j->model))
		whole(j, "The state is incomplete: stacks hold less than the totals say.");
	else if (j->check->options.must_end && state == MTW_RUNNING &&
		 (is_first(j) || !j->check->options.first_only))
		whole(j, "The recording ended before the program did.");
	if (coverage_late(j->model))
		whole(j, "The agent was attached while the program ran: older blocks are not "
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
		whole(j, text);
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
		whole(j, text);
		free(text);
	}
	if (front) {
		char *text = xasprintf("%s: has a malloc of its own, which comes before the "
				       "agent's: its blocks are not counted.",
				       front);
		whole(j, text);
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

/* --- amounts */

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

/* Bytes and blocks of one stack, as a limit of this kind counts them; of a rate, all that it
 * allocated. */
static struct amount amount_of(const struct report_stack *s, enum check_kind kind)
{
	const struct change *c = &s->change;

	if (kind == CHECK_GROWTH)
		return (struct amount){ (int64_t)(c->born_bytes - c->gone_bytes),
					(int64_t)(c->born_blocks - c->gone_blocks) };
	if (kind == CHECK_RATE)
		return (struct amount){ (int64_t)s->sum.alloc_bytes, (int64_t)s->sum.alloc_blocks };
	return (struct amount){ (int64_t)live_bytes(&s->sum), (int64_t)live_blocks(&s->sum) };
}

/* The whole heap's, of its totals: these may be complete before the stacks are. */
static struct amount amount_of_all(const struct judging *j, enum check_kind kind)
{
	const struct tally *all = &model_totals(j->model)->sum;
	const struct program *g = model_program(j->model);
	bool fork = j->line && j->line->inherited_bytes && g;

	if (kind == CHECK_RATE)
		return (struct amount){
			(int64_t)check_own(all->alloc_bytes, fork ? g->before.alloc_bytes : 0),
			(int64_t)check_own(all->alloc_blocks, fork ? g->before.alloc_blocks : 0),
		};
	return (struct amount){
		(int64_t)check_own(live_bytes(all), fork ? live_bytes(&g->before) : 0),
		(int64_t)check_own(live_blocks(all), fork ? live_blocks(&g->before) : 0),
	};
}

static int64_t weight(const struct report_stack *s, enum check_kind kind)
{
	struct amount a = amount_of(s, kind);

	return kind == CHECK_BLOCKS ? a.blocks : a.bytes;
}

static void per_second(const struct judging *j, enum check_kind kind, struct amount *a)
{
	if (kind != CHECK_RATE)
		return;
	a->bytes = (int64_t)((double)a->bytes / seconds(j));
	a->blocks = (int64_t)((double)a->blocks / seconds(j));
}

/* --- limits */

static bool is_counted(const struct judging *j, const bool *covered, const struct limit *l,
		       const struct report_stack *s)
{
	return covered[model_node(j->model, s->leaf)->index] &&
	       (l->kind != CHECK_LEAKED || !live_blocks(&s->sum) || !runtime_keeps(j, s));
}

/* The heaviest stacks, by insertion into a short list. */
static void keep_heaviest(struct judging *j, struct check_verdict *v, const struct limit *l,
			  const struct report_stack *list, size_t n, const bool *covered)
{
	const struct report_stack *top[STACKS_SHOWN] = { NULL };

	for (size_t i = 0; i < n; i++) {
		const struct report_stack *s = &list[i];

		if (!is_counted(j, covered, l, s) || weight(s, l->kind) <= 0)
			continue;
		for (size_t k = 0; k < STACKS_SHOWN && s; k++)
			if (!top[k] || weight(top[k], l->kind) < weight(s, l->kind)) {
				const struct report_stack *lighter = top[k];
				top[k] = s;
				s = lighter;
			}
	}
	v->stacks = xcalloc(STACKS_SHOWN, sizeof *v->stacks);
	for (size_t k = 0; k < STACKS_SHOWN && top[k]; k++) {
		struct amount a = amount_of(top[k], l->kind);
		struct check_stack *to = &v->stacks[v->stack_count++];

		per_second(j, l->kind, &a);
		judging_copy(j, top[k], to);
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

/* The sum over the covered stacks; of the whole heap, the totals without the others. */
static struct amount add_up(const struct judging *j, const struct limit *l, const bool *covered,
			    const struct report_stack *list, size_t n)
{
	struct amount sum = { 0 }, left = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct amount a = amount_of(&list[i], l->kind);
		struct amount *to = is_counted(j, covered, l, &list[i]) ? &sum : &left;

		to->bytes += a.bytes;
		to->blocks += a.blocks;
	}
	if (l->covers == COVERS_ALL && l->kind != CHECK_GROWTH) {
		struct amount all = amount_of_all(j, l->kind);
		sum.bytes = all.bytes > left.bytes ? all.bytes - left.bytes : 0;
		sum.blocks = all.blocks > left.blocks ? all.blocks - left.blocks : 0;
	}
	per_second(j, l->kind, &sum);
	return sum;
}

static struct check_verdict *judge_sum(struct judging *j, const struct limit *l,
				       const bool *covered, const struct report_stack *list,
				       size_t n)
{
	struct check_verdict *v = begin(j, l);
	struct amount sum = add_up(j, l, covered, list, n);
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		bool counts = is_counted(j, covered, l, &list[i]);

		any |= covered[model_node(j->model, list[i].leaf)->index];
		v->estimate |= counts && list[i].estimate && amount_of(&list[i], l->kind).bytes;
	}
	v->blocks = sum.blocks;
	if (!check_compare(v, l->kind == CHECK_BLOCKS ? sum.blocks : sum.bytes, l->most))
		keep_heaviest(j, v, l, list, n, covered);
	if (l->covers != COVERS_ALL && !any)
		v->why = xasprintf("no stack of this process matches %s", l->where);
	else if (v->failed && l->kind == CHECK_LEAKED)
		v->why = xstrdup("blocks that the program still had pointers to count, too");
	return v;
}

/* --- peaks */

/* The stacks at the peak of the whole heap, as the agent kept them; NULL = it did not. */
static struct report_stack *stacks_at_peak(const struct judging *j)
{
	size_t n = j->report->stack_count;
	struct report_stack *list;
	struct tally *of_node;

	if (!model_peak(j->model))
		return NULL;
	list = xcalloc(n + 1, sizeof *list);
	of_node = xcalloc((size_t)model_dense_count(j->model) + 1, sizeof *of_node);
	for (uint32_t id = 0; id < model_slot_count(j->model); id++) {
		const struct slot *s = model_slot(j->model, id);
		struct tally then = model_peak_of_slot(j->model, id);
		if (s && s->known)
			tally_add(&of_node[s->node], &then);
	}
	for (size_t i = 0; i < n; i++) {
		list[i] = j->report->stacks[i];
		list[i].sum = of_node[model_node(j->model, list[i].leaf)->index];
	}
	free(of_node);
	return list;
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
		struct report_stack *then = stacks_at_peak(j);
		keep_heaviest(j, v, l, then ? then : j->report->stacks, j->report->stack_count,
			      covered);
		free(then);
	} else if (most > l->most) {
		check_vague(j->check, v,
			    xasprintf("it may have been up to %s, so it cannot be told whether the "
				      "limit was kept",
				      format_bytes(n, most)));
	}
}

static int judge_peak(struct judging *j, const struct limit *l, struct err *err)
{
	const struct totals *t = model_totals(j->model);
	bool *covered = judging_covers(j, l);
	struct part_peak peak = { .covered = covered };
	int rc = 0;

	if (l->covers != COVERS_ALL) {
		rc = peaks_find(watch_target(j->watch), j->model, &peak, 1, err);
	} else {
		peak.bytes = t->peak_bytes;
		peak.most = t->peak_bytes + t->peak_error_bytes;
	}
	if (!rc)
		judge_peak_within(j, l, covered, peak.bytes, peak.most);
	free(covered);
	return rc;
}

/* --- growth */

/* The changes of one interval, until a worse one comes. */
struct worst {
	struct report_stack *list; /* NULL = none yet */
	size_t count, windows, unjudged;
	int64_t bytes;
	uint32_t from;
	struct err why; /* of the last unjudged one */
};

static void keep_worst(struct judging *j, const struct limit *l, const bool *covered,
		       const struct report_options *o, struct worst *w)
{
	size_t n;
	struct report_stack *list = report_changes(j->report, o, &n, &w->why);
	int64_t bytes = list ? add_up(j, l, covered, list, n).bytes : 0;

	w->unjudged += !list;
	if (!list || (w->list && bytes <= w->bytes)) {
		free(list);
		return;
	}
	free(w->list);
	w->list = list;
	w->count = n;
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
		whole(j, w->windows ? text : w->why.text);
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
	if (w.list || w.unjudged)
		j->check->marks_found = true;
	else
		check_note(j->check, "A process without these marks was not held against "
				     "--max-growth.");
	if (w.list) {
		struct check_verdict *v = judge_sum(j, l, covered, w.list, w.count);
		v->windows = w.windows;
		v->window = w.windows ? xstrdup(model_mark(j->model, w.from)->name) : NULL;
	}
	free(w.list);
	free(covered);
}

/* --- one process */

/* What was alive when the program was replaced by another one is no leak. */
static bool applies(const struct judging *j, const struct limit *l)
{
	if (state_of(j) == MTW_EXECED)
		return l->kind == CHECK_PEAK || l->kind == CHECK_RATE;
	if (l->kind != CHECK_LEAKED || has_ended(j))
		return true;
	check_runs_on(j->check, j->process, is_first(j));
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
	judge_sum(j, l, covered, j->report->stacks, j->report->stack_count);
	free(covered);
	return 0;
}

int check_judge(struct check *c, struct watch *w, const struct process *p, struct err *err)
{
	struct judging j;
	char state[64];
	int rc = 0;

	judging_init(&j, c, w, p);
	const struct program *g = model_program(j.model);
	j.process = check_add_process(c, judging_name(&j), g ? (int)g->pid : 0,
				      state_text(&j, state, sizeof state));
	judge_end(&j);
	judge_losses(&j);
	judge_coverage(&j);
	note_filters(&j);
	for (size_t i = 0; i < c->options.limit_count && !rc; i++)
		rc = judge_limit(&j, &c->options.limits[i], err);
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
