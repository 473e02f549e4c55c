/* SPDX-License-Identifier: MIT
 *
 * fleet.c - see serve/fleet.h.
 *
 * --all reads the list of agents (launch/launch.h) every few seconds: the kernel tells nobody about
 * a new socket. The list costs some milliseconds with hundreds of processes. A process is known by
 * its pid and its socket.
 */
#include "serve/fleet.h"

#include "base/loop.h"
#include "base/procfs.h"
#include "base/sanitize.h"
#include "launch/launch.h"
#include "owners/expected.h"
#include "symbols/code_file.h"
#include "symbols/symbolizer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LOOK_MS 3000
#define REOPEN_NS 5000000000ull /* a named target may be started again */
#define NAMING_MAX 8u
#define REST_MS 200u
#define TICK_NS 1000000000ull /* the agent's own longest */

struct fleet {
	struct loop *loop;
	struct fleet_options options;
	struct member **list; /* each owned */
	size_t count, room;
	size_t left_out;
	uint64_t serial;
	struct loop_source *timer;
};

static void member_free(struct member *m)
{
	query_free(m->query);
	owners_free(m->owners);
	watch_close(m->watch);
	free(m);
}

static void drop(struct fleet *f, size_t at)
{
	member_free(f->list[at]);
	memmove(f->list + at, f->list + at + 1, (--f->count - at) * sizeof *f->list);
}

static struct watch *open_watch(struct fleet *f, const struct target *t, struct err *err)
{
	struct watch_options options = { .who = f->options.who,
					 .wait = true,
					 .tick_ns = TICK_NS,
					 .expected = f->options.rules,
					 .symbols = f->options.symbols };

	return watch_open(f->loop, t, &options, err);
}

static struct member *add(struct fleet *f, const struct target *t, struct err *err)
{
	struct watch *w = open_watch(f, t, err);

	if (!w)
		return NULL;
	struct member *m = xcalloc(1, sizeof *m);
	m->watch = w;
	m->target = *t;
	m->pid = t->pid;
	m->serial = ++f->serial;
	GROW(f->list, f->room, f->count + 1);
	f->list[f->count++] = m;
	return m;
}

int fleet_add(struct fleet *f, const struct target *t, struct err *err)
{
	struct member *m = add(f, t, err);

	if (!m)
		return -1;
	sanitize_clean(m->name, sizeof m->name, t->text);
	return 0;
}

static enum target_kind kind_of(const struct agent_process *a)
{
	return a->through ? TARGET_PID : a->path ? TARGET_PATH : TARGET_ABSTRACT;
}

static bool same_socket(const struct member *m, const struct agent_process *a)
{
	return m->target.pid == a->pid && !strcmp(m->target.name, a->socket) &&
	       m->target.kind == kind_of(a);
}

static struct member *member_of(const struct fleet *f, const struct agent_process *a)
{
	for (size_t i = 0; i < f->count; i++)
		if (same_socket(f->list[i], a) && !f->list[i]->ended_ns)
			return f->list[i];
	return NULL;
}

/* After an exec the process goes on as another program: its series do, too. */
static void drop_programs_before(struct fleet *f, const struct agent_process *a)
{
	for (size_t i = f->count; i-- > 0;)
		if (f->list[i]->found && same_socket(f->list[i], a))
			drop(f, i);
}

/* None follows it, but perhaps one that has ended. */
static void follow(struct fleet *f, const struct agent_process *a)
{
	struct target t = { .kind = kind_of(a), .pid = a->pid };
	struct err err;

	snprintf(t.name, sizeof t.name, "%s", a->socket);
	snprintf(t.text, sizeof t.text, "%s [%d]", a->name, (int)a->pid);
	drop_programs_before(f, a);
	/* another user's agent would refuse again and again; elsewhere memtop comes as its user */
	bool foreign = !a->through && geteuid() && procfs_uid(a->pid) != (long)geteuid();
	struct member *m = !foreign && f->count < FLEET_MAX ? add(f, &t, &err) : NULL;
	if (!m) {
		f->left_out++;
		return;
	}
	m->found = true;
	sanitize_clean(m->name, sizeof m->name, a->name);
}

static bool listed(const struct agent_process *list, size_t n, const struct member *m)
{
	for (size_t i = 0; i < n; i++)
		if (same_socket(m, &list[i]))
			return true;
	return false;
}

static void update(struct member *m, uint64_t now)
{
	const struct program *p = model_program(watch_model(m->watch));

	if (p) {
		if (!m->found) /* else it was found by it */
			m->pid = (int)watch_pid(m->watch, NULL);
		sanitize_clean(m->name, sizeof m->name, *p->name ? p->name : "?");
	}
	/* after an exec the new program's agent answers soon */
	if (watch_live(m->watch) && !model_final(watch_model(m->watch)))
		m->ended_ns = 0;
	else if (!m->ended_ns && model_final(watch_model(m->watch)))
		m->ended_ns = now;
}

/* A link ends with its program. A new one waits for the next program at this address. */
static void reopen(struct fleet *f, struct member *m)
{
	struct err err;
	struct watch *w = open_watch(f, &m->target, &err);

	if (!w)
		return;
	query_free(m->query);
	owners_free(m->owners);
	watch_close(m->watch);
	m->query = NULL;
	m->owners = NULL;
	m->watch = w;
	m->ended_ns = 0;
	m->serial = ++f->serial;
}

/* The one that --all found and that ended first; *ended: how many there are. */
static size_t oldest_end(const struct fleet *f, size_t *ended)
{
	size_t oldest = 0;

	*ended = 0;
	for (size_t i = 0; i < f->count; i++) {
		const struct member *m = f->list[i];

		if (m->found && m->ended_ns &&
		    (!(*ended)++ || m->ended_ns < f->list[oldest]->ended_ns))
			oldest = i;
	}
	return oldest;
}

static void forget_oldest(struct fleet *f)
{
	size_t ended, at;

	while (at = oldest_end(f, &ended), ended > FLEET_ENDED_MAX)
		drop(f, at);
}

static void look(void *arg)
{
	struct fleet *f = arg;
	struct agent_process *list = NULL;
	size_t n = f->options.all ? launch_list(&list) : 0;
	uint64_t now = now_ns();

	f->left_out = 0;
	for (size_t i = f->count; i-- > 0;) {
		struct member *m = f->list[i];

		update(m, now);
		/* its agent's server was killed, too, and said nothing */
		if (m->found && !m->ended_ns && !watch_live(m->watch) && !listed(list, n, m))
			m->ended_ns = now;
		if (m->found && m->ended_ns && now - m->ended_ns > FLEET_AFTERLIFE_NS)
			drop(f, i);
		else if (!m->found && m->ended_ns && now - m->ended_ns > REOPEN_NS &&
			 m->target.kind != TARGET_PID)
			reopen(f, m);
	}
	forget_oldest(f);
	for (size_t i = 0; i < n; i++)
		if (!member_of(f, &list[i]))
			follow(f, &list[i]);
	free(list);
}

/* Hundreds of programs: none keeps its debug information in memory, and each may keep its files
 * open to read it again. */
static void spare(void)
{
	struct rlimit l;

	symbolizer_rest_ms = REST_MS;
	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur / 2 > (rlim_t)code_file_fd_max)
		code_file_fd_max = l.rlim_cur < INT_MAX ? (int)(l.rlim_cur / 2) : INT_MAX / 2;
}

struct fleet *fleet_new(struct loop *loop, const struct fleet_options *o)
{
	struct fleet *f = xcalloc(1, sizeof *f);

	f->loop = loop;
	f->options = *o;
	if (o->all)
		spare();
	f->timer = loop_timer(loop, LOOK_MS, true, look, f);
	look(f);
	return f;
}

void fleet_free(struct fleet *f)
{
	if (!f)
		return;
	loop_remove(f->timer);
	for (size_t i = 0; i < f->count; i++)
		member_free(f->list[i]);
	free(f->list);
	free(f);
}

size_t fleet_list(struct fleet *f, struct member *const **list)
{
	uint64_t now = now_ns();

	for (size_t i = 0; i < f->count; i++)
		update(f->list[i], now);
	*list = f->list;
	return f->count;
}

struct member *fleet_by_serial(struct fleet *f, uint64_t serial)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i]->serial == serial)
			return f->list[i];
	return NULL;
}

size_t fleet_left_out(const struct fleet *f)
{
	return f->left_out;
}

const char *fleet_who(const struct fleet *f)
{
	return f->options.who;
}

bool fleet_known(const struct member *m)
{
	const struct model *model = watch_model(m->watch);

	return model_program(model) && model_complete(model);
}

bool fleet_up(const struct member *m)
{
	return watch_live(m->watch) && !m->ended_ns && fleet_known(m);
}

struct query *fleet_query(struct member *m)
{
	if (!m->query) {
		m->owners = owners_new(watch_model(m->watch), watch_symbols(m->watch));
		m->query = query_new(watch_model(m->watch), watch_symbols(m->watch), m->owners);
		query_expect(m->query, watch_expected(m->watch));
	}
	return m->query;
}

static bool naming(const struct member *m)
{
	return m->query && !watch_named(m->watch);
}

bool fleet_name(struct fleet *f)
{
	const struct owner *owners;
	struct verdict unused;
	size_t busy = 0;
	bool all = true;

	for (size_t i = 0; i < f->count; i++)
		busy += naming(f->list[i]);
	for (size_t i = 0; i < f->count; i++) {
		struct member *m = f->list[i];

		if (!fleet_up(m))
			continue;
		if (m->query || busy < NAMING_MAX) {
			bool first = !m->query;

			query_verdict(fleet_query(m), &unused); /* call sites need names, too */
			owners_update(m->owners, &owners);
			busy += first && naming(m);
		}
		all &= m->query && watch_named(m->watch);
	}
	return all;
}
