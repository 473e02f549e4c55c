/* SPDX-License-Identifier: MIT
 *
 * s_phases.c - stands still until SIGUSR1, then does the next of these, and stands still again:
 *   0  early_phase() has 100 blocks of 64 KiB      6,553,600 bytes in them
 *   1  later_phase() has 300 more                 26,214,400
 *   2  half of the early ones are freed           22,937,600
 *   3  it ends
 */
#include "target.h"

#include <signal.h>

#define BLOCK 65536u

static void *early[100], *later[300];

static __attribute__((noinline)) void early_phase(void)
{
	for (int i = 0; i < 100; i++)
		early[i] = malloc(BLOCK);
	__asm__ volatile("");
}

static __attribute__((noinline)) void later_phase(void)
{
	for (int i = 0; i < 300; i++)
		later[i] = malloc(BLOCK);
	__asm__ volatile("");
}

int main(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	early_phase();
	sigwait(&set, &sig);
	later_phase();
	sigwait(&set, &sig);
	for (int i = 0; i < 50; i++)
		free(early[i]);
	sigwait(&set, &sig);
	return early[99] && later[299] ? 0 : 1;
}
