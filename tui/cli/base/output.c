/* SPDX-License-Identifier: MIT */
#include "cli/base/output.h"

#include "cli/base/verbs.h"
#include "base/atomic_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static bool is_plain(const char *path)
{
	struct stat st;

	return stat(path, &st) || S_ISREG(st.st_mode);
}

static int refused(const char *path, struct err *err)
{
	return err_set(err, STATUS_UNREACHED, "%s: cannot be written: %s; choose another -o", path,
		       strerror(errno));
}

/* flags: of fopen(). */
static int write_to(const char *path, const char *flags, const char *name,
		    int (*write)(void *arg, FILE *out, struct err *err), void *arg, struct err *err)
{
	FILE *out = fopen(path, flags);

	if (!out)
		return refused(name, err);
	int rc = write(arg, out, err);
	return fclose(out) && !rc ? refused(name, err) : rc;
}

int output_write(const char *path, int (*write)(void *arg, FILE *out, struct err *err), void *arg,
		 struct err *err)
{
	struct replacement file;

	if (!path || !strcmp(path, "-"))
		return write(arg, stdout, err);
	if (!is_plain(path))
		return write_to(path, "we", path, write, arg, err);
	if (atomic_file_begin(&file, path, err))
		return -1;
	atomic_file_give_up(&file); /* created again, with the user's mode */
	if (!write_to(file.part, "wxe", path, write, arg, err))
		return atomic_file_end(&file, err);
	atomic_file_give_up(&file);
	return -1;
}
