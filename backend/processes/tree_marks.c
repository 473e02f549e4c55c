/* SPDX-License-Identifier: MIT
 *
 * tree_marks.c - a mark in every process of the tree.
 *
 * A process that has not mattered yet has no watch, and no link to set a mark over. A mark makes it
 * matter: watches.c opens a watch, and the mark follows when its link is up, some milliseconds
 * after the others. A process that ends before, or has no session within LATE_NS, stays without the
 * mark; the session then names it, so that a missing mark is never taken for one before its start.
 */
#include "processes/tree_marks.h"
#include "processes/records.h"

#include <stdlib.h>
#include <string.h>

#define LATE_NS 5000000000ull
#define NAMED_MAX 8u

static void miss(struct processes *p, const struct line *l, const char *name)
{
	if (l->hidden || p->unmarked_count++ >= NAMED_MAX)
		return;
	char *text = xasprintf("%s%s%s [%d] lacks %s", p->unmarked ? p->unmarked : "",
			       p->unmarked ? ", " : "", l->p.name, l->p.pid, name);
	free(p->unmarked);
	p->unmarked = text;
}

static void go_on(struct processes *p, struct line *l)
{
	bool linked = l->p.watch && watch_live(l->p.watch);
	bool over = !line_runs(l) || l->gave_up;
	size_t n = 0;

	for (; n < l->mark_count; n++) {
		struct mark_due *due = &l->marks_due[n];
		bool set = linked && !over && watch_mark(l->p.watch, due->name) == 0;
		if (!set && !over && now_ns() < due->until_ns)
			break;
		if (!set)
			miss(p, l, due->name);
		free(due->name);
	}
	l->mark_count -= n;
	if (n)
		memmove(l->marks_due, l->marks_due + n, l->mark_count * sizeof *l->marks_due);
}

void tree_marks_go_on(struct processes *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] && p->lines[i]->mark_count)
			go_on(p, p->lines[i]);
}

void tree_marks_end(struct processes *p)
{
	for (size_t i = 0; i < p->count; i++)
		for (size_t n = 0; p->lines[i] && n < p->lines[i]->mark_count; n++)
			miss(p, p->lines[i], p->lines[i]->marks_due[n].name);
	if (!p->unmarked || !p->first)
		return;
	size_t more = p->unmarked_count > NAMED_MAX ? p->unmarked_count - NAMED_MAX : 0;
	char rest[64] = "";
	if (more)
		snprintf(rest, sizeof rest, ", and %zu more like these", more);
	char *text =
		xasprintf("Marks that are not in every process that ran: %s%s.", p->unmarked, rest);
	watch_note(p->first, text);
	free(text);
	free(p->unmarked);
	p->unmarked = NULL;
}

static void want(struct line *l, const char *name)
{
	GROW(l->marks_due, l->mark_room, l->mark_count + 1);
	l->marks_due[l->mark_count++] = (struct mark_due){ xstrdup(name), now_ns() + LATE_NS };
}

size_t processes_change_mark(struct processes *p, const char *name, const char *to)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct watch *w = p->lines[i] ? p->lines[i]->p.watch : NULL;
		int id = w ? model_mark_find(watch_now(w), name) : -1;
		if (id > 0)
			n += !(to ? watch_rename_mark(w, (uint32_t)id, to)
				  : watch_drop_mark(w, (uint32_t)id));
	}
	return n;
}

size_t processes_mark(struct processes *p, const char *name)
{
	size_t set = 0, due = 0;

	if (p->board) /* a process may have begun since the last look */
		records_read(p, true);
	struct line **unmarked = xcalloc(p->count + 1, sizeof(struct line *));
	for (size_t i = 0; i < p->count; i++) {
		struct line *l = p->lines[i];
		if (!l)
			continue;
		if (l->p.watch && !l->mark_count && watch_mark(l->p.watch, name) == 0)
			set++;
		else if (l->p.state == PROCESS_RUNNING)
			unmarked[due++] = l;
	}
	/* without any link the caller tries again */
	for (size_t i = 0; set && i < due; i++)
		want(unmarked[i], name);
	free(unmarked);
	return set ? set + due : 0;
}
