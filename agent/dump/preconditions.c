/* SPDX-License-Identifier: MIT
 *
 * preconditions.c - see dump/preconditions.h.
 *
 * The line goes to the program's stderr, and only if descriptor 2 is still the file that it was at
 * the start: later it may be anything. The server holds no copy of it, which would keep a pipe
 * open.
 */
#include "dump/preconditions.h"
#include "base/conf.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/syscalls.h"
#include "collect/output.h"
#include "collect/server.h"

#include <fcntl.h>
#include <poll.h>

/* Of addresses: a viewer's tables and the last scans, of which little is ever touched. */
#define ROOM_BYTES ((size_t)(sizeof(void *) < 8 ? 16 : 40) << 20)

bool dump_wanted(void)
{
	const struct conf *c = &mt_conf;

	return c->dump_signal[0] || c->dump_at_exit || c->dump_on_fail || c->dump_on_growth ||
	       c->dump_on_rss;
}

bool dump_at_status(int status)
{
	return mt_conf.dump_at_exit || (mt_conf.dump_on_fail && status);
}

static struct file_id stderr_of(int number)
{
	char path[PROC_PATH];
	call_stat st;

	proc_path(path, number, "fd/2");
	if (mt_prim_call(CALL_FSTATAT, AT_FDCWD, (long)path, (long)&st, 0, 0, 0) != 0)
		return (struct file_id){ 0, 0 };
	return (struct file_id){ st.st_dev, st.st_ino };
}

void dump_keep_room(struct server *s)
{
	if (!s->dumps->room)
		s->dumps->room = mt_prim_map(ROOM_BYTES, true);
}

void dump_use_room(struct server *s)
{
	if (s->dumps->room)
		mt_prim_unmap(s->dumps->room, ROOM_BYTES);
	s->dumps->room = NULL;
}

void dump_begin(struct server *s)
{
	struct dumps *d = s->dumps;

	if (!dump_wanted())
		return;
	dump_keep_room(s);
	d->program_stderr = stderr_of(s->target.number);
	long n = mt_prim_call(SYS_getcwd, (long)d->folder, sizeof(d->folder), 0, 0, 0, 0);
	if (n <= 0 || d->folder[0] != '/')
		d->folder[0] = 0;
}

/* The program's own description of the file shares its place in it, so that neither writes over
 * the other. Where the kernel refuses that: the file, opened at its end. */
static long open_stderr(const struct target *target)
{
	char path[PROC_PATH];
	long fd = mt_prim_call_seldom(SYS_pidfd_getfd, target->pid_fd, 2, 0);

	if (fd >= 0)
		return fd;
	proc_path(path, target->number, "fd/2");
	return mt_prim_call(SYS_openat, AT_FDCWD, (long)path,
			    O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0, 0, 0);
}

/* A full pipe without a reader must not stop the server. */
static bool has_room(long fd)
{
	struct pollfd p = { (int)fd, POLLOUT, 0 };
	long none[2] = { 0, 0 };

	return mt_prim_call(SYS_ppoll, (long)&p, 1, (long)none, 0, 8, 0) > 0 &&
	       (p.revents & POLLOUT);
}

void dump_say(struct server *s, const char *text)
{
	const struct file_id *was = &s->dumps->program_stderr;
	struct file_id is = stderr_of(s->target.number);
	char line[NOTICE_MAX + 16];

	viewers_notice(&s->notices, -1, -1, text);
	if (!was->inode || is.device != was->device || is.inode != was->inode)
		return;
	long fd = open_stderr(&s->target);
	if (fd < 0)
		return;
	size_t n = mt_format(line, sizeof(line), "memtop: %s\n", text);
	if (has_room(fd))
		mt_prim_call(SYS_write, fd, (long)line,
			     (long)(n < sizeof(line) ? n : sizeof(line) - 1), 0, 0, 0);
	mt_prim_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

void dump_sealed(struct server *s, const char *why)
{
	char text[NOTICE_MAX];

	if (!dump_wanted())
		return;
	mt_format(text, sizeof(text), "no dumps from now on: the program %s", why);
	dump_say(s, text);
}
