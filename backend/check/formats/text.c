/* SPDX-License-Identifier: MIT
 *
 * text.c - the result of a check for people: a line for each verdict, and below a finding the
 * heaviest stacks from their call sites outwards. Of a tree, the processes without a finding share
 * a line for each limit: a build has thousands of them.
 */
#include "check/formats/formats.h"

#include "base/sanitize.h"

#include <stdlib.h>
#include <string.h>

#define EACH_ALONE 4u /* processes */

static void put_stack(const struct check_verdict *v, const struct check_stack *s, FILE *out)
{
	char text[VERDICT_TEXT];
	size_t first = words_first(s), left = s->count - first;
	size_t shown = left > FRAMES_SHOWN ? FRAMES_SHOWN - 1 : left;

	fprintf(out, "        %s\n", words_stack(v, s, text));
	for (size_t i = 0; i < shown; i++)
		fprintf(out, "            %s\n", words_frame(&s->frames[first + i], text));
	if (left > shown)
		fprintf(out, "            ... %zu frame%s more\n", left - shown,
			format_s(left - shown));
}

static void put_verdict(const struct check *c, const struct check_verdict *v, FILE *out)
{
	char text[VERDICT_TEXT], name[VERDICT_TEXT];

	fprintf(out, "  %s  %s: %s\n", v->failed ? "FAIL" : "ok  ",
		sanitize_clean(name, sizeof name, v->name), words_verdict(c, v, text));
	for (size_t i = 0; i < v->stack_count; i++)
		put_stack(v, &v->stacks[i], out);
}

static void put_process(const struct check *c, size_t process, FILE *out)
{
	char text[VERDICT_TEXT];

	fprintf(out, "%s\n", words_process(&c->processes[process], text));
	for (size_t i = 0; i < c->count; i++)
		if (c->verdicts[i].process == process)
			put_verdict(c, &c->verdicts[i], out);
}

static bool has_finding(const struct check *c, size_t process)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->verdicts[i].process == process && c->verdicts[i].failed)
			return true;
	return false;
}

#define PIDS_SHOWN 8u

/* A process that stands for those of its name with the same findings. */
struct like {
	size_t process;  /* the one with the largest finding */
	size_t *members; /* all of them; owned */
	size_t count, room;
};

static const struct check_verdict *next_finding(const struct check *c, size_t process, size_t *at)
{
	for (; *at < c->count; ++*at)
		if (c->verdicts[*at].process == process && c->verdicts[*at].failed)
			return &c->verdicts[(*at)++];
	return NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* The call sites of the heaviest stacks. */
static bool same_site(const struct check_verdict *a, const struct check_verdict *b)
{
	if (!a->stack_count || !b->stack_count)
		return a->stack_count == b->stack_count;
	const struct check_stack *s = &a->stacks[0], *t = &b->stacks[0];
	if (!s->count || !t->count)
		return s->count == t->count;
	const struct check_frame *f = &s->frames[words_first(s)], *g = &t->frames[words_first(t)];

	return same_text(f->function, g->function) && same_text(f->module, g->module) &&
	       (f->function || f->address == g->address);
}

static bool is_like(const struct check *c, size_t a, size_t b)
{
	size_t i = 0, k = 0;

	if (strcmp(c->processes[a].name, c->processes[b].name) ||
	    strcmp(c->processes[a].state, c->processes[b].state))
		return false;
	for (;;) {
		const struct check_verdict *x = next_finding(c, a, &i), *y = next_finding(c, b, &k);
		if (!x || !y)
			return x == y;
		if (strcmp(x->name, y->name) || !same_site(x, y) ||
		    (x->error && !same_text(x->why, y->why)))
			return false;
	}
}

static int64_t largest(const struct check *c, size_t process)
{
	int64_t most = 0;
	size_t at = 0;

	for (const struct check_verdict *v; (v = next_finding(c, process, &at));)
		most = v->found > most ? v->found : most;
	return most;
}

static size_t like_of(const struct check *c, struct like *list, size_t count, size_t process)
{
	for (size_t i = 0; i < count; i++)
		if (is_like(c, list[i].process, process))
			return i;
	return count;
}

static void put_alike(const struct check *c, const struct like *l, FILE *out)
{
	char name[VERDICT_TEXT];
	size_t shown = 0, more = l->count - 1;

	put_process(c, l->process, out);
	if (!more)
		return;
	fprintf(out, "  %zu more process%s of %s with the same findings, none larger:", more,
		more == 1 ? "" : "es",
		sanitize_clean(name, sizeof name, c->processes[l->process].name));
	for (size_t i = 0; i < l->count && shown < PIDS_SHOWN; i++)
		if (l->members[i] != l->process)
			fprintf(out, "%s [%d]", shown++ ? "," : "",
				c->processes[l->members[i]].pid);
	fputs(more > shown ? " ...\n" : "\n", out);
}

static void put_findings(const struct check *c, const bool *kept, FILE *out)
{
	struct like *list = xcalloc(c->process_count + 1, sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < c->process_count; i++) {
		if (kept[i])
			continue;
		size_t k = c->process_count > EACH_ALONE ? like_of(c, list, n, i) : n;
		struct like *l = &list[k];
		if (k == n++)
			l->process = i;
		else
			n--;
		if (largest(c, i) > largest(c, l->process))
			l->process = i;
		GROW(l->members, l->room, l->count + 1);
		l->members[l->count++] = i;
	}
	for (size_t i = 0; i < n; i++) {
		put_alike(c, &list[i], out);
		free(list[i].members);
	}
	free(list);
}

/* Of each limit, the verdict with the largest figure, in the order of the limits. A process that
 * was too short for a verdict on growth has none. */
static void put_largest(const struct check *c, const bool *kept, size_t count, FILE *out)
{
	const struct check_verdict **most = xcalloc(c->count + 1, sizeof(*most));
	char text[VERDICT_TEXT], process[VERDICT_TEXT], name[VERDICT_TEXT], number[FORMAT_NUMBER];
	const char *s = count == 1 ? "" : "es";
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct check_verdict *v = &c->verdicts[i];
		size_t k = 0;

		if (!kept[v->process])
			continue;
		while (k < n && strcmp(most[k]->name, v->name) != 0)
			k++;
		if (k == n || v->found > most[k]->found)
			most[k] = v;
		n += k == n;
	}
	format_count(number, count);
	if (n)
		fprintf(out, "%s process%s kept all limits; the largest of each:\n", number, s);
	else if (count)
		fprintf(out, "%s process%s without a verdict\n", number, s);
	for (size_t k = 0; k < n; k++)
		fprintf(out, "  ok    %s: %s  (%s)\n",
			sanitize_clean(name, sizeof name, most[k]->name),
			words_verdict(c, most[k], text),
			words_process(&c->processes[most[k]->process], process));
	free(most);
}

static void put_processes(const struct check *c, FILE *out)
{
	bool *kept = xcalloc(c->process_count + 1, sizeof *kept);
	size_t count = 0;

	for (size_t i = 0; i < c->process_count; i++) {
		kept[i] =
			c->process_count > EACH_ALONE && !has_finding(c, i) && !c->processes[i].all;
		count += kept[i];
	}
	put_findings(c, kept, out);
	put_largest(c, kept, count, out);
	free(kept);
}

static void put_suppressed(const struct check_suppressed *s, FILE *out)
{
	char bytes[FORMAT_NUMBER], blocks[FORMAT_NUMBER], name[512];

	if (s->live_blocks)
		fprintf(out, "suppressed %s in %s block%s: %s\n",
			format_bytes(bytes, s->live_bytes), format_count(blocks, s->live_blocks),
			format_s(s->live_blocks), sanitize_clean(name, sizeof name, s->name));
}

int check_text(const struct check *c, FILE *out, struct err *err)
{
	char text[VERDICT_TEXT];

	put_processes(c, out);
	for (size_t i = 0; i < c->suppressed_count; i++)
		put_suppressed(&c->suppressed[i], out);
	for (size_t i = 0; i < c->note_count; i++)
		fprintf(out, "! %s\n", sanitize_clean(text, sizeof text, c->notes[i]));
	fprintf(out, "memtop check: %s\n", words_summary(c, text));
	return report_flush(out, err);
}
