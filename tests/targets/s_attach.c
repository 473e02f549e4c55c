/* SPDX-License-Identifier: MIT
 *
 * s_attach.c - allocates all the time, so that an attach finds every lock of the allocator
 * taken: THREADS threads allocate blocks of 2 to 60 KB, fill them, check them and free
 * them, for ever. A changed pattern ends the program with status 1. WAIT more threads only
 * wait, each in another way. SIGTERM: prints the number of checked blocks, and ends with
 * status 0.
 *
 * Usage: s_attach THREADS [WAIT [KIND [PAUSE]]]; without arguments a few thousand blocks, and the
 * end. With 0 THREADS the first one waits, too, in the way that KIND says. PAUSE: each thread
 * sleeps so many milliseconds after each block, for tests that need a program that allocates, not a
 * busy one.
 */
#include "target.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define KEPT 64

static _Atomic unsigned long blocks;
static _Atomic int over;
static unsigned long limit = ULONG_MAX; /* of blocks a thread */
static unsigned pause_ms;

static void wrong(const char *what)
{
	if (over)
		return; /* SIGTERM ends waits, too */
	fprintf(stderr, "s_attach: %s\n", what);
	_exit(1);
}

/* Again and again: the first signal may come right before a wait begins, and would end none. */
static void on_term(int signum)
{
	(void)signum;
	over = 1;
	alarm(1);
}

/* Of the block's own address and size: no other thread's fill looks like it. */
static unsigned char pattern(const unsigned char *p, size_t size, size_t i)
{
	return (unsigned char)(((size_t)p >> 4) * 31 + size * 7 + i);
}

static void fill(unsigned char *p, size_t size)
{
	for (size_t i = 0; i < size; i += 509)
		p[i] = pattern(p, size, i);
	p[size - 1] = pattern(p, size, size - 1);
}

static void check(const unsigned char *p, size_t size)
{
	for (size_t i = 0; i < size; i += 509)
		if (i != size - 1 && p[i] != pattern(p, size, i))
			wrong("a block has changed");
	if (p[size - 1] != pattern(p, size, size - 1))
		wrong("the end of a block has changed");
}

static void *fire(void *arg)
{
	unsigned char *kept[KEPT] = { NULL };
	size_t sizes[KEPT] = { 0 };
	unsigned seed = (unsigned)(size_t)arg * 2654435761u + 1;
	double sum = 0, check_sum = 0; /* in vector registers */

	for (unsigned long n = 0; !over && n < limit; n++) {
		seed = seed * 1103515245u + 12345u;
		unsigned at = seed >> 16 & (KEPT - 1);
		errno = 77;
		if (kept[at]) {
			check(kept[at], sizes[at]);
			free(kept[at]);
			atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
		}
		sizes[at] = 2048 + (seed >> 8) % 59000;
		kept[at] = n % 3 ? malloc(sizes[at]) : calloc(1, sizes[at]);
		if (!kept[at])
			wrong("no memory");
		if (errno != 77)
			wrong("errno has changed");
		fill(kept[at], sizes[at]);
		sum += (double)(seed & 1023) * 0.5;
		check_sum += (double)(seed & 1023) * 0.25;
		if (sum != check_sum * 2)
			wrong("a sum in registers has changed");
		if (pause_ms)
			usleep(pause_ms * 1000);
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	return NULL;
}

/* None of these may see EINTR, nor an early end. */
static void *wait_for_ever(void *arg)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct epoll_event event;
	struct timespec long_time = { 100000, 0 };
	int none = epoll_create1(EPOLL_CLOEXEC), ends[2];
	char byte;

	if (pipe(ends))
		wrong("no pipe");
	switch ((size_t)arg % 5) {
	case 0:
		nanosleep(&long_time, NULL);
		wrong("nanosleep came back");
		break;
	case 1:
		if (read(ends[0], &byte, 1) != 1)
			wrong("read came back");
		break;
	case 2:
		poll(NULL, 0, -1);
		wrong("poll came back");
		break;
	case 3:
		pthread_mutex_lock(&mutex);
		while (!over) { /* each wait with its end: a signal alone ends none */
			clock_gettime(CLOCK_REALTIME, &long_time);
			long_time.tv_nsec += 200000000;
			long_time.tv_sec += long_time.tv_nsec / 1000000000;
			long_time.tv_nsec %= 1000000000;
			if (pthread_cond_timedwait(&never, &mutex, &long_time) != ETIMEDOUT)
				wrong("a condition variable was signalled");
		}
		break;
	default:
		epoll_wait(none, &event, 1, -1); /* SIGSTOP or a debugger would end this one */
		wrong("epoll_wait came back");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, wait = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t ids[64], waiting;
	struct sigaction sa = { .sa_handler = on_term };
	sigset_t term;

	if (argc < 2)
		limit = 2000;
	if (argc > 4)
		pause_ms = (unsigned)atoi(argv[4]);

	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigaddset(&term, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &term, NULL); /* in all but this thread */
	for (int i = 0; i < wait; i++)
		EXPECT(!pthread_create(&waiting, NULL, wait_for_ever, (void *)(size_t)i));
	for (int i = 0; i < threads && i < 64; i++)
		EXPECT(!pthread_create(&ids[i], NULL, fire, (void *)(size_t)(i + 1)));
	pthread_sigmask(SIG_UNBLOCK, &term, NULL);
	printf("ready\n");
	fflush(stdout);
	if (threads)
		fire(NULL);
	else
		wait_for_ever((void *)(size_t)(argc > 3 ? atoi(argv[3]) : 0));
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(ids[i], NULL);
	printf("checked %lu\n", (unsigned long)blocks);
	return 0;
}
