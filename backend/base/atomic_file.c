/* SPDX-License-Identifier: MIT
 *
 * atomic_file.c - writes a temporary file beside the target, then renames it.
 *
 * rename() replaces anything but a folder: a device, a FIFO, a link. A fixed temporary name
 * (FILE.part) may be the user's own file. So the target is checked first, links are followed, and
 * the temporary file gets an unused name.
 */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUS 3

int atomic_file_begin(struct replacement *r, const char *path, struct err *err)
{
	struct stat st;
	int rc = 0;

	if (strlen(path) >= sizeof r->path)
		return err_set(err, STATUS, "%.64s...: the name is too long; choose another place",
			       path);
	strcpy(r->path, path);
	if (lstat(path, &st) == 0) {
		char *real = realpath(path, NULL);
		if (!real)
			rc = err_set(err, STATUS,
				     "%s: cannot be written: it is a dangling link; choose another "
				     "place",
				     path);
		else if (stat(real, &st) || !S_ISREG(st.st_mode))
			rc = err_set(
				err, STATUS,
				"%s: not overwritten: it is not a plain file; choose another place",
				path);
		else
			snprintf(r->path, sizeof r->path, "%s", real);
		free(real);
	}
	if (rc)
		return rc;
	snprintf(r->part, sizeof r->part, "%s.XXXXXX", r->path);
	int fd = mkostemp(r->part, O_CLOEXEC);
	if (fd < 0)
		return err_set(err, STATUS, "%s: cannot be written: %s; choose another place", path,
			       strerror(errno));
	close(fd);
	return 0;
}

void atomic_file_give_up(const struct replacement *r)
{
	unlink(r->part);
}

FILE *atomic_file_stream(const struct replacement *r)
{
	unlink(r->part);
	return fopen(r->part, "wxe");
}

int atomic_file_end(struct replacement *r, struct err *err)
{
	if (rename(r->part, r->path) == 0)
		return 0;
	err_set(err, STATUS, "%s: cannot be written: %s; choose another place", r->path,
		strerror(errno));
	atomic_file_give_up(r);
	return -1;
}
