/* SPDX-License-Identifier: MIT
 *
 * processes.c - the clock of a process tree: when each part looks, reads and writes; its first
 * process, its begin and end.
 */
#include "processes/tree_state.h"
#include "base/loop.h"
#include "processes/all.h"
#include "processes/file.h"
#include "processes/lines.h"
#include "processes/records.h"
#include "processes/relatives.h"
#include "processes/titles.h"
#include "processes/tree_marks.h"
#include "processes/watches.h"

#include <stdlib.h>
#include <sys/wait.h>

#define POLL_MS 50
#define SECOND_NS 1000000000ull

static void on_second(struct processes *p, uint64_t now)
{
	p->second_ns = now;
	relatives_look_alive(p);
	relatives_look_near(p);
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] && p->lines[i]->p.state == PROCESS_RUNNING)
			line_measure(p->lines[i], now);
	file_write(p);
	p->changed = true;
}

static void on_poll(void *arg)
{
	struct processes *p = arg;
	uint64_t now = now_ns();
	bool second = now - p->second_ns >= SECOND_NS;

	if (p->file || !p->first)
		return;
	if (p->board && (shared_board_moved(p->board) || second))
		records_read(p, second);
	watches_care(p);
	titles_look(p, second);
	tree_marks_go_on(p);
	if (second)
		on_second(p, now);
	if (p->all)
		all_go_on(p->all);
	if (p->changed && p->on_change)
		p->on_change(p->arg);
	p->changed = false;
}

struct processes *processes_new(struct loop *loop, const struct processes_options *o,
				struct err *err)
{
	struct processes *p = xcalloc(1, sizeof *p);

	p->loop = loop;
	p->options = *o;
	if (!o->matter_bytes)
		p->options.matter_bytes = PROCESSES_MATTER_BYTES;
	if (!o->matter_ns)
		p->options.matter_ns = PROCESSES_MATTER_NS;
	if (!o->matter_alloc_bytes)
		p->options.matter_alloc_bytes = PROCESSES_MATTER_ALLOC_BYTES;
	p->origin_ns = p->second_ns = now_ns();
	if (o->follow) {
		p->board = shared_board_new(&(struct board_rule){ p->options.matter_bytes,
								  p->options.matter_ns,
								  p->options.matter_alloc_bytes },
					    err);
		p->seats = xcalloc(BOARD_RECORDS, sizeof *p->seats);
	}
	if (o->follow && !p->board) {
		processes_free(p);
		return NULL;
	}
	p->timer = loop_timer(loop, POLL_MS, true, on_poll, p);
	return p;
}

const char *processes_board(const struct processes *p)
{
	return p->board ? shared_board_path(p->board) : "";
}

/* A file's watch shows one of its streams; without a table it is the only one. */
static void first_of_file(struct processes *p, struct watch *w)
{
	const struct target *t = watch_target(w);
	struct line *l = NULL;

	if (!p->file)
		p->file = xstrdup(t->name);
	if (!p->kept && !processes_read(p, p->file))
		l = watches_one(p, w);
	for (size_t i = 0; i < p->count && p->tree; i++)
		if (p->lines[i] && p->lines[i]->stream == t->stream)
			l = p->lines[i];
	if (!l)
		l = watches_one(p, w);
	l->p.watch = w;
	l->given = true;
	if (p->note)
		watch_note(w, p->note);
}

static struct line *add_first(struct processes *p, pid_t pid, const char *name)
{
	p->origin_ns = now_ns();
	struct line *l = lines_add(p, 0, p->origin_ns);
	p->first_pid = pid;
	p->first_now = l->p.id;
	l->p.pid = (int)pid;
	snprintf(l->p.name, sizeof l->p.name, "%.63s", name);
	return l;
}

void processes_launcher(struct processes *p, pid_t pid, const char *name)
{
	add_first(p, pid, name);
}

/* The launcher itself, when it executes the program. */
bool processes_launched(struct processes *p, struct target *t)
{
	struct line *first = lines_at(p, 1), *found = NULL;

	records_read(p, false);
	for (size_t i = 0; i < p->count && !found; i++)
		if (p->lines[i] && watches_may(p->lines[i]))
			found = p->lines[i];
	if (!found)
		return false;
	if (found != first) {
		line_say(&first->why, records_why_not(BOARD_STATIC));
		first->p.why = first->why;
		lines_state(p, first, PROCESS_UNFOLLOWED);
	}
	p->first_now = found->p.id;
	watches_target(p, found, t);
	return true;
}

void processes_first(struct processes *p, pid_t pid, struct watch *w)
{
	struct line *l = lines_at(p, p->first_now);

	p->first = w;
	if (watch_target(w)->kind == TARGET_FILE) {
		p->first_pid = pid;
		first_of_file(p, w);
		return;
	}
	if (!l)
		l = add_first(p, pid, watch_target(w)->text);
	l->p.state = PROCESS_RUNNING;
	l->p.matters = true;
	l->p.watch = w;
	if (!p->board)
		watches_care(p); /* what is known of it, at once */
}

/* The status belongs to the last program of its process. */
void processes_first_ended(struct processes *p, int wait_status)
{
	struct line *last = lines_at(p, 1);

	if (p->board)
		records_read(p, true);
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] && p->lines[i]->p.pid == (int)p->first_pid &&
		    p->lines[i]->p.state != PROCESS_EXECED)
			last = p->lines[i];
	p->first_ended = true;
	if (!last)
		return; /* it was never watched */
	last->p.status =
		WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
	last->p.status_known = true;
	if (!last->p.end_ns)
		last->p.end_ns = now_ns() - p->origin_ns;
	if (last->p.state != PROCESS_UNFOLLOWED)
		lines_state(p, last, WIFSIGNALED(wait_status) ? PROCESS_SIGNALLED : PROCESS_EXITED);
}

int processes_end(struct processes *p, struct err *err)
{
	int rc = 0;

	if (p->board)
		records_read(p, true);
	watches_care(p);
	/* The last looks run the loop: meanwhile no watch is closed, in the midst of its own. */
	loop_remove(p->timer);
	p->timer = NULL;
	for (size_t i = 0; i < p->count; i++) {
		struct line *l = p->lines[i];
		struct watch *w = l ? l->p.watch : NULL;
		if (w && w != p->first && watch_end_record(w, err))
			rc = -1;
		if (w && w != p->first) {
			watches_figures(p, l); /* frames came meanwhile */
			l->over = l->p.recorded;
		} else if (l && !w)
			/* one that runs on, too: nothing more comes */
			watches_explain(p, l);
	}
	p->timer = loop_timer(p->loop, POLL_MS, true, on_poll, p);
	if (p->board)
		records_read(p, true); /* who ended meanwhile: nobody reads the board after this */
	tree_marks_end(p);
	file_write(p);
	return rc;
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	loop_remove(p->timer);
	tree_marks_end(p);
	all_free(p->all);
	for (size_t i = 0; i < p->count; i++) {
		if (p->lines[i] && p->lines[i]->p.watch != p->first && !p->borrowed)
			watch_close(p->lines[i]->p.watch);
		line_free(p->lines[i]);
	}
	shared_board_free(p->board);
	free(p->seats);
	free(p->file);
	free(p->note);
	free(p->lines);
	free(p->order);
	free(p->list);
	free(p);
}

void processes_on_change(struct processes *p, void (*fn)(void *arg), void *arg)
{
	p->on_change = fn;
	p->arg = arg;
}

size_t processes_set_option(struct processes *p, const char *name, const char *value)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct watch *w = p->lines[i] ? p->lines[i]->p.watch : NULL;
		n += w && !watch_set_option(w, name, value);
	}
	return n;
}
