/* SPDX-License-Identifier: MIT
 *
 * signals.c - see server/signals.h.
 *
 * Each handler changes one word and makes no system call, because a seccomp filter may kill for
 * any. So it wakes nobody: the server looks at the words ten times a second. They are no part of
 * struct shared: after a detach the handlers stay, and that memory is gone.
 */
#include "server/signals.h"
#include "base/conf.h"
#include "base/msg.h"

#include <memtop/options.h>
#include <signal.h>
#include <string.h>

static _Atomic bool xdump;
static _Atomic unsigned xwindows;

static void on_dump(int number)
{
	(void)number;
	atomic_store_explicit(&xdump, true, memory_order_relaxed);
}

static void on_window(int number)
{
	(void)number;
	atomic_fetch_add_explicit(&xwindows, 1, memory_order_relaxed);
}

#define SIGNAL_ROW(signal) { #signal, signal },

static int number_of(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = { MTW_SIGNALS(SIGNAL_ROW) };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!strcmp(signals[i].name, name))
			return signals[i].number;
	return 0;
}

/* NULL: nothing. An ignored signal stays ignored, and so do the programs that this one executes:
 * nohup's would end by SIGHUP, because an exec resets a handler. */
static const char *other_user(void (*is)(int))
{
	if (is == SIG_DFL)
		return NULL;
	if (is == SIG_IGN)
		return "the program was started to ignore this signal";
	if (is == on_dump)
		return "dump_signal= has this signal";
	return "the program handles this signal itself";
}

static void take_signal(const char *option, const char *name, void (*handler)(int))
{
	struct sigaction was, ours = { .sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK };
	int number = number_of(name);

	if (!number || sigaction(number, NULL, &was) || was.sa_handler == handler)
		return;
	const char *why = other_user(was.sa_handler);
	if (why)
		mt_msg("%s=%s: %s; choose another", option, name, why);
	else
		sigaction(number, &ours, NULL);
}

void mt_signals_begin(void)
{
	take_signal("dump_signal", mt_conf.dump_signal, on_dump);
	take_signal("window_signal", mt_conf.window_signal, on_window);
}

bool signals_dump_came(void)
{
	return atomic_exchange(&xdump, false);
}

unsigned signals_windows(void)
{
	return atomic_exchange(&xwindows, 0);
}
