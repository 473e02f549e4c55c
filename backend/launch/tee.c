/* SPDX-License-Identifier: MIT
 *
 * tee.c - see launch/tee.h.
 *
 * Two sockets join memtop and its processes. All send their matches into one. Over the other,
 * private one memtop asks a process whether the output so far has been passed on; the answer is
 * PASSED or LOST. A process that ends says one of them too; one that says nothing was killed.
 *
 * A process that cannot write ends, and with it the program's pipe: the program is told by SIGPIPE,
 * as in a pipe of the shell. That happens as soon as the reader is gone, without waiting for
 * output.
 */
#include "launch/tee.h"

#include <errno.h>
#include <fcntl.h>
#include <memtop/syscalls.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536
#define PASSED '\0'
#define LOST '!'

struct copier {
	int from, to, matches, ask;
	bool terminal; /* `from` is terminal_open()'s */
	const regex_t *const *patterns;
	char line[TEE_LINE_MAX];
	size_t line_len;   /* bytes of the open line; line[] holds the first ones */
	unsigned reported; /* bit per pattern: the open line has matched */
	uint32_t lost;
	int asked;     /* memtop waits for an answer */
	size_t before; /* bytes to pass on before it */
};

static void report(struct copier *c, unsigned pattern, const char *text, size_t len)
{
	struct tee_match m = { .pattern = pattern, .lost = c->lost };

	len = len < MTW_NAME_MAX ? len : MTW_NAME_MAX;
	memcpy(m.text, text, len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)m.text[i] < ' ' || m.text[i] == 127)
			m.text[i] = '?';
	c->reported |= 1u << pattern;
	if (send(c->matches, &m, sizeof m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof m)
		c->lost = 0;
	else
		c->lost++;
}

/* Without its end, `$` matches nothing. */
static void search(struct copier *c, bool whole)
{
	size_t len = c->line_len < sizeof c->line ? c->line_len : sizeof c->line;

	if (whole && len && len == c->line_len && c->line[len - 1] == '\r')
		len--;
	for (unsigned i = 0; i < 2; i++) {
		regmatch_t at = { .rm_so = 0, .rm_eo = (regoff_t)len };

		if (!c->patterns[i] || c->reported & 1u << i)
			continue;
		if (!regexec(c->patterns[i], c->line, 1, &at,
			     REG_STARTEND | (whole ? 0 : REG_NOTEOL)))
			report(c, i, c->line + at.rm_so, (size_t)(at.rm_eo - at.rm_so));
	}
}

static void take(struct copier *c, const char *text, size_t len)
{
	size_t room = c->line_len < sizeof c->line ? sizeof c->line - c->line_len : 0;

	if (room)
		memcpy(c->line + c->line_len, text, len < room ? len : room);
	c->line_len += len;
}

/* A line that waits for its end, as a prompt does, is searched once the program pauses. */
static void follow(struct copier *c, const char *text, size_t len, bool pause)
{
	for (const char *end; (end = memchr(text, '\n', len)); text = end + 1) {
		take(c, text, (size_t)(end - text));
		len -= (size_t)(end - text) + 1;
		search(c, true);
		c->line_len = 0;
		c->reported = 0;
	}
	take(c, text, len);
	if (pause && c->line_len)
		search(c, false);
}

static void say(const struct copier *c, char word)
{
	send(c->ask, &word, 1, MSG_NOSIGNAL);
}

/* A reader that is gone has wanted no more: only what a full disk refuses is lost. */
static void refused(const struct copier *c, int why)
{
	if (why == EPIPE)
		return;
	dprintf(STDERR_FILENO, "memtop: writing the program's %s failed: %s; the rest is lost\n",
		c->to == STDOUT_FILENO ? "stdout" : "stderr", strerror(why));
	say(c, LOST);
}

/* False: nobody takes any more. */
static bool pass_on(const struct copier *c, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(c->to, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){ c->to, POLLOUT, 0 }, 1, -1);
			continue;
		}
		if (n < 0) {
			refused(c, errno);
			return false;
		}
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

static void answer(struct copier *c, size_t passed)
{
	c->before -= passed < c->before ? passed : c->before;
	if (!c->asked || c->before)
		return;
	c->asked = 0;
	say(c, PASSED);
}

/* memtop asks, or has ended. */
static void hear(struct copier *c)
{
	char byte;
	int waiting = 0;

	if (read(c->ask, &byte, 1) != 1) {
		close(c->ask);
		close(c->matches);
		c->ask = c->matches = -1;
		return;
	}
	ioctl(c->from, FIONREAD, &waiting);
	c->asked = 1;
	c->before = waiting > 0 ? (size_t)waiting : 0;
	answer(c, 0);
}

/* Keys and signals that end the program or memtop leave it alone: it has the rest to pass on. */
static void settle(struct copier *c)
{
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };

	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, "memtop-tee");
	if (c->terminal)
		terminal_follow(c->from, c->to);
}

/* What there is, after a wait. *len 0: nothing to pass on now. False: nothing more comes. */
static bool take_output(const struct copier *c, char *bytes, size_t *len)
{
	ssize_t n;

	if (c->terminal) {
		n = terminal_read(bytes, CHUNK, len);
	} else {
		n = read(c->from, bytes, CHUNK);
		*len = n > 0 ? (size_t)n : 0;
	}
	return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)); /* EIO: its last user */
}

/* False: the output has ended, or nobody takes it. */
static bool copy_part(struct copier *c)
{
	static char bytes[CHUNK];
	size_t len;

	if (!take_output(c, bytes, &len))
		return false;
	bool taken = pass_on(c, bytes, len);
	if (len && c->matches >= 0)
		follow(c, bytes, len, poll(&(struct pollfd){ c->from, POLLIN, 0 }, 1, 0) == 0);
	answer(c, len);
	return taken;
}

static void copy(struct copier *c)
{
	settle(c);
	for (;;) {
		struct pollfd fd[] = { { c->from, POLLIN, 0 },
				       { c->ask, POLLIN, 0 },
				       { c->to, 0, 0 } };

		if (poll(fd, 3, -1) < 0)
			continue;
		if (fd[1].revents)
			hear(c);
		if (fd[0].revents ? !copy_part(c) : fd[2].revents)
			break;
	}
	if (c->line_len && c->matches >= 0)
		search(c, true);
	say(c, PASSED); /* what was lost has been said before */
	_exit(0);
}

/* Where both go to the same place, one pipe keeps their order. */
static bool same_place(void)
{
	struct stat a, b;
	long pid = getpid();

	if (fstat(STDOUT_FILENO, &a) || fstat(STDERR_FILENO, &b) || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino)
		return false;
	return !S_ISREG(a.st_mode) ||
	       syscall(SYS_kcmp, pid, pid, 0 /* KCMP_FILE */, STDOUT_FILENO, STDERR_FILENO) == 0;
}

/* Where memtop's own output is closed, a new descriptor may get its number: moves it on. */
static bool move_up(int fd[2])
{
	for (int i = 0; i < 2; i++) {
		int moved = fd[i] > STDERR_FILENO ? fd[i] : fcntl(fd[i], F_DUPFD_CLOEXEC, 3);

		if (moved < 0)
			return false;
		if (moved != fd[i])
			close(fd[i]);
		fd[i] = moved;
	}
	return true;
}

static int open_ends(int to, int ends[2], bool *terminal)
{
	*terminal = isatty(to) && !terminal_open(to, ends);
	if (!*terminal && pipe2(ends, O_CLOEXEC))
		return -1;
	return move_up(ends) ? 0 : -1;
}

/* Keeps other pipes of the caller open for nobody. */
static void close_others(const struct copier *c)
{
	for (int fd = 0; fd < 1024; fd++)
		if (fd != c->from && fd != c->to && fd != c->matches && fd != c->ask &&
		    fd != STDERR_FILENO)
			close(fd);
	syscall(SYS_close_range, 1024, ~0u, 0);
}

static int start_one(struct tee *t, int which, int matches, const regex_t *const patterns[2])
{
	int to = which + 1, ends[2], ask[2];
	bool terminal;

	if (open_ends(to, ends, &terminal))
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ask) || !move_up(ask))
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		static struct copier c;

		c = (struct copier){ .from = ends[0],
				     .to = to,
				     .matches = matches,
				     .ask = ask[1],
				     .terminal = terminal,
				     .patterns = patterns };
		close_others(&c);
		copy(&c);
	}
	close(ends[0]);
	close(ask[1]);
	t->output[which] = ends[1];
	t->ask[which] = ask[0];
	return pid < 0 ? -1 : 0;
}

/* Would the program have it? Where memtop was started without it, the number is another file's. */
static bool inherited(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags >= 0 && !(flags & FD_CLOEXEC);
}

int tee_start(struct tee *t, const regex_t *const patterns[2], struct err *err)
{
	int matches[2], why = 0;
	bool out = inherited(STDOUT_FILENO), err_too = inherited(STDERR_FILENO);

	*t = (struct tee){ { -1, -1 }, -1, { -1, -1 } };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, matches) || !move_up(matches))
		return err_set(err, 125,
			       "--mark-on, --until: %s; raise the limit of open files (ulimit -n)",
			       strerror(errno));
	t->fd = matches[0];
	if (out && start_one(t, 0, matches[1], patterns))
		why = errno;
	if (!why && out && err_too && same_place())
		t->output[1] = t->output[0];
	else if (!why && err_too && start_one(t, 1, matches[1], patterns))
		why = errno;
	close(matches[1]);
	if (!why)
		return 0;
	tee_launched(t);
	tee_release(t);
	return err_set(err, 125, "--mark-on, --until: %s; leave these options out", strerror(why));
}

void tee_launched(struct tee *t)
{
	if (t->output[0] >= 0)
		close(t->output[0]);
	if (t->output[1] >= 0 && t->output[1] != t->output[0])
		close(t->output[1]);
	t->output[0] = t->output[1] = -1;
}

int tee_take(struct tee *t, struct tee_match *m)
{
	ssize_t n = t->fd < 0 ? 0 : recv(t->fd, m, sizeof *m, MSG_DONTWAIT);

	if (n == (ssize_t)sizeof *m)
		return 1;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static bool all_passed(int ask, const char *name)
{
	char word;
	ssize_t n;

	send(ask, "", 1, MSG_NOSIGNAL); /* it may have ended, with a last word */
	while ((n = read(ask, &word, 1)) < 0 && errno == EINTR)
		;
	if (n != 1)
		dprintf(STDERR_FILENO,
			"memtop: writing the program's %s failed: the process that writes it was "
			"killed; the rest is lost\n",
			name);
	return n == 1 && word == PASSED;
}

bool tee_wait(struct tee *t)
{
	bool whole = true;

	for (int i = 0; i < 2; i++)
		if (t->ask[i] >= 0 && !all_passed(t->ask[i], i ? "stderr" : "stdout"))
			whole = false;
	return whole;
}

void tee_release(struct tee *t)
{
	for (int i = 0; i < 2; i++)
		if (t->ask[i] >= 0)
			close(t->ask[i]);
	if (t->fd >= 0)
		close(t->fd);
	*t = (struct tee){ { -1, -1 }, -1, { -1, -1 } };
}
