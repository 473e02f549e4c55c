/* SPDX-License-Identifier: MIT
 *
 * attach.c - `memtop attach --jdwp`: loads the agent into a Java program of this machine through
 * its debug port (attach/jdwp/jdwp.h).
 *
 * Where ptrace is forbidden (ptrace_scope, a container without CAP_SYS_PTRACE), the debug port is
 * open to everyone who reaches it. The same conditions hold as for ptrace. They are checked while
 * the thread is stopped: only then can the machine tell which process it is. It gives the pid of
 * its own pid namespace. memtop believes it when the process with that pid there runs here with a
 * debug port.
 *
 * System.load() takes a path and nothing else. So the agent gets the options of the program's own
 * environment (JNI_OnLoad in agent/hooks/attach.c), and the program must see the file. A
 * library is loaded once: after a detach System.load() does nothing, and ptrace is the way back.
 */
#include "attach/attach.h"

#include "launch/agent_server.h"
#include "link/open.h"
#include "attach/jdwp/jdwp.h"
#include "launch/progcheck.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS 5000
#define LISTEN_TRIES 5 /* a machine whose last debugger has just gone listens again in a moment */
#define LISTEN_PAUSE_NS 100000000

struct visit {
	const struct attach_jdwp_options *options;
	struct attach_facts facts;
	char name[96];
	char agent[PATH_MAX];
	struct err err;
};

static bool is_loopback(const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *six = (const void *)a;

	if (a->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >>
			       24 ==
		       127;
	return a->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* The socket; -1: *why. */
static int connect_to(const struct sockaddr_storage *to, socklen_t len, int *why)
{
	struct pollfd p = { .fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
					 0),
			    .events = POLLOUT };
	socklen_t why_len = sizeof *why;
	int rc = 0;

	*why = p.fd < 0 || (connect(p.fd, (const struct sockaddr *)to, len) && errno != EINPROGRESS)
		       ? errno
		       : 0;
	if (!*why)
		while ((rc = poll(&p, 1, CONNECT_MS)) < 0 && errno == EINTR)
			;
	if (!*why)
		*why = rc == 0                                                           ? ETIMEDOUT
		       : rc < 0 || getsockopt(p.fd, SOL_SOCKET, SO_ERROR, why, &why_len) ? errno
											 : *why;
	if (*why && p.fd >= 0)
		close(p.fd);
	return *why ? -1 : p.fd;
}

static int open_port(const struct target *port, struct err *err)
{
	struct target t = *port;
	struct conn_peers peers;
	int why = ECONNREFUSED, fd = -1;

	if (!strcmp(t.host, "localhost"))
		snprintf(t.host, sizeof t.host, "127.0.0.1");
	if (conn_resolve(&t, &peers, err) || !peers.count || !is_loopback(&peers.addr[0]))
		return err_set(err, 3,
			       "%s: a port of another machine, but the agent's file is on this "
			       "one; run memtop there, or for a phone use memtop adb",
			       t.text);
	for (int tries = 0; tries < LISTEN_TRIES && why == ECONNREFUSED; tries++) {
		if (tries)
			nanosleep(&(struct timespec){ 0, LISTEN_PAUSE_NS }, NULL);
		fd = connect_to(&peers.addr[0], peers.len[0], &why);
	}
	if (fd >= 0)
		return fd;
	return err_set(err, 3,
		       "%s: nothing listens there: %s; start the program with "
		       "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=PORT, and "
		       "close any other debugger: the port takes only one",
		       t.text, strerror(why));
}

/* Does the process map a file whose path contains `part`? `unknown` without permission to look. */
static bool maps_file(pid_t pid, const char *part, bool unknown)
{
	char path[64], line[PATH_MAX + 128];
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof line, f))
		found = strstr(line, part) != NULL;
	if (f)
		fclose(f);
	return f ? found : unknown;
}

/* Finds this namespace's pid of the machine that calls itself `own`. */
static int find_process(struct visit *v, int64_t own)
{
	const struct attach_jdwp_options *o = v->options;
	const char *text = o->port->text;
	struct attach_facts *f = &v->facts;

	if (!own && !o->pid)
		return err_set(&v->err, 3,
			       "%s: the program does not know its process id (no /proc?); name it: "
			       "memtop attach --jdwp %d PID",
			       text, o->port->port);
	attach_facts(o->pid ? o->pid : (pid_t)own, f);
	attach_name(f, v->name, sizeof v->name);
	if (o->pid && f->gone)
		return err_set(&v->err, 3,
			       "%d: no such process; leave the PID out: the debug port knows it",
			       (int)f->pid);
	if (f->program)
		return agent_server_explain(v->name, f->program, f->program_name, &v->err);
	int64_t there = f->inner ? f->inner : f->pid;
	if (!f->gone && (!own || own == there) && maps_file(f->pid, "/libjdwp", true))
		return 0;
	if (o->pid && !own)
		return err_set(&v->err, 3, "%s: has no debug port; name the process that has %s",
			       v->name, text);
	if (o->pid)
		return err_set(&v->err, 3,
			       "%s: not the program of the debug port %s: that is process %lld; "
			       "leave the PID out",
			       v->name, text, (long long)own);
	return err_set(&v->err, 3,
		       "%s: its program is process %lld of another pid namespace or machine (a "
		       "phone: memtop adb); for a container give its PID on this machine: memtop "
		       "attach --jdwp %d PID",
		       text, (long long)own, o->port->port);
}

/* Checks a path that names another file here, or none, in the process' own root. 0: it exists
 * there. */
static int find_theirs(struct visit *v, const char *given)
{
	char there[PATH_MAX + 64];
	struct elf_kind k;

	snprintf(there, sizeof there, "/proc/%d/root%s", (int)v->facts.pid, given);
	if (*given != '/' || attach_sees(&v->facts, given) || progcheck_read(there, &k) ||
	    k.elf.type != ET_DYN)
		return -1;
	snprintf(v->agent, sizeof v->agent, "%s", given);
	return 0;
}

/* Finds the agent's file by the process' path. */
static int find_agent(struct visit *v)
{
	const char *given = v->options->agent;

	if (given && find_theirs(v, given) == 0)
		return 0;
	if (attach_choose_agent(v->facts.pid, v->name, given, v->agent, sizeof v->agent, &v->err))
		return -1;
	if (attach_sees(&v->facts, v->agent))
		return 0;
	return err_set(&v->err, 3,
		       "%s: cannot see or load the agent's file %s (another mount namespace, a "
		       "folder closed to its user, noexec); use memtop attach %d, which hands it "
		       "over, or put a copy where it sees it and name that path with --agent",
		       v->name, v->agent, (int)v->facts.pid);
}

static const char *choose(void *arg, int64_t own, char *why, size_t n)
{
	struct visit *v = arg;
	int rc = find_process(v, own);

	if (!rc && launch_listed(v->facts.pid, NULL))
		rc = attach_refuse_second(v->facts.pid, v->name, &v->err);
	if (!rc)
		rc = find_agent(v);
	if (!rc && maps_file(v->facts.pid, v->agent, false))
		rc = err_set(&v->err, 3,
			     "%s: had this agent before, and Java starts a library only once; use "
			     "memtop attach %d",
			     v->name, (int)v->facts.pid);
	snprintf(why, n, "%s", v->err.text);
	return rc ? NULL : v->agent;
}

static void tell(void *arg, const char *what)
{
	struct visit *v = arg;

	v->options->waiting(v->options->arg, what);
}

static void set_target(const struct attach_facts *f, struct target *t)
{
	*t = (struct target){ .kind = TARGET_PID, .pid = (int)f->pid };
	snprintf(t->text, sizeof t->text, "-p %d", (int)f->pid);
}

static int finish(struct visit *v, struct attached *a, struct err *err)
{
	a->pid = v->facts.pid;
	snprintf(a->name, sizeof a->name, "%s", v->facts.name);
	set_target(&v->facts, &a->target);
	if (launch_listed(v->facts.pid, NULL))
		return 0;
	return err_set(err, 3,
		       "%s: loaded the agent, but it does not listen: its MEMTOP_OPTIONS are "
		       "wrong, or it cannot count there; memtop attach %d tells why",
		       v->name, (int)v->facts.pid);
}

int attach_jdwp(const struct attach_jdwp_options *o, struct attached *a, struct err *err)
{
	struct visit v = { .options = o };
	const char *breaks[] = { o->break_at, NULL };
	char why[sizeof err->text];
	uint64_t began = now_ns();

	*a = (struct attached){ 0 };
	struct jdwp_request q = { .breaks = o->break_at ? breaks : NULL,
				  .timeout_ms = o->timeout_ms,
				  .choose = choose,
				  .waiting = o->waiting ? tell : NULL,
				  .arg = &v,
				  .held_ns = &a->stopped_ns };
	q.fd = open_port(o->port, err);
	if (q.fd < 0)
		return -1;
	enum jdwp_result result = jdwp_load(&q, NULL, why, sizeof why);
	close(q.fd);
	a->whole_ns = now_ns() - began;
	debug_log("attach", 1, "%s: result %d, thread held for %.2f ms, %.2f ms in all",
		  o->port->text, (int)result, (double)a->stopped_ns / 1e6,
		  (double)a->whole_ns / 1e6);
	if (result == JDWP_LEFT)
		*err = v.err;
	else if (result)
		err_set(err, 3, "%s: %s", o->port->text, why);
	return result ? -1 : finish(&v, a, err);
}
