/* SPDX-License-Identifier: MIT
 *
 * list.c - lists the processes of this machine that have an agent.
 *
 * The socket name memtop.PID names the agent's process. For any other name or a path, memtop looks
 * for a server: a process with the server's name that holds the socket and a pidfd of its program.
 * memtop connects to no socket here: a connection to a stranger's socket may start a service. Only
 * its owner and root may see a server's descriptors, and it serves only them. A server that had to
 * be a thread of its program (agent/server/start.c) is found by its usual name alone.
 *
 * The kernel lists the sockets of one network namespace, so agents in containers are missing.
 */
#include "launch/launch.h"

#include "launch/agent_server.h"
#include "attach/ptrace/modules.h"
#include "base/procfs.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LISTENS 0x10000 /* __SO_ACCEPTCON */

struct listener {
	unsigned long inode;
	char name[108];
	bool path;
};

struct found {
	struct agent_process *list;
	size_t count, room;
	struct listener *others; /* listening sockets whose names say of no process */
	size_t other_count, other_room;
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

static void add(struct found *f, pid_t pid, const struct listener *l)
{
	GROW(f->list, f->room, f->count + 1);
	struct agent_process *a = &f->list[f->count++];
	*a = (struct agent_process){ .pid = pid, .path = l->path };
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

static void read_listeners(struct found *f)
{
	FILE *file = fopen("/proc/net/unix", "re");
	struct listener l;
	char line[512];

	while (file && fgets(line, sizeof line, file)) {
		if (!read_listener(line, &l))
			continue;
		pid_t pid = l.path ? 0 : pid_of_name(l.name);
		if (pid) {
			add(f, pid, &l);
			continue;
		}
		GROW(f->others, f->other_room, f->other_count + 1);
		f->others[f->other_count++] = l;
	}
	if (file)
		fclose(file);
}

/* The process of a pidfd; 0 = not a pidfd, or the process is gone. */
static pid_t pid_of_pidfd(pid_t holder, const char *fd)
{
	char path[300], line[128];
	int pid = 0;

	snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)holder, fd);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "Pid: %d", &pid) == 1)
			break;
	if (f)
		fclose(f);
	return pid > 0 ? pid : 0;
}

static const struct listener *listener_of(const struct found *f, unsigned long inode)
{
	for (size_t i = 0; i < f->other_count; i++)
		if (f->others[i].inode == inode)
			return &f->others[i];
	return NULL;
}

/* A server's program, 0 = no permission, and its socket among the found ones, NULL = none. */
static pid_t look_at_server(const struct found *f, pid_t server, const struct listener **l)
{
	char path[300], link[64];
	unsigned long inode;
	struct dirent *e;
	pid_t program = 0;

	*l = NULL;
	snprintf(path, sizeof path, "/proc/%d/fd", (int)server);
	DIR *d = opendir(path);
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)server, e->d_name);
		ssize_t n = readlink(path, link, sizeof link - 1);
		link[n > 0 ? n : 0] = '\0';
		if (!program && strstr(link, "[pidfd]"))
			program = pid_of_pidfd(server, e->d_name);
		else if (!*l && sscanf(link, "socket:[%lu]", &inode) == 1)
			*l = listener_of(f, inode);
	}
	if (d)
		closedir(d);
	return program;
}

static bool is_server(pid_t pid)
{
	char name[64];

	return procfs_name(pid, name, sizeof name) && !strcmp(name, AGENT_SERVER_NAME);
}

static bool look_at(void *found, pid_t pid)
{
	const struct listener *l;
	pid_t program = is_server(pid) ? look_at_server(found, pid, &l) : 0;

	if (program && l)
		add(found, program, l);
	return false;
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

	read_listeners(&f);
	if (f.other_count)
		procfs_any(0, look_at, &f);
	free(f.others);
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

/* Reads the agent's own reason (agent/server/listen.c). An agent that listens on TCP, or in
 * another network, has none. */
static bool ask_why(void *arg, pid_t pid)
{
	struct unheard *u = arg;
	struct unheard_process x = { 0 };
	const struct listener *l;

	x.pid = is_server(pid) ? look_at_server(&u->heard, pid, &l) : 0;
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

	read_listeners(&u.heard);
	procfs_any(0, ask_why, &u);
	free(u.heard.list);
	free(u.heard.others);
	*list = u.list;
	return u.count;
}
