/* SPDX-License-Identifier: MIT
 *
 * agent_server.c - decides whether a process is an agent's server, and of which program.
 *
 * A server's name proves nothing: any program may have it. A server shares its memory with an older
 * process, which kcmp() proves. Where kcmp() is refused (most containers), the memory figures and
 * the command line, which everyone may read, are compared. A forked child may have the same ones,
 * so a process whose agent listens comes first.
 */
#include "launch/agent_server.h"

#include "base/procfs.h"
#include "launch/launch.h"

#include <dirent.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 3 /* a program that maps memory changes its figures between two looks */

struct look {
	char text[8192];
	size_t length;
};

static void look(pid_t pid, const char *file, struct look *l)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	FILE *f = fopen(path, "re");
	l->length = f ? fread(l->text, 1, sizeof l->text - 1, f) : 0;
	l->text[l->length] = '\0';
	if (f)
		fclose(f);
}

static bool is_named(pid_t pid)
{
	struct look comm;

	look(pid, "comm", &comm);
	return !strcmp(comm.text, AGENT_SERVER_NAME "\n");
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
static bool is_older(pid_t a, pid_t b)
{
	unsigned long long x = start_of(a), y = start_of(b);

	return x && (x < y || (x == y && a < b));
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

static bool shares_memory(pid_t a, pid_t b)
{
	long order = syscall(SYS_kcmp, (long)procfs_thread(a), (long)procfs_thread(b),
			     (long)KCMP_VM, 0L, 0L);

	return order < 0 ? looks_alike(a, b) : order == 0;
}

static bool listens(const struct agent_process *list, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].pid == pid)
			return true;
	return false;
}

/* Among the older processes that share its memory: the one that listens, else the oldest. 0 =
 * none. */
static pid_t find_program(pid_t pid)
{
	struct agent_process *list;
	size_t count = launch_list(&list);
	pid_t found = 0;
	bool heard = false;
	DIR *dir = opendir("/proc");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		pid_t other = (pid_t)strtol(d->d_name, NULL, 10);
		if (other <= 0 || other == pid || !is_older(other, pid) ||
		    !shares_memory(other, pid))
			continue;
		bool its = listens(list, count, other);
		if (!found || (its && !heard) || (its == heard && is_older(other, found))) {
			found = other;
			heard = its;
		}
	}
	if (dir)
		closedir(dir);
	free(list);
	return found;
}

/* Does its program's file have another name? Then the agent in it set this one. */
static bool was_renamed(pid_t pid)
{
	char path[64], exe[PATH_MAX];

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	ssize_t n = readlink(path, exe, sizeof exe - 1);
	exe[n > 0 ? n : 0] = '\0';
	const char *slash = strrchr(exe, '/');
	if (!slash || !strncmp(slash + 1, AGENT_SERVER_NAME, sizeof AGENT_SERVER_NAME - 1))
		return false;
	return procfs_maps(pid, AGENT_FILE) > 0;
}

pid_t agent_server_program(pid_t pid)
{
	if (!is_named(pid))
		return 0;
	pid_t program = find_program(pid);
	return program ? program : was_renamed(pid) ? AGENT_SERVER_ALONE : 0;
}

int agent_server_explain(const char *what, pid_t program, const char *name, struct err *err)
{
	if (program == AGENT_SERVER_ALONE)
		return err_set(err, 3,
			       "%s: an agent's server, and its program has ended; name a program's "
			       "process",
			       what);
	return err_set(err, 3,
		       "%s: the agent's server of process %d (%s), not a program; name %d instead",
		       what, (int)program, name, (int)program);
}
