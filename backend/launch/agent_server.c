/* SPDX-License-Identifier: MIT
 *
 * agent_server.c - decides whether a process is an agent's server, and of which program.
 *
 * A server's name proves nothing: any program may have it. A server shares its memory with an older
 * process (launch/server_of.h). Where that is judged by looks, a forked child may have the same
 * ones, so a process whose agent listens comes first.
 */
#include "launch/agent_server.h"

#include "base/procfs.h"
#include "launch/launch.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
		if (other <= 0 || other == pid || !server_is_older(other, pid) ||
		    !server_shares_memory(other, pid))
			continue;
		bool its = listens(list, count, other);
		if (!found || (its && !heard) || (its == heard && server_is_older(other, found))) {
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
	if (!server_is_named(pid))
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
