/* SPDX-License-Identifier: MIT */
#include "base/worker.h"

#include "base/base.h"
#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	enum { IDLE, ASKED, DONE, OVER } state;
	work_fn *fn;
	void *arg;
	int done_fd; /* an eventfd; -1: nobody asked */
	uint64_t cost_ns;
};

static void tell(struct worker *w)
{
	uint64_t one = 1;

	while (w->done_fd >= 0 && write(w->done_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	thread_nice(THREAD_ANSWERS_NICE);
	pthread_mutex_lock(&w->lock);
	while (w->state != OVER) {
		if (w->state != ASKED) {
			pthread_cond_wait(&w->moved, &w->lock);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		uint64_t began = now_ns();
		w->fn(w->arg);
		pthread_mutex_lock(&w->lock);
		w->cost_ns = now_ns() - began;
		w->state = DONE;
		pthread_cond_broadcast(&w->moved);
		pthread_mutex_unlock(&w->lock); /* else who hears of it waits for this thread */
		tell(w);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct worker *worker_new(void)
{
	struct worker *w = xcalloc(1, sizeof *w);

	w->done_fd = -1;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->moved, NULL);
	if (!thread_start(&w->thread, work, w))
		return w;
	free(w);
	return NULL;
}

static void move(struct worker *w, int state)
{
	pthread_mutex_lock(&w->lock);
	w->state = state;
	pthread_cond_broadcast(&w->moved);
	pthread_mutex_unlock(&w->lock);
}

int worker_fd(struct worker *w)
{
	if (w->done_fd < 0)
		w->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return w->done_fd;
}

void worker_heard(struct worker *w)
{
	uint64_t count;

	while (read(w->done_fd, &count, sizeof count) < 0 && errno == EINTR)
		;
}

void worker_begin(struct worker *w, work_fn *fn, void *arg)
{
	w->fn = fn;
	w->arg = arg;
	move(w, ASKED);
}

bool worker_busy(struct worker *w)
{
	if (!w)
		return false;
	pthread_mutex_lock(&w->lock);
	bool busy = w->state == ASKED;
	pthread_mutex_unlock(&w->lock);
	return busy;
}

bool worker_wait(struct worker *w)
{
	if (!w)
		return false;
	pthread_mutex_lock(&w->lock);
	while (w->state == ASKED)
		pthread_cond_wait(&w->moved, &w->lock);
	bool done = w->state == DONE;
	w->state = IDLE;
	pthread_mutex_unlock(&w->lock);
	return done;
}

uint64_t worker_cost(const struct worker *w)
{
	return w->cost_ns;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	worker_wait(w);
	move(w, OVER);
	pthread_join(w->thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->moved);
	if (w->done_fd >= 0)
		close(w->done_fd);
	free(w);
}
