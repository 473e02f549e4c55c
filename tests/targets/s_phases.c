/* SPDX-License-Identifier: MIT
 *
 * s_phases.c - does these, with "wait" one after the other, at SIGUSR1, and stands still between
 * them:
 *   0  early_phase() has 100 blocks of 64 KiB      6,553,600 bytes in them
 *   1  later_phase() has 300 more                 26,214,400
 *   2  half of the early ones are freed           22,937,600
 *   3  it ends
 */
#include "target.h"

#include <signal.h>
#include <stdbool.h>

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

static bool wait_for_it;

static void stand_still(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (wait_for_it)
		sigwait(&set, &sig);
}

int main(int argc, char **argv)
{
	sigset_t set;

	(void)argv;
	wait_for_it = argc > 1;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	early_phase();
	stand_still();
	later_phase();
	stand_still();
	for (int i = 0; i < 50; i++)
		free(early[i]);
	stand_still();
	return early[99] && later[299] ? 0 : 1;
}
