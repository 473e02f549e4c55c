/* SPDX-License-Identifier: MIT
 *
 * baseline.c - compares a session with good ones: live memory and peak of each process, and
 * live memory of each call site.
 *
 * A leak in a large program is a small part of the whole, so call sites are compared one by one, as
 * a diff of the two sessions joins them (diff/join.h): in another build, too. A process is known by
 * its name and its turn among the processes of this name; the only one of both, by that.
 *
 * Several baselines tell how much good runs differ (diff/noise.h): what does not exceed that is no
 * finding, whatever the tolerance.
 */
#include "check/judging.h"

#include "base/map.h"
#include "diff/noise.h"
#include "diff/presence.h"
#include "report/frames.h"

#include <stdlib.h>
#include <string.h>

#define SITES_SHOWN 50
#define STACKS_SHOWN 2

static uint64_t inherited_of(const struct judging *j)
{
	return j->line ? process_inherited(j->line) : 0;
}

static bool counts(void *arg, uint32_t stack)
{
	const struct judging *j = arg;

	return !j->suppressed[stack];
}

static void sum_up(struct judging *j, struct heap_sums *h)
{
	const struct totals *t = model_totals(j->model);
	uint64_t live = live_bytes(&t->sum);

	for (uint32_t k = 0; k < j->report->heap->sums->stacks; k++) {
		struct tally held = heap_of_stack(j->report->heap, k);

		if (!counts(j, k))
			live = check_own(live, live_bytes(&held));
	}
	*h = (struct heap_sums){
		.side = side_new(j->watch,
				 &(struct side_options){
					 .label = judging_name(j),
					 .report = j->report,
					 .counts = counts,
					 .arg = j,
				 },
				 &j->check->pool),
		.live_bytes = check_own(live, inherited_of(j)),
		.peak_bytes = t->peak_bytes,
		.peak_error_bytes = t->peak_error_bytes,
	};
}

static size_t turn_of(const struct check *c, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < c->baseline_count; i++)
		n += c->baseline[i].session == c->baseline_sessions &&
		     !strcmp(c->baseline[i].name, name);
	return n;
}

static void keep(struct check *c, struct heap_sums *h, const char *name)
{
	h->session = c->baseline_sessions;
	h->turn = turn_of(c, name);
	h->name = xstrdup(name);
	GROW(c->baseline, c->baseline_room, c->baseline_count + 1);
	c->baseline[c->baseline_count++] = *h;
}

void baseline_learn(struct judging *j)
{
	struct heap_sums h;

	sum_up(j, &h);
	keep(j->check, &h, judging_name(j));
}

void baseline_learn_totals(struct check *c, const struct process *p)
{
	struct heap_sums h = { .live_bytes = check_own(p->live_bytes, process_inherited(p)),
			       .peak_bytes = p->peak_bytes };

	keep(c, &h, p->name);
}

/* The process in each of the baselines that has it. */
struct counterparts {
	const struct heap_sums *list[CHECK_BASELINES_MAX];
	size_t count;
};

/* NULL = that session has none. alone: the session that is checked has no tree; then a baseline of
 * one process has the counterpart, whatever its name: a build may rename the program. */
static const struct heap_sums *counterpart(const struct check *c, size_t session, const char *name,
					   size_t turn, bool alone)
{
	const struct heap_sums *same = NULL, *last = NULL;
	size_t count = 0;

	for (size_t i = 0; i < c->baseline_count; i++) {
		const struct heap_sums *h = &c->baseline[i];
		if (h->session != session)
			continue;
		count++;
		last = h;
		if (h->turn == turn && !strcmp(h->name, name))
			same = h;
	}
	return alone && count == 1 ? last : same;
}

static void find_counterparts(struct check *c, size_t process, bool alone, struct counterparts *out)
{
	const char *name = c->processes[process].name;
	size_t turn = 0;

	for (size_t i = 0; i < process; i++)
		turn += c->processes[i].compared && !strcmp(c->processes[i].name, name);
	c->processes[process].compared = true;
	out->count = 0;
	for (size_t session = 1; session <= c->baseline_sessions; session++) {
		const struct heap_sums *h = counterpart(c, session, name, turn, alone);
		if (h)
			out->list[out->count++] = h;
	}
	if (out->count == c->baseline_sessions)
		return;
	char *text = out->count ? xasprintf("%s: only %zu of the %zu baselines have such a process",
					    name, out->count, c->baseline_sessions)
				: xasprintf("%s: the baseline has no such process; it was not "
					    "compared",
					    name);
	if (out->count)
		check_note(c, text);
	else
		check_not_whole(c, process, text);
	free(text);
}

/* What the baselines have of one figure. */
struct past_bytes {
	uint64_t list[CHECK_BASELINES_MAX];
	size_t count;
};

static struct check_before summary(const struct past_bytes *a)
{
	struct check_before b = { .low = a->list[0], .high = a->list[0], .count = a->count };
	double sum = 0;

	for (size_t i = 0; i < a->count; i++) {
		b.low = a->list[i] < b.low ? a->list[i] : b.low;
		b.high = a->list[i] > b.high ? a->list[i] : b.high;
		sum += (double)a->list[i];
	}
	b.mean = a->count == 1 ? b.low : diff_round(sum / (double)a->count);
	return b;
}

/* Growth must exceed the tolerance, and the noise of several baselines, too. */
static uint64_t most_of(const struct check *c, const struct past_bytes *a)
{
	uint64_t most = tolerance_most(&c->options.tolerance, summary(a).mean),
		 noise = a->count < NOISE_SESSIONS_MIN ? 0 : noise_most(a->list, a->count);

	return noise > most ? noise : most;
}

static struct check_verdict *add(struct check *c, size_t process, const char *where)
{
	struct check_verdict *v = check_add(c, process, CHECK_BASELINE);

	v->name = xasprintf("--baseline, %s", where);
	v->where = xstrdup(where);
	return v;
}

static void judge_figure(struct check *c, size_t process, const char *where, uint64_t found,
			 const struct past_bytes *before, uint64_t error)
{
	struct check_verdict *v = add(c, process, where);
	char n[FORMAT_NUMBER];

	v->before = summary(before);
	if (check_compare(v, (int64_t)found, most_of(c, before) + error) &&
	    found + error > most_of(c, before))
		v->why = xasprintf("the peaks are known to within %s", format_bytes(n, error));
}

static void judge_all(struct check *c, size_t process, const struct heap_sums *now,
		      const struct counterparts *before)
{
	struct past_bytes live = { .count = before->count }, peak = live;
	uint64_t error = 0;

	for (size_t i = 0; i < before->count; i++) {
		const struct heap_sums *h = before->list[i];
		live.list[i] = h->live_bytes;
		peak.list[i] = h->peak_bytes;
		error = h->peak_error_bytes > error ? h->peak_error_bytes : error;
	}
	judge_figure(c, process, "live memory", now->live_bytes, &live, 0);
	judge_figure(c, process, "peak", now->peak_bytes, &peak, now->peak_error_bytes + error);
}

struct site_stacks { /* of one call site: its heaviest stacks, by the side's number */
	uint32_t stack[STACKS_SHOWN];
	uint32_t count;
};

struct comparison {
	struct judging *j;
	struct diff *diff; /* sides: the baselines', now */
	const struct side *now;
	struct map of_site;        /* diff_site() -> number + 1 */
	struct site_stacks *sites; /* heaviest stacks of now */
	size_t site_room;
};

/* A side's stacks come heaviest first, as the report's. */
static void find_stacks(struct comparison *x)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < x->now->stack_count; i++) {
		uint64_t site = diff_site(x->diff, x->diff->join->of_stack[x->diff->sides_a][i]);
		uint32_t number = map_get(&x->of_site, site, 0);
		struct tally sum = side_sum(x->now, i);

		if (!live_bytes(&sum))
			continue;
		if (!number)
			map_set(&x->of_site, site, number = ++count);
		GROW(x->sites, x->site_room, number);
		struct site_stacks *s = &x->sites[number - 1];
		if (s->count < STACKS_SHOWN)
			s->stack[s->count++] = i;
	}
}

/* stack: the side's number */
static void add_stack(const struct comparison *x, struct check_verdict *v, uint32_t stack)
{
	struct check_stack *to = &v->stacks[v->stack_count++];
	struct tally held = side_sum(x->now, stack);

	judging_copy(x->j, x->now->stacks[stack].number, to);
	to->bytes = (int64_t)live_bytes(&held);
	to->blocks = (int64_t)live_blocks(&held);
	v->estimate |= to->estimate;
}

static struct past_bytes bytes_before(const struct comparison *x, const struct diff_row *r)
{
	struct past_bytes a = { .count = x->diff->sides_a };

	for (size_t i = 0; i < a.count; i++)
		a.list[i] = live_bytes(&r->sums[i]);
	return a;
}

/* A site that no baseline has may be one of those that come and go. */
static uint64_t most_of_site(const struct comparison *x, const struct diff_row *r)
{
	struct past_bytes before = bytes_before(x, r);
	uint64_t most = most_of(x->j->check, &before),
		 chance = summary(&before).high ? 0 : presence_most(x->diff, r);

	return chance > most ? chance : most;
}

static const struct tally *sum_now(const struct comparison *x, const struct diff_row *r)
{
	return &r->sums[x->diff->sides_a];
}

/* Named as rules name it: "words!parse_word". */
static void judge_site(struct comparison *x, const struct diff_row *r)
{
	const struct site_stacks *s =
		&x->sites[map_get(&x->of_site, diff_site(x->diff, r->stack), 0) - 1];
	struct past_bytes before = bytes_before(x, r);
	char key[EXPECTED_KEY_MAX];

	report_site_key(x->j->report, x->now->stacks[s->stack[0]].number, key);
	struct check_verdict *v = add(x->j->check, x->j->process, key);
	v->before = summary(&before);
	v->blocks = (int64_t)live_blocks(sum_now(x, r));
	check_compare(v, (int64_t)live_bytes(sum_now(x, r)), most_of_site(x, r));
	v->stacks = xcalloc(STACKS_SHOWN, sizeof *v->stacks);
	for (uint32_t i = 0; i < s->count; i++)
		add_stack(x, v, s->stack[i]);
}

/* Rows come with the largest change first. */
static void judge_rows(struct comparison *x)
{
	const struct diff_rows *rows = &x->diff->sites;
	size_t found = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct diff_row *r = &rows->list[i];
		struct past_bytes before = bytes_before(x, r);
		if (live_bytes(sum_now(x, r)) > most_of(x->j->check, &before) &&
		    live_bytes(sum_now(x, r)) > most_of_site(x, r) && found++ < SITES_SHOWN)
			judge_site(x, r);
	}
	if (found > SITES_SHOWN) {
		char *text = xasprintf("%zu more call sites grew beyond the tolerance",
				       found - SITES_SHOWN);
		check_note(x->j->check, text);
		free(text);
	}
}

static void judge_sites(struct judging *j, const struct heap_sums *now,
			const struct counterparts *before)
{
	const struct side *sides[CHECK_BASELINES_MAX + 1];
	struct comparison x = { .j = j, .now = now->side };
	size_t count = 0;

	for (size_t i = 0; i < before->count; i++)
		if (before->list[i]->side)
			sides[count++] = before->list[i]->side;
	if (count < before->count)
		check_note(j->check, "The baseline has only totals of a process; its call sites "
				     "were not compared.");
	if (!count)
		return;
	sides[count] = now->side;
	x.diff = diff_new(sides, count, count + 1, DIFF_LIVE);
	find_stacks(&x);
	judge_rows(&x);
	map_release(&x.of_site);
	free(x.sites);
	diff_free(x.diff);
}

void baseline_judge(struct judging *j)
{
	struct counterparts before;
	struct heap_sums now;

	find_counterparts(j->check, j->process, !j->line, &before);
	if (!before.count)
		return;
	sum_up(j, &now);
	judge_all(j->check, j->process, &now, &before);
	judge_sites(j, &now, &before);
	heap_sums_release(&now);
}

void baseline_judge_totals(struct check *c, size_t process, const struct process *p)
{
	struct heap_sums now = { .live_bytes = check_own(p->live_bytes, process_inherited(p)),
				 .peak_bytes = p->peak_bytes };
	struct counterparts before;

	find_counterparts(c, process, false, &before);
	if (before.count)
		judge_all(c, process, &now, &before);
}
