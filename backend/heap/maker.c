/* SPDX-License-Identifier: MIT */
#include "heap/maker.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE 10 /* keys and drawing come first */

struct heap_maker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	enum { IDLE, ASKED, DONE, OVER } state;
	struct columns *columns;
	struct heap_batch *batch;
	struct heap *heap;
	uint64_t cost_ns;
};

static void make(struct heap_maker *m)
{
	struct columns *c = m->columns;
	uint64_t began = now_ns();

	columns_take(c, m->batch);
	m->heap = heap_new(c, c->base.from || c->base.until ? &c->base : NULL);
	m->cost_ns = now_ns() - began;
}

static void *work(void *arg)
{
	struct heap_maker *m = arg;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	pthread_mutex_lock(&m->lock);
	while (m->state != OVER) {
		if (m->state != ASKED) {
			pthread_cond_wait(&m->moved, &m->lock);
			continue;
		}
		pthread_mutex_unlock(&m->lock);
		make(m);
		pthread_mutex_lock(&m->lock);
		m->state = DONE;
		pthread_cond_broadcast(&m->moved);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

struct heap_maker *maker_new(void)
{
	struct heap_maker *m = xcalloc(1, sizeof *m);
	sigset_t all, before;

	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->moved, NULL);
	sigfillset(&all); /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&m->thread, NULL, work, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		return m;
	free(m);
	return NULL;
}

void maker_begin(struct heap_maker *m, struct columns *c, struct heap_batch *b)
{
	pthread_mutex_lock(&m->lock);
	m->columns = c;
	m->batch = b;
	m->state = ASKED;
	pthread_cond_broadcast(&m->moved);
	pthread_mutex_unlock(&m->lock);
}

bool maker_busy(struct heap_maker *m)
{
	pthread_mutex_lock(&m->lock);
	bool busy = m->state == ASKED;
	pthread_mutex_unlock(&m->lock);
	return busy;
}

struct heap *maker_take(struct heap_maker *m)
{
	struct heap *h;

	pthread_mutex_lock(&m->lock);
	while (m->state == ASKED)
		pthread_cond_wait(&m->moved, &m->lock);
	h = m->heap;
	m->heap = NULL;
	m->state = IDLE;
	pthread_mutex_unlock(&m->lock);
	return h;
}

uint64_t maker_cost(const struct heap_maker *m)
{
	return m->cost_ns;
}

void maker_free(struct heap_maker *m)
{
	if (!m)
		return;
	heap_drop(maker_take(m));
	pthread_mutex_lock(&m->lock);
	m->state = OVER;
	pthread_cond_broadcast(&m->moved);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->thread, NULL);
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->moved);
	free(m);
}
