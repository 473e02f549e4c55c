/* SPDX-License-Identifier: MIT
 *
 * server_of.c - which server belongs to which program, from what /proc shows.
 *
 * A server holds a pidfd of its program, which its owner and root may read. For all others it has
 * its program's memory: kcmp() proves that, and where it is refused (most containers), the memory
 * figures and the command line are compared, which everyone may read. A server that had to be a
 * thread of its program has its name in the list of that program's threads.
 */
#include "launch/server_of.h"

#include "base/procfs.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 3 /* a program that maps memory changes its figures between two looks */

struct look {
	char text[8192];
	size_t length;
};

static void look(pid_t pid, const char *file, struct look *l)
{
	char path[300];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	FILE *f = fopen(path, "re");
	l->length = f ? fread(l->text, 1, sizeof l->text - 1, f) : 0;
	l->text[l->length] = '\0';
	if (f)
		fclose(f);
}

bool server_is_named(pid_t pid)
{
	struct look comm;

	look(pid, "comm", &comm);
	return !strcmp(comm.text, AGENT_SERVER_NAME "\n");
}

pid_t server_pidfd(pid_t holder, const char *fd)
{
	char file[280];
	struct look info;
	int pid = 0;

	snprintf(file, sizeof file, "fdinfo/%s", fd);
	look(holder, file, &info);
	const char *at = strstr(info.text, "\nPid:");
	return at && sscanf(at, "\nPid: %d", &pid) == 1 && pid > 0 ? pid : 0;
}

pid_t server_program(pid_t server)
{
	char path[300], link[64];
	struct dirent *e;
	pid_t program = 0;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)server);
	DIR *d = opendir(path);
	while (d && !program && (e = readdir(d))) {
		snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)server, e->d_name);
		ssize_t len = readlink(path, link, sizeof link - 1);
		link[len > 0 ? len : 0] = '\0';
		if (strstr(link, "[pidfd]"))
			program = server_pidfd(server, e->d_name);
	}
	if (d)
		closedir(d);
	return program;
}

/* The publicly readable memory figures of a process, without those that change with every page. */
static void figures(pid_t pid, char *to, size_t size)
{
	static const char *const names[] = { "\nVmPeak:", "\nVmLck:", "\nVmStk:", "\nVmExe:",
					     "\nVmLib:" };
	struct look status;
	size_t used = 0;

	look(pid, "status", &status);
	to[0] = '\0';
	for (size_t i = 0; i < sizeof names / sizeof *names && used < size; i++) {
		const char *at = strstr(status.text, names[i]);
		if (at)
			used += (size_t)snprintf(to + used, size - used, "%.*s",
						 1 + (int)strcspn(at + 1, "\n"), at);
	}
}

static bool looks_alike(pid_t a, pid_t b)
{
	struct look x, y;
	char its[400], other[400];

	look(a, "cmdline", &x);
	look(b, "cmdline", &y);
	if (!x.length || x.length != y.length || memcmp(x.text, y.text, x.length))
		return false;
	for (int i = 0; i < TRIES; i++) {
		figures(a, its, sizeof its);
		figures(b, other, sizeof other);
		if (*its && !strcmp(its, other))
			return true;
	}
	return false;
}

bool server_shares_memory(pid_t a, pid_t b)
{
	long order = syscall(SYS_kcmp, (long)procfs_thread(a), (long)procfs_thread(b),
			     (long)KCMP_VM, 0L, 0L);

	return order < 0 ? looks_alike(a, b) : order == 0;
}

/* The start in clock ticks since boot; 0: the process is gone. */
static unsigned long long start_of(pid_t pid)
{
	struct look stat;
	unsigned long long start = 0;

	look(pid, "stat", &stat);
	/* the name may hold anything; field 22, counted from the state, which is 3 */
	const char *rest = strrchr(stat.text, ')');
	for (int field = 3; rest && field <= 22; field++)
		rest = strchr(rest + 1, ' ');
	if (rest)
		start = strtoull(rest, NULL, 10);
	return start;
}

/* Within the same tick the pids decide, unless they wrapped around just then. */
bool server_is_older(pid_t a, pid_t b)
{
	unsigned long long x = start_of(a), y = start_of(b);

	return x && (x < y || (x == y && a < b));
}

struct server_look server_look(pid_t pid)
{
	struct look line;
	struct server_look s = { .pid = pid, .command = 14695981039346656037u };

	look(pid, "cmdline", &line);
	for (size_t i = 0; i < line.length; i++)
		s.command = (s.command ^ (unsigned char)line.text[i]) * 1099511628211u;
	return s;
}

static bool has_thread(pid_t pid)
{
	char path[64], file[280];
	struct dirent *e;
	struct look comm;
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		snprintf(file, sizeof file, "task/%s/comm", e->d_name);
		look(pid, file, &comm);
		found = !strcmp(comm.text, AGENT_SERVER_NAME "\n");
	}
	if (d)
		closedir(d);
	return found;
}

bool server_is_there(pid_t pid, const struct server_look *servers, size_t count)
{
	uint64_t command = server_look(pid).command;

	for (size_t i = 0; i < count; i++)
		if (servers[i].pid != pid && servers[i].command == command &&
		    server_shares_memory(servers[i].pid, pid))
			return true;
	return has_thread(pid);
}

/* By the namespace itself, which its owner and root may read, or by how deep it lies. */
static bool counts_otherwise(pid_t a, pid_t b)
{
	char path[64];
	struct stat x, y;

	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)a);
	bool both = stat(path, &x) == 0;
	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)b);
	both &= stat(path, &y) == 0;
	return both ? x.st_ino != y.st_ino || x.st_dev != y.st_dev
		    : !procfs_inner(a) != !procfs_inner(b);
}

/* Is /proc that of another pid namespace than memtop's? Then its numbers say nothing of peers. */
static bool is_foreign(void)
{
	return procfs_self() != getpid();
}

pid_t server_number_here(pid_t peer, pid_t inner, pid_t named)
{
	if (peer <= 0 || is_foreign())
		return 0;
	const pid_t may_be[] = { server_program(peer), named, peer }; /* a server may be a thread */
	for (size_t i = 0; i < sizeof may_be / sizeof *may_be; i++)
		if (may_be[i] > 0 && may_be[i] != inner && procfs_inner(may_be[i]) == inner &&
		    !server_is_named(may_be[i]))
			return may_be[i];
	return 0;
}

bool server_is_anothers(pid_t peer, pid_t pid)
{
	struct proc_stat s;

	if (peer == pid || !procfs_stat(pid, &s) || is_foreign())
		return false;
	if (peer <= 0) /* it is in no namespace below memtop's */
		return true;
	pid_t program = server_program(peer);
	return program ? program != pid : counts_otherwise(peer, pid);
}
