/* SPDX-License-Identifier: MIT
 *
 * of_watches.c - processes that somebody else follows, as a tree for All (processes/all.h): a line
 * for each watch. What a fork inherited counts once where its parent is among them; /proc says who
 * that is.
 */
#include "base/procfs.h"
#include "processes/lines.h"
#include "processes/watches.h"

static uint64_t begun(struct watch *w)
{
	return model_program(watch_now(w))->start_unix_ns;
}

static uint64_t first_of(struct watch *const *list, size_t n)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		first = begun(list[i]) < first ? begun(list[i]) : first;
	return first;
}

static void add(struct processes *p, struct watch *w, uint64_t first)
{
	const struct program *g = model_program(watch_now(w));
	struct line *l = lines_add(p, 0, p->origin_ns);

	l->p.pid = (int)g->pid;
	l->p.state = PROCESS_RUNNING;
	l->p.matters = true;
	l->p.watch = w;
	l->p.begin_ns = g->start_unix_ns - first;
	snprintf(l->p.name, sizeof l->p.name, "%.63s", g->name);
	watches_figures(p, l);
}

static void find_parent(struct processes *p, struct line *l)
{
	struct proc_stat s;

	if (!l->p.forked || !procfs_stat((pid_t)watch_pid(l->p.watch, NULL), &s))
		return;
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] != l && (pid_t)watch_pid(p->lines[i]->p.watch, NULL) == s.parent)
			l->p.parent = p->lines[i]->p.id;
}

struct processes *processes_of_watches(struct loop *loop, struct watch *const *list, size_t n,
				       struct err *err)
{
	struct processes *p = processes_new(loop, &(struct processes_options){ 0 }, err);

	if (!p)
		return NULL;
	uint64_t first = first_of(list, n), now = unix_now_ns();
	p->origin_ns = now_ns() - (now > first ? now - first : 0);
	p->borrowed = p->tree = true;
	for (size_t i = 0; i < n; i++)
		add(p, list[i], first);
	for (size_t i = 0; i < p->count; i++)
		find_parent(p, p->lines[i]);
	p->ordered = false;
	return p;
}
