/* SPDX-License-Identifier: MIT
 *
 * relatives.c - reads /proc for the tree: which processes ended without a message, why a program
 * never sent one, and, for a target that memtop did not start, its relatives.
 *
 * A pid on the board belongs to the process' own namespace, and any process of the tree may have
 * written it. memtop takes it as a pid of its own namespace when that process started with the tree
 * or later and has the board mapped. A process can be missed only after it was found once.
 */
#include "processes/relatives.h"
#include "base/procfs.h"
#include "launch/agent_server.h"
#include "launch/elsewhere.h"
#include "launch/launch.h"
#include "launch/progcheck.h"
#include "processes/lines.h"
#include "processes/records.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* longest time from exec to the agent's first message, on a busy machine */
#define EXEC_NS 1500000000ull
#define SLOW_NS 10000000000ull /* ... and this when nothing is known against it */
#define SILENCE_NS 3000000000ull
#define PATIENCE 2 /* looks: the board may know more the next time */
/* largest delay of a pid's start behind its record's: past it, another process has the pid */
#define START_NS 2000000000ull
#define CHAIN_MAX 64 /* parents of parents */

/* True also without permission to look: a process that dropped its rights hides its mappings
 * from its own user. */
static bool may_have_board(const struct processes *p, pid_t pid)
{
	return procfs_maps(pid, shared_board_name(p->board)) != 0;
}

/* memtop itself made the board, and a server has its target's memory. */
static bool is_program(pid_t pid)
{
	char name[64];

	return pid != getpid() &&
	       !(procfs_name(pid, name, sizeof name) && !strcmp(name, AGENT_SERVER_NAME));
}

static pid_t pid_of(const struct line *l)
{
	return l->outer_pid ? l->outer_pid : l->p.pid;
}

/* Notes whether it is stopped, too. */
static bool is_alive(const struct processes *p, struct line *l)
{
	pid_t pid = pid_of(l);
	struct proc_stat s = { 0 };
	bool found = pid > 0 && (p->board || p->first_pid > 0) && procfs_stat(pid, &s);

	l->p.stopped = s.state == 'T' || s.state == 't';
	return found && !s.ended && s.start_ns < p->origin_ns + l->p.begin_ns + START_NS &&
	       (!p->board || s.start_ns + START_NS > p->origin_ns);
}

static bool is_running(const struct processes *p, struct line *l)
{
	return is_alive(p, l) &&
	       (!p->board || l->seen || (is_program(pid_of(l)) && may_have_board(p, pid_of(l))));
}

/* 0 = none of that pid is here, nor below its parent. */
static pid_t outer_pid(const struct processes *p, struct line *l)
{
	struct line *above = lines_at(p, l->p.parent);

	if (l->outer_pid || l->p.pid <= 0 || is_running(p, l))
		return pid_of(l);
	pid_t parent = above ? outer_pid(p, above) : 0;
	return l->outer_pid = parent > 0 ? procfs_inner_child(parent, l->p.pid) : 0;
}

pid_t relatives_pid(const struct processes *p, struct line *l)
{
	if (p->board)
		outer_pid(p, l);
	return pid_of(l);
}

pid_t relatives_running_pid(const struct processes *p, struct line *l)
{
	return is_running(p, l) ? pid_of(l) : 0;
}

/* In another pid namespace the pid proves nothing, but the socket does. */
static bool is_linked(const struct processes *p, const struct line *l)
{
	return l->p.watch && watch_live(l->p.watch) &&
	       (!p->board || may_have_board(p, (pid_t)watch_peer(l->p.watch)));
}

static void end_now(struct processes *p, struct line *l)
{
	l->p.end_ns = now_ns() - p->origin_ns;
	p->changed = true;
}

static void give_record_back(struct processes *p, struct line *l, uint32_t state)
{
	if (l->record != BOARD_NONE)
		shared_board_release(p->board, l->record, l->serial, state);
	l->record = BOARD_NONE;
}

static void look_at_running(struct processes *p, struct line *l)
{
	if (l->p.pid == (int)p->first_pid && !p->first_ended && p->board) {
		is_alive(p, l); /* whether it ended, waitpid() tells: it is memtop's child */
		return;
	}
	if (is_running(p, l)) {
		l->seen = true;
		l->missing = 0;
		return;
	}
	if (is_linked(p, l))
		return;
	if (!l->seen && now_ns() - l->stamp_ns < SILENCE_NS)
		return;
	if (++l->missing < PATIENCE)
		return;
	end_now(p, l);
	l->p.status = l->announced ? (int)l->announced_status : 0;
	l->p.status_known = l->announced && l->announced_end != BOARD_EXEC;
	lines_state(p, l, records_end_state(l->announced ? l->announced_end : BOARD_UNKNOWN));
	if (l->seen)
		give_record_back(p, l, BOARD_RUNNING);
}

/* posix_spawn gives no pid: searches by parent and executable. */
static void find_pid(const struct processes *p, struct line *l)
{
	const struct line *above = lines_at(p, l->p.parent);
	char real[PATH_MAX];

	if (!l->p.pid && above && above->p.pid && *l->p.path && realpath(l->p.path, real))
		l->p.pid = (int)procfs_child(above->p.pid, real);
}

/* "" = no reason known. */
static void reason_of(const struct processes *p, const struct line *l, char *why, size_t size)
{
	char agent[PATH_MAX], note[512];
	struct err err = { 0 };

	*why = '\0';
	if (!*l->p.path || progcheck_linked(l->p.path))
		return;
	if (launch_find_agent(p->options.agent, progcheck_wants_musl(l->p.path), agent,
			      sizeof agent, &err))
		return;
	if (progcheck(l->p.name, l->p.path, agent, note, sizeof note, &err))
		snprintf(why, size, "%s", err.text);
}

static void look_at_starting(struct processes *p, struct line *l)
{
	uint64_t waited = now_ns() - l->changed_ns;
	char why[1024];

	if (waited < EXEC_NS)
		return;
	find_pid(p, l);
	pid_t pid = relatives_pid(p, l);
	reason_of(p, l, why, sizeof why);
	bool alive = is_alive(p, l);
	if (!*why && alive && (procfs_uid(pid) != (long)geteuid() || elsewhere(pid, "user")))
		snprintf(why, sizeof why, "%s", records_why_not(BOARD_NO_ACCESS));
	if (!*why && alive && waited < SLOW_NS)
		return;
	line_say(&l->why,
		 *why ? why : "its agent never answered: it drops LD_PRELOAD, or ended at once");
	l->p.why = l->why;
	lines_state(p, l, PROCESS_UNFOLLOWED);
	if (alive)
		return;
	end_now(p, l);
	give_record_back(p, l, BOARD_EXECING);
}

static void look_at_unfollowed(struct processes *p, struct line *l)
{
	if (l->p.pid == (int)p->first_pid && !p->first_ended && p->board)
		return;
	find_pid(p, l);
	relatives_pid(p, l);
	if (is_alive(p, l))
		return;
	end_now(p, l);
	give_record_back(p, l, BOARD_EXECING);
}

void relatives_look_alive(struct processes *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct line *l = p->lines[i];
		if (!l || !line_runs(l))
			continue;
		if (l->p.state == PROCESS_RUNNING)
			look_at_running(p, l);
		else if (l->p.state == PROCESS_STARTING)
			look_at_starting(p, l);
		else
			look_at_unfollowed(p, l);
	}
}

static bool is_unborn(void *arg, pid_t pid)
{
	const struct processes *p = arg;

	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] && p->lines[i]->p.pid == (int)pid)
			return false;
	return is_program(pid) && procfs_maps(pid, shared_board_name(p->board)) > 0;
}

bool processes_unborn(const struct processes *p)
{
	uint64_t since = p->origin_ns > START_NS ? p->origin_ns - START_NS : 0;

	return p->board && procfs_any(since, is_unborn, (void *)p);
}

static bool is_above(pid_t above, pid_t pid)
{
	struct proc_stat s;

	for (int i = 0; i < CHAIN_MAX && pid > 1 && procfs_stat(pid, &s); i++)
		if ((pid = s.parent) == above)
			return true;
	return false;
}

/* The outermost agent above the first one began its tree. That a shell started both is no relation:
 * programs of one terminal have nothing in common. Nor is an init, or what started memtop itself:
 * below it is everything. (A container's pid 1 may be taken for the machine's.) */
static pid_t root_of(pid_t first, const struct agent_process *list, size_t n)
{
	pid_t root = first;

	for (size_t i = 0; i < n; i++)
		if (list[i].pid > 1 && is_above(list[i].pid, root) &&
		    !is_above(list[i].pid, getpid()))
			root = list[i].pid;
	return root;
}

static struct line *line_of_pid(const struct processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] && p->lines[i]->p.pid == (int)pid && line_runs(p->lines[i]))
			return p->lines[i];
	return NULL;
}

static void add_relative(struct processes *p, const struct agent_process *a)
{
	struct proc_stat s;

	if (!procfs_stat(a->pid, &s))
		return;
	struct line *above = line_of_pid(p, s.parent),
		    *l = lines_add(p, above ? above->p.id : 0, s.start_ns);
	char exe[PATH_MAX];

	l->p.pid = (int)a->pid;
	snprintf(l->p.name, sizeof l->p.name, "%.63s", a->name);
	if (procfs_exe(a->pid, exe, sizeof exe))
		line_say(&l->path, exe);
	l->p.path = l->path ? l->path : "";
	line_say(&l->socket, a->socket);
	l->path_socket = a->path;
	l->by_pid = a->through > 0;
	l->seen = true;
	lines_state(p, l, PROCESS_RUNNING);
}

/* Finds the parent of the target, or of an ancestor: a parent may be found late. */
static void find_parent(struct processes *p, struct line *l)
{
	struct proc_stat s;
	const struct line *above = procfs_stat(l->p.pid, &s) ? line_of_pid(p, s.parent) : NULL;

	if (!above)
		return;
	l->p.parent = above->p.id;
	p->ordered = false;
	p->changed = true;
}

void relatives_look_near(struct processes *p)
{
	struct agent_process *list;

	if (p->board || p->first_pid <= 0)
		return;
	size_t n = launch_list(&list);
	pid_t root = root_of(p->first_pid, list, n);
	for (size_t i = 0; i < n; i++)
		if (list[i].pid != p->first_pid && !line_of_pid(p, list[i].pid) &&
		    (list[i].pid == root || is_above(root, list[i].pid)))
			add_relative(p, &list[i]);
	free(list);
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] && !p->lines[i]->p.parent && line_runs(p->lines[i]))
			find_parent(p, p->lines[i]);
}
