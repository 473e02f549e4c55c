/* SPDX-License-Identifier: MIT
 *
 * slow_agent.c - a library that memtop attach takes for an agent and whose dlopen is slow: it waits
 * for $SLOW_AGENT ms, or, with "hang", for a lock that is never released. It attaches nothing.
 */
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((constructor)) static void set_up(void)
{
	static int lock;
	const char *ms = getenv("SLOW_AGENT");

	if (ms && !strcmp(ms, "hang"))
		for (;;)
			syscall(SYS_futex, &lock, FUTEX_WAIT, 0, NULL, NULL, 0);
	poll(NULL, 0, ms ? atoi(ms) : 0);
}
