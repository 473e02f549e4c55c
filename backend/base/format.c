/* SPDX-License-Identifier: MIT
 *
 * format.c - numbers as a person reads them.
 */
#include "base/format.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* sigabbrev_np() is glibc 2.32's. */
static const char *const signals[] = {
	[SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
	[SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
	[SIGKILL] = "KILL", [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
	[SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT",
	[SIGCHLD] = "CHLD", [SIGCONT] = "CONT",     [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
	[SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU",     [SIGURG] = "URG",   [SIGXCPU] = "XCPU",
	[SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
	[SIGPOLL] = "POLL", [SIGPWR] = "PWR",       [SIGSYS] = "SYS",
};

char *format_signal(int number, char *out)
{
	bool named = number > 0 && (size_t)number < sizeof signals / sizeof *signals;
	const char *name = named ? signals[number] : NULL;

	if (name)
		snprintf(out, FORMAT_SIGNAL, "SIG%s", name);
	else if (number >= SIGRTMIN && number <= SIGRTMAX)
		snprintf(out, FORMAT_SIGNAL, "SIGRTMIN+%d", number - SIGRTMIN);
	else
		snprintf(out, FORMAT_SIGNAL, "signal %d", number);
	return out;
}

const char *format_bytes(char buf[FORMAT_NUMBER], uint64_t bytes)
{
	static const char units[] = "BKMGTPE";
	double v = (double)bytes;
	int unit = 0;

	if (bytes < 1024) {
		snprintf(buf, FORMAT_NUMBER, "%u", (unsigned)bytes);
		return buf;
	}
	for (; v >= 1024 && units[unit + 1]; unit++)
		v /= 1024;
	if (v >= 999.95 && units[unit + 1]) {
		v /= 1024;
		unit++;
	}
	snprintf(buf, FORMAT_NUMBER, "%.1f%c", v, units[unit]);
	return buf;
}

const char *format_digits(char buf[FORMAT_NUMBER], uint64_t n)
{
	char *at = buf + FORMAT_NUMBER - 1;

	*at = '\0';
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	return at;
}

const char *format_signed(char buf[FORMAT_NUMBER], int64_t bytes)
{
	char plain[FORMAT_NUMBER];

	format_bytes(plain, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
	snprintf(buf, FORMAT_NUMBER, "%s%.30s", bytes < 0 ? "-" : bytes ? "+" : "", plain);
	return buf;
}

const char *format_span(char buf[FORMAT_SPAN], uint64_t ns)
{
	uint64_t s = (ns + 500000000) / 1000000000;

	if (s < 120)
		snprintf(buf, FORMAT_SPAN, "%u s", (unsigned)s);
	else if (s < 7200)
		snprintf(buf, FORMAT_SPAN, "%u min", (unsigned)((s + 30) / 60));
	else
		snprintf(buf, FORMAT_SPAN, "%.1f h", (double)s / 3600);
	return buf;
}

const char *format_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *format_count(char buf[FORMAT_NUMBER], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}
