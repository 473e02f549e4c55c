/* SPDX-License-Identifier: MIT
 *
 * list.c - lists the processes of this machine that have an agent.
 *
 * memtop looks for servers: processes with the server's name that hold a listening socket and a
 * pidfd of their program. It connects to no socket here: a connection to a stranger's socket may
 * start a service. Only its owner and root may see a server's descriptors, and it serves only them.
 *
 * The name memtop.PID alone names another user's agent, and one whose server had to be a thread of
 * its program (agent/server/start.c). Such a program may know itself by the pid of another
 * namespace.
 *
 * The kernel lists the sockets of one network namespace at a time. Each that a process at hand has
 * is read once.
 */
#include "launch/launch.h"

#include "launch/agent_server.h"
#include "launch/elsewhere.h"
#include "launch/progcheck.h"
#include "attach/ptrace/modules.h"
#include "base/procfs.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LISTENS 0x10000 /* __SO_ACCEPTCON */

struct listener {
	unsigned long inode;
	char name[108];
	bool path;
	bool taken; /* its server was found */
};

struct network {
	ino_t id;
	bool own; /* memtop's */
	struct listener *list;
	size_t count, room;
};

struct found {
	struct agent_process *list;
	size_t count, room;
	struct network *networks; /* the first is memtop's */
	size_t network_count, network_room;
	struct server_look *servers; /* whose program is not known */
	size_t server_count, server_room;
};

/* "memtop.PID" or "memtop.PID.2": the pid, 0 = another name. */
static pid_t pid_of_name(const char *name)
{
	char *end;

	if (strncmp(name, "memtop.", 7))
		return 0;
	long pid = strtol(name + 7, &end, 10);
	return pid > 0 && pid < INT_MAX && (*end == '\0' || *end == '.') ? (pid_t)pid : 0;
}

/* through, clients: as in struct agent_process. */
static void add(struct found *f, pid_t pid, const struct listener *l, pid_t through, int clients)
{
	GROW(f->list, f->room, f->count + 1);
	struct agent_process *a = &f->list[f->count++];
	*a = (struct agent_process){
		.pid = pid, .path = l->path, .through = through, .clients = clients
	};
	memcpy(a->socket, l->name, sizeof a->socket);
	if (!procfs_name(pid, a->name, sizeof a->name))
		snprintf(a->name, sizeof a->name, "?"); /* of another pid namespace */
}

/* Num: RefCount Protocol Flags Type St Inode Path; a path may hold spaces. false: it does not
 * listen, or has no name. */
static bool read_listener(char *line, struct listener *l)
{
	unsigned flags;
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%*s %*s %*s %x %*s %*s %lu %n", &flags, &l->inode, &at) != 2 || !at ||
	    !(flags & LISTENS))
		return false;
	const char *name = line + at;
	l->path = *name == '/';
	if ((*name != '@' && !l->path) || strlen(name + !l->path) >= sizeof l->name)
		return false;
	snprintf(l->name, sizeof l->name, "%s", name + !l->path);
	return true;
}

/* The network of a process, with what listens there; NULL = unknown: no permission. */
static struct network *network_of(struct found *f, pid_t pid)
{
	char path[64], line[512];
	struct listener l = { .taken = false };
	struct stat st;

	pid = procfs_thread(pid);
	snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
	if (stat(path, &st))
		return NULL;
	for (size_t i = 0; i < f->network_count; i++)
		if (f->networks[i].id == st.st_ino)
			return &f->networks[i];
	GROW(f->networks, f->network_room, f->network_count + 1);
	struct network *n = &f->networks[f->network_count++];
	*n = (struct network){ .id = st.st_ino, .own = pid == getpid() };
	snprintf(path, sizeof path, "/proc/%d/net/unix", (int)pid);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		if (read_listener(line, &l)) {
			GROW(n->list, n->room, n->count + 1);
			n->list[n->count++] = l;
		}
	if (file)
		fclose(file);
	return n;
}

static struct listener *listener_of(const struct network *n, unsigned long inode)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->list[i].inode == inode)
			return &n->list[i];
	return NULL;
}

/* A server's program, 0 = no permission, and its socket, NULL = none. Its other sockets are its
 * clients': it keeps none of the program's. */
static pid_t look_at_server(const struct network *n, pid_t server, struct listener **l,
			    int *clients)
{
	char path[300], link[64];
	unsigned long inode;
	struct dirent *e;
	pid_t program = 0;

	*l = NULL;
	*clients = 0;
	snprintf(path, sizeof path, "/proc/%d/fd", (int)server);
	DIR *d = opendir(path);
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)server, e->d_name);
		ssize_t len = readlink(path, link, sizeof link - 1);
		link[len > 0 ? len : 0] = '\0';
		if (!program && strstr(link, "[pidfd]"))
			program = server_pidfd(server, e->d_name);
		else if (sscanf(link, "socket:[%lu]", &inode) == 1) {
			struct listener *listens = listener_of(n, inode);
			*clients += !listens;
			*l = listens ? listens : *l;
		}
	}
	if (d)
		closedir(d);
	return program;
}

static bool look_at(void *found, pid_t pid)
{
	struct found *f = found;
	struct network *n = network_of(f, pid);
	struct listener *l = NULL;
	int clients;

	if (!server_is_named(pid))
		return false;
	pid_t program = n ? look_at_server(n, pid, &l, &clients) : 0;
	if (program && l) {
		l->taken = true;
		add(f, program, l, elsewhere_holds(pid, l->path) ? pid : 0, clients);
		f->list[f->count - 1].server = pid;
	} else if (!program) {
		GROW(f->servers, f->server_room, f->server_count + 1);
		f->servers[f->server_count++] = server_look(pid);
	}
	return false;
}

/* Has the process an agent, as far as memtop may see? Another user's shows by its server. */
static bool has_agent(const struct found *f, pid_t pid)
{
	int maps = procfs_maps(pid, AGENT_FILE);

	return maps > 0 || (maps < 0 && server_is_there(pid, f->servers, f->server_count));
}

/* Does the name say that the process has an agent? It may know itself by the pid of another
 * namespace: in memtop's network, where all meet, the agent must be seen in it. */
static bool look_by_name(void *found, pid_t pid)
{
	struct found *f = found;
	struct network *n = network_of(f, pid);
	bool own = !n || n->own; /* another user's is unknown, and taken for memtop's */

	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].pid == pid) /* its address is known by its server */
			return false;
	n = n ? n : &f->networks[0];
	for (size_t i = 0; i < n->count; i++) {
		struct listener *l = &n->list[i];
		pid_t named = l->path || l->taken ? 0 : pid_of_name(l->name);
		if (!named || (named != procfs_inner(pid) && (own || named != pid)) ||
		    (own && !has_agent(f, pid)))
			continue;
		l->taken = true;
		add(f, pid, l, own ? 0 : pid, -1);
		break; /* a namesake of another namespace has the next one */
	}
	return false;
}

static bool has_linked_agent(pid_t pid)
{
	char exe[64];

	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)procfs_thread(pid));
	return progcheck_linked(exe);
}

/* Servers that were not found by their process. */
static void look_at_names(struct found *f)
{
	const struct network *own = &f->networks[0];

	procfs_any(0, look_by_name, f);
	for (size_t i = 0; i < own->count; i++) {
		const struct listener *l = &own->list[i];
		pid_t named = l->path || l->taken ? 0 : pid_of_name(l->name);
		/* where it has another number, the address names another process */
		if (named && !procfs_inner(named) &&
		    (has_agent(f, named) || has_linked_agent(named)))
			add(f, named, l, 0, -1);
	}
}

static bool is_left(const struct found *f)
{
	for (size_t i = 0; i < f->network_count; i++)
		for (size_t k = 0; k < f->networks[i].count; k++) {
			const struct listener *l = &f->networks[i].list[k];
			if (!l->path && !l->taken && pid_of_name(l->name))
				return true;
		}
	return false;
}

static void release(struct found *f)
{
	for (size_t i = 0; i < f->network_count; i++)
		free(f->networks[i].list);
	free(f->networks);
	free(f->servers);
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct agent_process *)a)->pid,
	      y = ((const struct agent_process *)b)->pid;

	return (x > y) - (x < y);
}

size_t launch_list(struct agent_process **list)
{
	struct found f = { 0 };

	network_of(&f, getpid());
	procfs_any(0, look_at, &f);
	if (is_left(&f))
		look_at_names(&f);
	release(&f);
	if (f.count)
		qsort(f.list, f.count, sizeof *f.list, by_pid);
	*list = f.list;
	return f.count;
}

bool launch_listed(pid_t pid, struct agent_process *a)
{
	struct agent_process *list;
	bool found = false;

	for (size_t i = 0, n = launch_list(&list); i < n && !found; i++) {
		found = list[i].pid == pid;
		if (found && a)
			*a = list[i];
	}
	free(list);
	return found;
}

struct unheard {
	struct found heard;
	struct unheard_process *list;
	size_t count, room;
};

/* Reads the agent's own reason (agent/server/listen.c). An agent that listens on TCP has none. */
static bool ask_why(void *arg, pid_t pid)
{
	struct unheard *u = arg;
	struct unheard_process x = { 0 };
	struct network *n = server_is_named(pid) ? network_of(&u->heard, pid) : NULL;
	struct listener *l;
	int clients;

	x.pid = n ? look_at_server(n, pid, &l, &clients) : 0;
	if (!x.pid || l)
		return false;
	inject_said(x.pid, x.why, sizeof x.why);
	if (strncmp(x.why, "listen=", 7) || !procfs_name(x.pid, x.name, sizeof x.name))
		return false;
	GROW(u->list, u->room, u->count + 1);
	u->list[u->count++] = x;
	return false;
}

size_t launch_unheard(struct unheard_process **list)
{
	struct unheard u = { 0 };

	procfs_any(0, ask_why, &u);
	release(&u.heard);
	*list = u.list;
	return u.count;
}
