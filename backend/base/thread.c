/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int thread_start(pthread_t *thread, void *(*work)(void *arg), void *arg)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(thread, NULL, work, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void thread_nice(int more)
{
	id_t own = (id_t)syscall(SYS_gettid);

	setpriority(PRIO_PROCESS, own, getpriority(PRIO_PROCESS, own) + more);
}
