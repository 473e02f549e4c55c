/* SPDX-License-Identifier: MIT
 *
 * dump_signal.c - see server/dump_signal.h.
 *
 * The handler stores one word and makes no system call, because a seccomp filter may kill for any.
 * So it wakes nobody: the server looks at the word ten times a second. The word is no part of
 * struct shared: after a detach the handler stays, and that memory is gone.
 */
#include "server/dump_signal.h"
#include "base/conf.h"
#include "base/msg.h"

#include <signal.h>
#include <string.h>

static _Atomic bool xcame;

static void on_signal(int number)
{
	(void)number;
	atomic_store_explicit(&xcame, true, memory_order_relaxed);
}

static int number_of(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{ "SIGUSR1", SIGUSR1 }, { "SIGUSR2", SIGUSR2 },   { "SIGHUP", SIGHUP },
		{ "SIGQUIT", SIGQUIT }, { "SIGURG", SIGURG },     { "SIGIO", SIGIO },
		{ "SIGPROF", SIGPROF }, { "SIGWINCH", SIGWINCH }, { "SIGPWR", SIGPWR },
	};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!strcmp(signals[i].name, name))
			return signals[i].number;
	return 0;
}

void mt_dump_signal_begin(void)
{
	struct sigaction was,
		ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
	int number = number_of(mt_conf.dump_signal);

	if (!number || sigaction(number, NULL, &was))
		return;
	if (was.sa_handler == on_signal)
		return;
	if (was.sa_handler != SIG_DFL && was.sa_handler != SIG_IGN)
		mt_msg("dump_signal=%s: the program handles this signal itself; choose another",
		       mt_conf.dump_signal);
	else
		sigaction(number, &ours, NULL);
}

bool dump_signal_came(void)
{
	return atomic_exchange(&xcame, false);
}
