/* SPDX-License-Identifier: MIT
 *
 * within.c - openat2(RESOLVE_IN_ROOT), and what comes near it where the kernel has none.
 */
#include "base/within.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <memtop/syscalls.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Takes dir. Neither a link nor ".." leads out. */
static int open_by_parts(int dir, const char *path, int flags)
{
	char part[NAME_MAX + 1];

	for (;;) {
		path += strspn(path, "/");
		size_t n = strcspn(path, "/");
		snprintf(part, sizeof part, "%.*s", (int)n, path);
		bool last = !path[n], up = !strcmp(part, "..");
		int next = openat(dir, up ? "." : part,
				  last ? flags : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int why = errno;
		close(dir);
		errno = why;
		if (next < 0 || last)
			return next;
		dir = next;
		path += n;
	}
}

int within_open(const char *root, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return -1;
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
	/* Linux before 5.6, or a filter refuses the call */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		if (flags & O_NOFOLLOW)
			return open_by_parts(dir, path, flags | O_CLOEXEC);
		fd = openat(dir, path + strspn(path, "/"), flags | O_CLOEXEC);
	}
	int why = errno;
	close(dir);
	errno = why;
	return fd;
}
