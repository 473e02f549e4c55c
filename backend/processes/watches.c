/* SPDX-License-Identifier: MIT
 *
 * watches.c - opens a watch for each process that matters, and copies its figures to the line.
 *
 * A process matters when it has held or allocated enough, has lived long enough, or when its server
 * waits for memtop at its end. At most WATCHES are open at once. The largest waiting process comes
 * first; ended ones make room, the smallest first. The first program's watch belongs to the caller.
 */
#include "processes/watches.h"
#include "processes/all.h"
#include "processes/lines.h"
#include "processes/relatives.h"

#include <stdlib.h>
#include <string.h>

#define WATCHES 64
#define OPENED_A_LOOK 8
/* after this time an ended process' agent will never greet */
#define GREETING_NS 3000000000ull

static bool is_first_watch(const struct processes *p, const struct line *l)
{
	return l->p.watch && l->p.watch == p->first;
}

static void take_state(struct processes *p, struct line *l, uint32_t state, int status, bool known)
{
	if (!known || !line_runs(l) || (state != MTW_EXITED && state != MTW_SIGNALLED))
		return;
	l->p.status = status;
	l->p.status_known = true;
	l->p.end_ns = now_ns() - p->origin_ns;
	lines_state(p, l, state == MTW_EXITED ? PROCESS_EXITED : PROCESS_SIGNALLED);
}

static uint64_t rest_of(uint64_t allocated, uint64_t freed)
{
	return allocated > freed ? allocated - freed : 0;
}

/* With a board, the records give this for each image. */
static void take_fork(struct line *l, const struct program *g)
{
	l->p.forked = g->forked;
	l->p.before_blocks = g->before.alloc_blocks;
	l->p.before_bytes = g->before.alloc_bytes;
	l->p.inherited_blocks = rest_of(g->before.alloc_blocks, g->before.free_blocks);
	l->p.inherited_bytes = rest_of(g->before.alloc_bytes, g->before.free_bytes);
}

/* A state that is whole knows them exactly, and one that was cut off before that never. */
static void take_inherited(struct line *l, const struct model *m)
{
	struct tally t;

	if (!l->p.forked || !model_inherited(m, &t))
		return;
	l->p.inherited_known = true;
	l->p.inherited_live_bytes = live_bytes(&t);
	l->p.inherited_live_blocks = live_blocks(&t);
}

static void take_arguments(struct line *l, const struct program *g)
{
	char title[1024] = "";
	size_t len = 0;

	for (size_t i = 0; i < g->arg_count && len < sizeof title; i++)
		len += (size_t)snprintf(title + len, sizeof title - len, "%s%s", i ? " " : "",
					g->args[i]);
	line_title(l, title);
}

static void take_program(struct line *l, const struct program *g)
{
	take_fork(l, g);
	if (!*l->p.title)
		take_arguments(l, g);
	if (!l->p.pid)
		l->p.pid = (int)g->pid;
	if (strcmp(l->p.path, g->exe)) {
		line_say(&l->path, g->exe);
		l->p.path = l->path ? l->path : "";
	}
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * The line of the program g, which the watch of l shows: l, or one that executed it. Each has its
 * own start; the wall clock may have been set, so the nearest decides. A fork has its parent's.
 */
static struct line *line_of_program(const struct processes *p, struct line *l,
				    const struct program *g)
{
	uint64_t start = g->start_unix_ns - (unix_now_ns() - now_ns());
	struct line *best = l;

	for (struct line *x = lines_at(p, l->before); x; x = lines_at(p, x->before))
		if (x->p.forked == g->forked &&
		    (g->forked || apart(x->start_ns, start) < apart(best->start_ns, start)))
			best = x;
	return best;
}

/* A file's stream shows the last program in it. */
static void give_stream(struct processes *p, struct line *l, struct line *to)
{
	uint32_t stream = watch_stream(l->p.watch);

	if (to->stream == stream)
		return;
	for (struct line *x = l; x; x = lines_at(p, x->before))
		if (x->stream == stream)
			line_stream(x, STREAM_NONE);
	line_stream(to, stream);
}

void watches_figures(struct processes *p, struct line *l)
{
	struct model *m = watch_now(l->p.watch);
	const struct program *g = model_program(m);
	const struct totals *t = model_totals(m);
	int status;
	bool known;
	uint32_t state = model_state(m, &status, &known);

	struct line *shown = g ? line_of_program(p, l, g) : NULL;
	if (shown && watch_keeps(l->p.watch))
		give_stream(p, l, shown);
	/* of the program before, in this process */
	if (shown != l || !model_ticks(m) || (state == MTW_EXECED && line_runs(l)))
		return;
	line_figures(l, &t->sum, t->peak_bytes);
	if (!p->board)
		take_program(l, g);
	take_inherited(l, m);
	/* the board names each image; here it may be the next one */
	if (l->p.id == p->first_now && !l->serial)
		snprintf(l->p.name, sizeof l->p.name, "%.63s", g->name);
	l->p.exact = model_complete(m) || model_final(m);
	l->p.rate = line_runs(l) ? model_rates(m).alloc_bytes : 0;
	l->p.rate_known = line_runs(l) && !p->file;
	if (model_final(m))
		take_state(p, l, state, status, known);
}

static void drop(struct processes *p, struct line *l)
{
	if (p->all)
		all_keep(p->all, l->p.watch);
	watch_close(l->p.watch);
	l->p.watch = NULL;
	p->changed = true;
}

static bool is_ended(const struct line *l)
{
	return l->p.watch && !line_runs(l) &&
	       (model_final(watch_now(l->p.watch)) || !watch_live(l->p.watch));
}

static size_t count_watches(const struct processes *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->lines[i] && p->lines[i]->p.watch;
	return n;
}

/* Closes the smallest ended watch that no view shows. */
static bool make_room(struct processes *p)
{
	struct line *least = NULL;

	if (count_watches(p) < WATCHES)
		return true;
	for (size_t i = 0; i < p->count; i++) {
		struct line *l = p->lines[i];
		if (l && is_ended(l) && !is_first_watch(p, l) && !l->given &&
		    (!least || l->p.peak_bytes < least->p.peak_bytes))
			least = l;
	}
	if (least)
		drop(p, least);
	return least != NULL;
}

static bool matters(const struct processes *p, const struct line *l)
{
	uint64_t lived = l->p.state == PROCESS_RUNNING ? now_ns() - p->origin_ns - l->p.begin_ns
						       : l->p.end_ns - l->p.begin_ns;

	return l->lingers || lived >= p->options.matter_ns || lines_is_large(p, l);
}

void watches_target(struct processes *p, struct line *l, struct target *t)
{
	*t = (struct target){ .kind = l->by_pid        ? TARGET_PID
				      : l->path_socket ? TARGET_PATH
						       : TARGET_ABSTRACT,
			      .pid = relatives_pid(p, l) };
	snprintf(t->name, sizeof t->name, "%s", l->socket);
	snprintf(t->text, sizeof t->text, "%s [%d]", l->p.name, l->p.pid);
}

static struct watch *open_watch(struct processes *p, struct line *l, struct err *err)
{
	struct watch_options o = p->options.watch;
	struct target t;

	watches_target(p, l, &t);
	o.wait = true;
	o.spool = 0;
	o.share = watch_keeps(p->first) ? p->first : NULL;
	o.stream = ++p->streams;
	l->p.watch = watch_open(p->loop, &t, &o, err);
	/* a mark makes no process one to begin a report with */
	l->p.matters |= l->p.watch && (!l->mark_count || matters(p, l));
	p->changed = true;
	return l->p.watch;
}

static struct watch *open_file(struct processes *p, struct line *l, struct err *err)
{
	struct target t = *watch_target(p->first);

	t.kind = TARGET_FILE; /* also where All's is the first */
	if (!processes_target(p, l->p.id, &t, err))
		l->p.watch = watch_open(p->loop, &t, &p->options.watch, err);
	return l->p.watch;
}

bool watches_may(const struct line *l)
{
	return l->socket && !l->hidden &&
	       (l->p.state == PROCESS_RUNNING || (l->lingers && !line_runs(l)));
}

/* The largest process that waits for a watch. */
static struct line *most_due(const struct processes *p)
{
	struct line *most = NULL;

	for (size_t i = 0; i < p->count; i++) {
		struct line *l = p->lines[i];
		if (!l || l->p.watch || l->gave_up || !watches_may(l) ||
		    (!matters(p, l) && !l->mark_count))
			continue;
		if (!most || l->p.peak_bytes > most->p.peak_bytes)
			most = l;
	}
	return most;
}

static void say_crowded(struct line *l)
{
	char text[160];

	snprintf(text, sizeof text,
		 "only its totals are known: memtop was already watching %d processes", WATCHES);
	line_say(&l->why, text);
	l->p.why = l->why;
}

/* A forked child starts its session when it allocates or waits; if it has done neither since it
 * began to matter, it has none. */
void watches_explain(struct processes *p, struct line *l)
{
	if (!p->board || l->hidden || !l->p.forked || l->p.matters || l->socket || l->why ||
	    !matters(p, l))
		return;
	line_say(&l->why, "only its totals are known: a fork that stayed inside one call or loop "
			  "(a lock, a read, a computation)");
	l->p.why = l->why;
	p->changed = true;
}

static void open_due(struct processes *p)
{
	struct err err;
	struct line *l;

	if (!watch_keeps(p->first) && watch_may_keep(p->first) && !p->first_ended)
		return; /* its file is about to be made */
	for (int i = 0; i < OPENED_A_LOOK && (l = most_due(p)); i++) {
		l->p.matters |= matters(p, l);
		if (!make_room(p)) {
			say_crowded(l);
			/* it may end before there is room; one that runs is asked again */
			l->gave_up = !line_runs(l);
			return;
		}
		if (!open_watch(p, l, &err)) {
			line_say(&l->why, err.text);
			l->p.why = l->why;
			l->gave_up = true;
		}
	}
}

/* Closes watches that no view can show, or that will never have data. */
static void close_done(struct processes *p, struct line *l)
{
	bool never = !line_runs(l) && !model_ticks(watch_now(l->p.watch)) &&
		     now_ns() - l->changed_ns > GREETING_NS;

	if (is_first_watch(p, l) || l->given)
		return;
	if (never || (!p->options.keep_ended && is_ended(l) && model_final(watch_now(l->p.watch)) &&
		      watch_named(l->p.watch))) {
		l->gave_up = true;
		drop(p, l);
	}
}

void watches_care(struct processes *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct line *l = p->lines[i];
		if (l && l->p.watch) {
			l->p.matters |= line_runs(l) && matters(p, l);
			if (!l->over)
				watches_figures(p, l);
			close_done(p, l);
		} else if (l && !line_runs(l)) {
			watches_explain(p, l);
		}
	}
	open_due(p);
}

bool processes_pending(const struct processes *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct line *l = p->lines[i];
		bool recent = l && !line_runs(l) && now_ns() - l->changed_ns < GREETING_NS;
		if (recent && l->p.watch && l->p.watch != p->first &&
		    !model_final(watch_now(l->p.watch)))
			return true;
		if (recent && l->lingers && !l->p.watch && !l->gave_up && l->socket)
			return true;
	}
	return false;
}

struct line *watches_one(struct processes *p, struct watch *w)
{
	struct line *l = lines_add(p, 0, p->origin_ns);
	const struct program *g = model_program(watch_now(w));

	p->first_now = l->p.id;
	l->p.pid = g ? (int)g->pid : 0;
	l->p.state = PROCESS_RUNNING;
	l->p.matters = true;
	l->p.watch = w;
	watches_figures(p, l);
	p->file_ns = model_time(watch_now(w));
	if (l->p.end_ns)
		l->p.end_ns = p->file_ns;
	return l;
}

static struct watch *watch_all(struct processes *p, struct err *err)
{
	if (!p->all && p->file)
		p->all = all_of_file(p->loop, p, watch_target(p->first), &p->options.watch, err);
	else if (!p->all)
		p->all = all_of_tree(p->loop, p, &p->options.watch, err);
	return p->all_row.watch = p->all ? all_watch(p->all) : NULL;
}

struct watch *processes_watch(struct processes *p, uint32_t id, struct err *err)
{
	if (id == PROCESS_ALL)
		return watch_all(p, err);
	struct line *l = lines_at(p, id);

	if (l && !l->p.watch && p->file)
		open_file(p, l, err);
	else if (l && !l->p.watch && watches_may(l))
		open_watch(p, l, err);
	else if (l && !l->p.watch)
		err_set(err, 3, "%s [%d]: cannot be shown: %s", l->p.name, l->p.pid,
			l->p.why       ? l->p.why
			: line_runs(l) ? "its agent does not listen yet; try again"
				       : "it was small and short-lived: only its totals are known");
	if (!l)
		err_set(err, 3, "process %u: no such process; P lists them", id);
	if (l && l->p.watch)
		l->given = true;
	return l ? l->p.watch : NULL;
}

void processes_holders(const struct processes *p, struct skeleton *s,
		       const struct process_part *parts, size_t count, size_t *holders, size_t rows)
{
	memset(holders, 0, rows * sizeof *holders);
	if (p->all)
		all_holders(p->all, s, parts, count, holders, rows);
}

size_t processes_holding(const struct processes *p, const uint32_t *slots, size_t count,
			 struct process_held **list)
{
	*list = NULL;
	return p->all ? all_held_by(p->all, slots, count, list) : 0;
}
