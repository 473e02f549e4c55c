/* SPDX-License-Identifier: MIT
 *
 * terminal.c - see launch/tee.h.
 *
 * Packet mode (tty_ioctl(4)) reports each change of modes, once EXTPROC is set: each read begins
 * with a byte that says whether data follows. Only what the program changed is changed in the
 * terminal; the rest may be somebody else's, or the program's own through its input.
 */
#include "launch/tee.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

static struct {
	int from, to;
	struct termios last; /* modes of the pseudo-terminal that the terminal has been told */
} terminal;

int terminal_open(int to, int ends[2])
{
	struct winsize size;
	bool sized = !ioctl(to, TIOCGWINSZ, &size);
	struct termios modes;
	int packets = 1;

	if (tcgetattr(to, &modes))
		return -1;
	modes.c_oflag &= ~(tcflag_t)OPOST;
	modes.c_lflag |= EXTPROC;
	if (openpty(&ends[0], &ends[1], NULL, &modes, sized ? &size : NULL))
		return -1;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	ioctl(ends[0], TIOCPKT, &packets);
	tcgetattr(ends[1], &terminal.last);
	return 0;
}

static void on_resize(int signum)
{
	struct winsize size;
	int kept = errno;

	(void)signum;
	if (!ioctl(terminal.to, TIOCGWINSZ, &size))
		ioctl(terminal.from, TIOCSWINSZ, &size);
	errno = kept;
}

void terminal_follow(int from, int to)
{
	struct sigaction resize = { .sa_handler = on_resize, .sa_flags = SA_RESTART };

	terminal.from = from;
	terminal.to = to;
	signal(SIGTTOU, SIG_IGN);
	sigaction(SIGWINCH, &resize, NULL);
}

static tcflag_t changed(tcflag_t is, tcflag_t before, tcflag_t after)
{
	return (is & ~(before ^ after)) | (after & (before ^ after));
}

/* As terminal_open() made them; a program may set its modes anew, as `stty sane` does. */
static void keep_ours(struct termios *modes)
{
	tcflag_t output = modes->c_oflag, local = modes->c_lflag;

	modes->c_oflag &= ~(tcflag_t)OPOST; /* the terminal does that, once */
	modes->c_lflag |= EXTPROC;
	if (modes->c_oflag != output || modes->c_lflag != local)
		tcsetattr(terminal.from, TCSANOW, modes);
}

/* In the background the terminal is another job's. The modes are set once this one has it again,
 * and changes them. */
static void pass_modes_on(void)
{
	const struct termios *before = &terminal.last;
	struct termios after, is;
	pid_t owner = tcgetpgrp(terminal.to);

	if (tcgetattr(terminal.from, &after))
		return;
	keep_ours(&after);
	if ((owner >= 0 && owner != getpgrp()) || tcgetattr(terminal.to, &is))
		return;
	is.c_iflag = changed(is.c_iflag, before->c_iflag, after.c_iflag);
	is.c_oflag = changed(is.c_oflag, before->c_oflag, after.c_oflag);
	is.c_lflag = changed(is.c_lflag, before->c_lflag, after.c_lflag);
	for (size_t i = 0; i < NCCS; i++)
		if (after.c_cc[i] != before->c_cc[i])
			is.c_cc[i] = after.c_cc[i];
	if (!tcsetattr(terminal.to, TCSANOW, &is))
		terminal.last = after;
}

ssize_t terminal_read(char *bytes, size_t size, size_t *len)
{
	char what = TIOCPKT_DATA;
	struct iovec parts[2] = { { &what, 1 }, { bytes, size } };
	ssize_t n = readv(terminal.from, parts, 2);

	*len = n > 0 && what == TIOCPKT_DATA ? (size_t)n - 1 : 0;
	if (n > 0 && what & TIOCPKT_IOCTL)
		pass_modes_on();
	return n;
}
