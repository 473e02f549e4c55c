/* SPDX-License-Identifier: MIT
 *
 * baseline.c - compares a session with one that was good: live memory and peak of each process, and
 * live memory of each call site.
 *
 * A leak in a large program is a small part of the whole, so call sites are compared one by one. A
 * call site is known by its module and function (query/expected.h), which hold in another build. A
 * process is known by its name and its turn among the processes of this name.
 */
#include "check/internal.h"

#include <stdlib.h>
#include <string.h>

#define SITES_SHOWN 50
#define STACKS_SHOWN 2

/* --- sums by call site */

static int compare_keys(const void *a, const void *b)
{
	const struct site_sum *x = a, *y = b;

	return strcmp(x->key, y->key);
}

/* Sorts by key, and makes one of those with the same key. */
static void merge_sites(struct heap_sums *h)
{
	size_t kept = 0;

	if (h->count)
		qsort(h->sites, h->count, sizeof *h->sites, compare_keys);
	for (size_t i = 0; i < h->count; i++) {
		struct site_sum *s = &h->sites[i], *to = kept ? &h->sites[kept - 1] : NULL;

		if (!to || strcmp(to->key, s->key)) {
			h->sites[kept++] = *s;
			continue;
		}
		to->bytes += s->bytes;
		to->blocks += s->blocks;
		free(s->key);
	}
	h->count = kept;
}

static uint64_t inherited_of(const struct judging *j)
{
	return j->line ? j->line->inherited_bytes : 0;
}

static void sum_up(struct judging *j, struct heap_sums *h)
{
	const struct totals *t = model_totals(j->model);
	uint64_t live = live_bytes(&t->sum);
	char key[EXPECTED_KEY_MAX];
	size_t room = 0;

	*h = (struct heap_sums){ .whole = true };
	for (size_t i = 0; i < j->report->stack_count; i++) {
		const struct report_stack *s = &j->report->stacks[i];

		if (!live_blocks(&s->sum))
			continue;
		if (!judging_counts(j, s)) {
			live = check_own(live, live_bytes(&s->sum));
			continue;
		}
		query_stack_key(j->query, s->leaf, key);
		GROW(h->sites, room, h->count + 1);
		h->sites[h->count++] = (struct site_sum){ xstrdup(key), live_bytes(&s->sum),
							  live_blocks(&s->sum) };
	}
	merge_sites(h);
	h->live_bytes = check_own(live, inherited_of(j));
	h->peak_bytes = t->peak_bytes;
	h->peak_error_bytes = t->peak_error_bytes;
}

/* --- learning */

static size_t turn_of(const struct check *c, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < c->baseline_count; i++)
		n += !strcmp(c->baseline[i].name, name);
	return n;
}

static void keep(struct check *c, struct heap_sums *h, const char *name)
{
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
	struct heap_sums h = { .live_bytes = check_own(p->live_bytes, p->inherited_bytes),
			       .peak_bytes = p->peak_bytes };

	keep(c, &h, p->name);
}

/* --- judging */

static const struct heap_sums *counterpart(struct check *c, size_t process)
{
	const char *name = c->processes[process].name;
	size_t turn = 0;

	for (size_t i = 0; i < process; i++)
		turn += c->processes[i].compared && !strcmp(c->processes[i].name, name);
	c->processes[process].compared = true;
	for (size_t i = 0; i < c->baseline_count; i++)
		if (c->baseline[i].turn == turn && !strcmp(c->baseline[i].name, name))
			return &c->baseline[i];
	char *text = xasprintf("%s: the baseline has no such process; it was not compared", name);
	check_whole(c, process, text);
	free(text);
	return NULL;
}

static struct check_verdict *add(struct check *c, size_t process, const char *where)
{
	struct check_verdict *v = check_add(c, process, CHECK_BASELINE);

	v->name = xasprintf("--baseline, %s", where);
	v->where = xstrdup(where);
	return v;
}

static void judge_figure(struct check *c, size_t process, const char *where, uint64_t found,
			 uint64_t before, uint64_t error)
{
	struct check_verdict *v = add(c, process, where);

	v->before = before;
	check_compare(v, (int64_t)found, tolerance_most(&c->options.tolerance, before) + error);
}

static void judge_whole(struct check *c, size_t process, const struct heap_sums *now,
			const struct heap_sums *before)
{
	judge_figure(c, process, "live memory", now->live_bytes, before->live_bytes, 0);
	judge_figure(c, process, "peak", now->peak_bytes, before->peak_bytes,
		     now->peak_error_bytes + before->peak_error_bytes);
}

static uint64_t bytes_before(const struct heap_sums *h, const struct site_sum *s)
{
	const struct site_sum *found =
		h->count ? bsearch(s, h->sites, h->count, sizeof *s, compare_keys) : NULL;

	return found ? found->bytes : 0;
}

struct grown {
	const struct site_sum *site;
	uint64_t before, most;
};

static int compare_grown(const void *a, const void *b)
{
	const struct grown *x = a, *y = b;
	uint64_t dx = x->site->bytes - x->before, dy = y->site->bytes - y->before;

	return dx != dy ? (dx < dy ? 1 : -1) : strcmp(x->site->key, y->site->key);
}

static void add_stacks(struct judging *j, struct check_verdict *v, const char *site)
{
	char key[EXPECTED_KEY_MAX];

	v->stacks = xcalloc(STACKS_SHOWN, sizeof *v->stacks);
	for (size_t i = 0; i < j->report->stack_count && v->stack_count < STACKS_SHOWN; i++) {
		const struct report_stack *s = &j->report->stacks[i];

		if (!live_bytes(&s->sum))
			break;
		query_stack_key(j->query, s->leaf, key);
		if (!judging_counts(j, s) || strcmp(key, site))
			continue;
		struct check_stack *to = &v->stacks[v->stack_count++];
		judging_copy(j, s, to);
		to->bytes = (int64_t)live_bytes(&s->sum);
		to->blocks = (int64_t)live_blocks(&s->sum);
	}
}

static void judge_site(struct judging *j, const struct grown *g)
{
	struct check_verdict *v = add(j->check, j->process, g->site->key);

	v->before = g->before;
	v->blocks = (int64_t)g->site->blocks;
	check_compare(v, (int64_t)g->site->bytes, g->most);
	add_stacks(j, v, g->site->key);
	for (size_t i = 0; i < v->stack_count; i++)
		v->estimate |= v->stacks[i].estimate;
}

static void judge_sites(struct judging *j, const struct heap_sums *now,
			const struct heap_sums *before)
{
	struct grown *list = xcalloc(now->count + 1, sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < now->count; i++) {
		uint64_t was = bytes_before(before, &now->sites[i]),
			 most = tolerance_most(&j->check->options.tolerance, was);

		if (now->sites[i].bytes > most)
			list[n++] = (struct grown){ &now->sites[i], was, most };
	}
	if (n)
		qsort(list, n, sizeof *list, compare_grown);
	for (size_t i = 0; i < n && i < SITES_SHOWN; i++)
		judge_site(j, &list[i]);
	if (n > SITES_SHOWN) {
		char *text =
			xasprintf("%zu more call sites grew beyond the tolerance", n - SITES_SHOWN);
		check_note(j->check, text);
		free(text);
	}
	free(list);
}

void baseline_judge(struct judging *j)
{
	const struct heap_sums *before = counterpart(j->check, j->process);
	struct heap_sums now;

	if (!before)
		return;
	sum_up(j, &now);
	judge_whole(j->check, j->process, &now, before);
	if (before->whole)
		judge_sites(j, &now, before);
	else
		check_note(j->check, "The baseline has only totals of a process; its call sites "
				     "were not compared.");
	heap_sums_release(&now);
}

void baseline_judge_totals(struct check *c, size_t process, const struct process *p)
{
	struct heap_sums now = { .live_bytes = check_own(p->live_bytes, p->inherited_bytes),
				 .peak_bytes = p->peak_bytes };
	const struct heap_sums *before = counterpart(c, process);

	if (before)
		judge_whole(c, process, &now, before);
}
