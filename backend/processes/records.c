/* SPDX-License-Identifier: MIT
 *
 * records.c - turns records of the board into lines.
 *
 * All changed records are copied first, then handled in the order of their start, so that parents
 * precede their children. Index and serial identify a record; `seats` maps a record to the line of
 * its current life and of the one before.
 */
#include "processes/records.h"
#include "processes/lines.h"

#include <stdlib.h>
#include <string.h>

struct taken {
	uint32_t index;
	struct board_record r;
};

static uint32_t line_of(const struct processes *p, uint32_t index, uint32_t serial)
{
	const struct seat *s = index < BOARD_RECORDS ? &p->seats[index] : NULL;

	if (s && s->line && s->serial == serial)
		return s->line;
	return s && s->before_line && s->before_serial == serial ? s->before_line : 0;
}

static void take_seat(struct processes *p, uint32_t index, uint32_t serial, uint32_t line)
{
	struct seat *s = &p->seats[index];

	s->before_serial = s->serial;
	s->before_line = s->line;
	s->serial = serial;
	s->line = line;
}

static bool is_first(const struct processes *p, const struct board_record *r)
{
	struct line *l = lines_at(p, 1);

	return l && l->record == BOARD_NONE && !l->serial && r->parent == BOARD_NONE &&
	       l->p.state != PROCESS_UNFOLLOWED && (!r->pid || (int)r->pid == l->p.pid);
}

/* A fork that only executed: the program's line replaces it. */
static bool is_stub(const struct processes *p, const struct line *l)
{
	return l->p.forked && !l->p.watch && !lines_is_large(p, l);
}

/* Makes l the successor of `was`, whose program executed l's. */
static void replace(struct processes *p, struct line *was, struct line *l)
{
	l->before = was->p.id;
	l->p.parent = was->p.parent;
	if (is_stub(p, was)) {
		was->hidden = true;
		l->p.begin_ns = was->p.begin_ns;
	}
	p->ordered = false;
}

static bool same_process(const struct line *was, const struct board_record *r)
{
	return was && was->p.pid && (int)r->pid == was->p.pid;
}

static struct line *new_line(struct processes *p, const struct taken *t)
{
	uint32_t parent = line_of(p, t->r.parent, t->r.parent_serial);
	struct line *l = is_first(p, &t->r) ? lines_at(p, 1) : NULL;

	if (l)
		p->origin_ns = t->r.begin_ns; /* lines are none but this one */
	else
		l = lines_add(p, parent ? parent : p->count ? 1 : 0, t->r.begin_ns);
	if (l->p.id != 1 && same_process(lines_at(p, parent), &t->r))
		replace(p, lines_at(p, parent), l);
	l->record = t->index;
	l->serial = t->r.xserial;
	take_seat(p, t->index, t->r.xserial, l->p.id);
	return l;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void take_names(struct processes *p, struct line *l, const struct board_record *r)
{
	struct line *above = lines_at(p, l->p.parent);

	if (r->pid && (int)r->pid != l->p.pid) {
		l->p.pid = (int)r->pid;
		l->seen = false;
	}
	if (*r->name || *r->path)
		snprintf(l->p.name, sizeof l->p.name, "%.63s",
			 *r->name ? r->name : base_name(r->path));
	else if (!*l->p.name && above)
		memcpy(l->p.name, above->p.name, sizeof l->p.name);
	if (*r->path && strcmp(l->p.path, r->path)) {
		line_say(&l->path, r->path);
		l->p.path = l->path;
	}
	if (!l->socket || strcmp(l->socket, r->socket))
		line_say(&l->socket, r->socket);
	l->p.forked = r->forked != 0;
}

static uint64_t relaxed(const _Atomic uint64_t *x)
{
	return atomic_load_explicit(x, memory_order_relaxed);
}

/* A watch has better figures: they arrive ten times a second. */
static void take_figures(struct line *l, const struct board_record *r)
{
	struct tally sum = { relaxed(&r->xalloc_blocks), relaxed(&r->xalloc_bytes),
			     relaxed(&r->xfreed_blocks), relaxed(&r->xfreed_bytes) };

	l->p.inherited_bytes = r->inherited_bytes;
	l->p.inherited_blocks = r->inherited_blocks;
	l->p.before_blocks = r->before_blocks;
	l->p.before_bytes = r->before_bytes;
	if (l->p.watch && l->p.exact && !r->xexact)
		return;
	if (!l->over) {
		uint64_t live = l->p.live_bytes, blocks = l->p.live_blocks;
		line_figures(l, &sum, relaxed(&r->xpeak_bytes));
		l->p.inherited_known &= l->p.live_bytes == live && l->p.live_blocks == blocks;
		l->stamp_ns = relaxed(&r->xstamp_ns);
		l->p.exact = r->xexact != 0;
	}
	l->announced = r->xexact && r->xstate == BOARD_RUNNING && r->end != BOARD_UNKNOWN;
	l->announced_end = r->end;
	l->announced_status = r->status;
}

static const char *const why_not[] = {
	[BOARD_FOLLOWED] = "",
	[BOARD_STATIC] = "statically linked: no agent can be preloaded into it",
	[BOARD_SETUID] = ("setuid, setgid or with file capabilities: the loader preloads no agent "
			  "into such a program"),
	[BOARD_MACHINE] = "built for another machine or word size than the agent",
	[BOARD_LIBC] = "built for another C library than the agent",
	[BOARD_SANITIZER] = "built with a sanitizer, which has its own malloc",
	[BOARD_UNREADABLE] =
		"its file cannot be read, so memtop cannot tell whether an agent can be preloaded",
	[BOARD_NO_ROOM] = ("its arguments and environment leave no room for the agent's variables "
			   "(E2BIG)"),
	[BOARD_NO_AGENT] = "its root directory has no file of the agent, or its user may not read "
			   "that",
	[BOARD_OTHER_PROC] = "it has a /proc of its own, as in a container, where its agent does "
			     "not find memtop; run memtop inside it",
	[BOARD_NO_ACCESS] = "another user, or in a user namespace of its own: its agent may not "
			    "write to memtop's memory; run memtop there",
	[BOARD_WRAPPED] = "a library's own exec function started it in a child of vfork: no "
			  "variable of the agent's can be added there",
};

const char *records_why_not(uint32_t why)
{
	return why_not[why];
}

enum process_state records_end_state(uint32_t end)
{
	static const enum process_state states[] = { PROCESS_GONE, PROCESS_EXITED,
						     PROCESS_SIGNALLED, PROCESS_EXECED };

	return states[end];
}

static void take_end(struct processes *p, struct line *l, const struct board_record *r)
{
	l->p.end_ns = r->end_ns > p->origin_ns ? r->end_ns - p->origin_ns : 1;
	if (l->p.id == 1 && l->p.status_known)
		return; /* memtop itself saw how its child ended */
	l->p.status = (int)r->status;
	l->p.status_known = r->end == BOARD_EXIT || r->end == BOARD_SIGNAL;
	lines_state(p, l, records_end_state(r->end));
}

/* The new program has started, with an agent or without: the old line is over, whatever its
 * record says. */
static void end_predecessor(struct processes *p, const struct taken *t)
{
	struct line *was = lines_at(p, line_of(p, t->r.parent, t->r.parent_serial));

	if (!same_process(was, &t->r) || !line_runs(was))
		return;
	was->p.end_ns = t->r.begin_ns > p->origin_ns ? t->r.begin_ns - p->origin_ns : 1;
	lines_state(p, was, PROCESS_EXECED);
}

/* The first process' watch shows each program that the process executes. */
static void pass_watch_on(struct processes *p, struct line *l, struct line *was)
{
	l->p.watch = was->p.watch;
	l->p.matters = true;
	l->over = was->over;
	was->p.watch = NULL;
	if (p->first_now == was->p.id)
		p->first_now = l->p.id;
	l->given = was->given;
}

/* A program that was started and replaced between two looks never had the watch. */
static struct line *watched_before(const struct processes *p, const struct line *l)
{
	struct line *was = lines_at(p, l->before);

	while (was && !was->p.watch)
		was = lines_at(p, was->before);
	return was;
}

/* Also for a program that ended before its record was first read: the next one in its process
 * takes the watch from it. */
static void succeed(struct processes *p, struct line *l, const struct taken *t)
{
	struct line *was = watched_before(p, l);

	end_predecessor(p, t);
	if (was && !l->p.watch)
		pass_watch_on(p, l, was);
}

static void begin(struct processes *p, struct line *l, const struct taken *t)
{
	succeed(p, l, t);
	lines_state(p, l, PROCESS_RUNNING);
	l->p.end_ns = 0;
}

/* It was taken for ended, but still writes: a failed exec, or a pid of another namespace. */
static bool came_back(const struct line *l)
{
	return (l->p.state == PROCESS_GONE || l->p.state == PROCESS_EXECED) &&
	       l->stamp_ns > l->changed_ns;
}

static void take(struct processes *p, const struct taken *t)
{
	struct line *l = lines_at(p, line_of(p, t->index, t->r.xserial));
	uint32_t state = t->r.xstate;

	if (!l)
		l = new_line(p, t);
	take_names(p, l, &t->r);
	take_figures(l, &t->r);
	l->start_ns = t->r.begin_ns; /* when it was claimed, until it runs */
	l->lingers = t->r.lingers != 0;
	if (state == BOARD_RUNNING && (l->p.state == PROCESS_STARTING || came_back(l)))
		begin(p, l, t);
	if (state == BOARD_UNFOLLOWED) {
		end_predecessor(p, t);
		line_say(&l->why, why_not[t->r.why]);
		l->p.why = l->why;
		lines_state(p, l, PROCESS_UNFOLLOWED);
	}
	if (state == BOARD_ENDED) {
		if (l->p.state == PROCESS_STARTING)
			succeed(p, l, t);
		take_end(p, l, &t->r);
	}
	if (state == BOARD_ENDED || state == BOARD_UNFOLLOWED) {
		l->record = BOARD_NONE;
		shared_board_release(p->board, t->index, t->r.xserial, state);
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct taken *x = a, *y = b;

	if (x->r.begin_ns != y->r.begin_ns)
		return x->r.begin_ns < y->r.begin_ns ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Is its line up to date? */
static bool known(const struct processes *p, uint32_t index, const struct board_record *r, bool all)
{
	const struct line *l = lines_at(p, line_of(p, index, r->xserial));

	if (!l || r->xstate == BOARD_ENDED || r->xstate == BOARD_UNFOLLOWED)
		return false;
	return !all && (r->xstate == BOARD_RUNNING) == (l->p.state == PROCESS_RUNNING) &&
	       !*r->socket == !l->socket;
}

/* A claim returned without a report: the exec failed. */
static void forget_failed(struct processes *p, uint32_t index, uint32_t serial)
{
	struct line *l = lines_at(p, p->seats[index].line);

	if (!l || l->record != index || l->serial == serial)
		return;
	l->record = BOARD_NONE;
	if (l->p.state == PROCESS_STARTING && l->p.id != 1) {
		l->hidden = true;
		l->p.end_ns = 1;
		lines_state(p, l, PROCESS_GONE);
		p->ordered = false;
	}
}

void records_read(struct processes *p, bool all)
{
	struct taken *list = NULL;
	size_t n = 0, room = 0;
	struct board_record r;

	for (uint32_t i = 0; i < BOARD_RECORDS; i++) {
		int is = shared_board_copy(p->board, i, &r);
		if (is >= 0)
			forget_failed(p, i, is ? r.xserial : p->seats[i].serial + 1);
		if (is <= 0 || known(p, i, &r, all))
			continue;
		GROW(list, room, n + 1);
		list[n++] = (struct taken){ i, r };
	}
	if (n > 1)
		qsort(list, n, sizeof *list, by_begin);
	for (size_t i = 0; i < n; i++)
		take(p, &list[i]);
	p->changed |= n > 0;
	free(list);
}
