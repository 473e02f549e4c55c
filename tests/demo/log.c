/* SPDX-License-Identifier: MIT
 *
 * log.c - lines wait in a list; ten times a second the logger takes all of them, so their memory is
 * a saw-tooth.
 */
#include "log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct line {
	struct line *next;
	char *text;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct line *lines;
static bool stopped;

void log_line(const char *format, ...)
{
	struct line *l = malloc(sizeof *l);
	va_list args;

	va_start(args, format);
	if (!l || vasprintf(&l->text, format, args) < 0) {
		free(l);
		l = NULL;
	}
	va_end(args);
	if (!l)
		return;
	pthread_mutex_lock(&lock);
	l->next = lines;
	lines = l;
	pthread_mutex_unlock(&lock);
}

static size_t take_away(void)
{
	size_t n = 0;

	pthread_mutex_lock(&lock);
	struct line *l = lines;
	lines = NULL;
	pthread_mutex_unlock(&lock);
	while (l) {
		struct line *next = l->next;

		free(l->text);
		free(l);
		l = next;
		n++;
	}
	return n;
}

void *log_thread(void *unused)
{
	size_t n = 0;

	(void)unused;
	pthread_setname_np(pthread_self(), "logger");
	for (int tick = 1;; tick++) {
		bool last;

		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
		n += take_away();
		pthread_mutex_lock(&lock);
		last = stopped;
		pthread_mutex_unlock(&lock);
		if (tick % 10 == 0) {
			printf("%zu requests in the last second\n", n);
			fflush(stdout);
			n = 0;
		}
		if (last)
			return NULL;
	}
}

void log_stop(void)
{
	pthread_mutex_lock(&lock);
	stopped = true;
	pthread_mutex_unlock(&lock);
}
