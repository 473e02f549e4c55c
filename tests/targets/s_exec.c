/* SPDX-License-Identifier: MIT
 *
 * s_exec.c - replaces itself through one function of the exec family. Usage: s_exec HOW.
 * The new image (s_exec seen) prints "watched" or "alone", then what of its environment is not
 * ours: TAG, LD_PRELOAD and anything of MEMTOP_. "failing" tries a file that is not there first;
 * "vfork", "fork", "spawn", "system" start a child instead, whose line comes first.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static char line[65536];

static int watched(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, "libmemtop-agent") != NULL;
	if (maps)
		fclose(maps);
	return found;
}

static int seen(void)
{
	printf("%s", watched() ? "watched" : "alone");
	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "TAG=", 4) || !strncmp(*e, "LD_PRELOAD=", 11) ||
		    !strncmp(*e, "MEMTOP_", 7))
			printf(" %s", *e);
	printf("\n");
	fflush(stdout);
	return 0;
}

static void child(const char *how, char *self)
{
	char *args[] = { self, "seen", NULL }, command[4096];
	pid_t pid = -1;

	if (!strcmp(how, "system")) {
		snprintf(command, sizeof(command), "%s seen", self);
		EXPECT(system(command) == 0);
		return;
	}
	if (!strcmp(how, "spawn"))
		EXPECT(!posix_spawn(&pid, self, NULL, NULL, args, environ));
	if (!strcmp(how, "fork") && !(pid = fork())) {
		execv(self, args);
		_exit(9);
	}
	if (!strcmp(how, "vfork") && !(pid = vfork())) {
		execv(self, args);
		_exit(9);
	}
	EXPECT(waitpid(pid, NULL, 0) == pid);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "none";
	char self[4096] = "", *args[] = { self, "seen", NULL },
	     *envp[] = { "TAG=given", "PATH=/bin", NULL };

	if (!strcmp(how, "seen"))
		return seen();
	EXPECT(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	if (!strcmp(how, "none"))
		return 0;
	if (!strcmp(how, "failing")) {
		errno = 0;
		EXPECT(execl("/nowhere/at/all", "x", NULL) == -1 && errno == ENOENT);
		EXPECT(execvp("no-such-program-at-all", args) == -1 && errno == ENOENT);
		return seen();
	}
	if (strncmp(how, "exec", 4) && strcmp(how, "fexecve")) {
		child(how, self);
		return seen();
	}
	if (!strcmp(how, "execve"))
		execve(self, args, envp);
	if (!strcmp(how, "execv"))
		execv(self, args);
	if (!strcmp(how, "execvp"))
		execvp(self, args);
	if (!strcmp(how, "execvpe"))
		execvpe(self, args, envp);
	if (!strcmp(how, "execl"))
		execl(self, self, "seen", NULL);
	if (!strcmp(how, "execlp"))
		execlp(self, self, "seen", NULL);
	if (!strcmp(how, "execle"))
		execle(self, self, "seen", NULL, envp);
	if (!strcmp(how, "fexecve"))
		fexecve(open(self, O_RDONLY | O_CLOEXEC), args, envp);
	if (!strcmp(how, "execveat"))
		execveat(AT_FDCWD, self, args, envp, 0);
	return 1; /* exec does not come back */
}
