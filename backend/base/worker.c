/* SPDX-License-Identifier: MIT */
#include "base/worker.h"

#include "base/base.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE 10 /* keys and drawing come first */

struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	enum { IDLE, ASKED, DONE, OVER } state;
	work_fn *fn, *done; /* done: NULL = nobody asked */
	void *arg, *done_arg;
	uint64_t cost_ns;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
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
		if (w->done) /* holding the lock: worker_free() waits until it has returned */
			w->done(w->done_arg);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct worker *worker_new(void)
{
	struct worker *w = xcalloc(1, sizeof *w);
	sigset_t all, before;

	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->moved, NULL);
	sigfillset(&all); /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&w->thread, NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
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

void worker_on_done(struct worker *w, work_fn *done, void *arg)
{
	w->done = done;
	w->done_arg = arg;
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
	free(w);
}
