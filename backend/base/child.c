/* SPDX-License-Identifier: MIT */
#include "base/child.h"

#include "base/base.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool goes(int fd, int only)
{
	struct stat st;

	if (only >= 0)
		return fd != only && fd != STDERR_FILENO;
	return fd > STDERR_FILENO && !fstat(fd, &st) && S_ISSOCK(st.st_mode);
}

/* A client must see its connection end, an agent its viewer go, and an address or a locked file
 * become free, with memtop, however long the child writes. */
static void close_others(int only)
{
	DIR *list = opendir("/proc/self/fd");
	struct dirent *d;

	while (list && (d = readdir(list))) {
		int fd = atoi(d->d_name);

		if (*d->d_name != '.' && fd != dirfd(list) && goes(fd, only))
			close(fd);
	}
	if (list)
		closedir(list);
}

static _Noreturn void end_silently(void)
{
	_exit(CHILD_ENDED);
}

void child_begin(int only)
{
	sigset_t all;

	/* Handlers of the loop would write into the parent's pipes. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* A line would come onto the parent's screen, and exit() writes copies of its streams. */
	memory_end = end_silently;
	/* The screen is the parent's, too: a bug here must not end it. */
	bug_restore = NULL;
	close_others(only);
}
