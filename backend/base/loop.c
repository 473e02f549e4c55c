/* SPDX-License-Identifier: MIT
 *
 * loop.c - descriptors, timers, signals and wake-ups over libevent.
 *
 * A thin layer, so that only this file knows libevent. Callbacks run one after another on the main
 * thread. A callback with much to do does a slice and re-arms a timer of 0 ms: libevent collects
 * ready descriptors and expired timers in each iteration, so every ready descriptor (the keyboard)
 * gets its turn first.
 *
 * Other threads reach the loop by loop_post() alone: a locked list and an eventfd. loop_free() runs
 * the posts that are left, so that they release what they own.
 */
#include "base/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct post {
	struct post *next;
	void (*fn)(void *arg);
	void *arg;
};

struct loop_source {
	struct loop *loop;                /* borrowed */
	struct loop_source *next, **link; /* all sources of the loop */
	struct event *event;              /* owned */
	void (*on_fd)(void *arg, unsigned events);
	void (*on_time)(void *arg); /* timers and signals */
	void *arg;
	unsigned ms;
};

struct loop {
	struct event_base *base;
	struct loop_source *sources; /* main thread */
	struct loop_source *wake;    /* reads wake_fd */
	unsigned long long calls;    /* callbacks run: loop_once() compares */
	int wake_fd;
	bool stop;
	pthread_mutex_t lock; /* guards the two below */
	struct post *posts, **posts_tail;
};

static void run_posts(struct loop *l)
{
	pthread_mutex_lock(&l->lock);
	struct post *p = l->posts;
	l->posts = NULL;
	l->posts_tail = &l->posts;
	pthread_mutex_unlock(&l->lock);
	while (p) {
		struct post *next = p->next;
		p->fn(p->arg);
		free(p);
		p = next;
	}
}

static void on_wake(void *arg, unsigned events)
{
	struct loop *l = arg;
	uint64_t n;

	(void)events;
	while (read(l->wake_fd, &n, sizeof n) < 0 && errno == EINTR)
		;
	run_posts(l);
}

static void release(struct loop *l)
{
	if (l->base)
		event_base_free(l->base);
	if (l->wake_fd >= 0)
		close(l->wake_fd);
	free(l);
}

struct loop *loop_new(struct err *err)
{
	struct loop *l = xcalloc(1, sizeof *l);
	struct event_config *config = event_config_new();

	/* Timers in milliseconds matter here, a syscall per turn does not. */
	if (config)
		event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
	l->base = config ? event_base_new_with_config(config) : NULL;
	event_config_free(config);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!l->base || l->wake_fd < 0) {
		err_set(err, 125, "event loop: cannot be made; close other programs and try again");
		release(l);
		return NULL;
	}
	pthread_mutex_init(&l->lock, NULL);
	l->posts_tail = &l->posts;
	l->wake = loop_fd(l, l->wake_fd, LOOP_READ, on_wake, l);
	return l;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	run_posts(l);
	while (l->sources)
		loop_remove(l->sources);
	pthread_mutex_destroy(&l->lock);
	release(l);
}

/* A callback may remove its own source: do not touch the source afterwards. */
static void dispatch(evutil_socket_t fd, short what, void *arg)
{
	struct loop_source *s = arg;

	(void)fd;
	s->loop->calls++;
	if (s->on_fd)
		s->on_fd(s->arg,
			 (what & EV_READ ? LOOP_READ : 0) | (what & EV_WRITE ? LOOP_WRITE : 0));
	else
		s->on_time(s->arg);
}

static struct loop_source *source_new(struct loop *l, int fd, short events)
{
	struct loop_source *s = xcalloc(1, sizeof *s);

	s->loop = l;
	s->event = event_new(l->base, fd, events, dispatch, s);
	if (!s->event)
		base_out_of_memory();
	s->next = l->sources;
	s->link = &l->sources;
	if (s->next)
		s->next->link = &s->next;
	l->sources = s;
	return s;
}

static short event_bits(unsigned events)
{
	return (short)((events & LOOP_READ ? EV_READ : 0) | (events & LOOP_WRITE ? EV_WRITE : 0) |
		       EV_PERSIST);
}

struct loop_source *loop_fd(struct loop *l, int fd, unsigned events,
			    void (*fn)(void *arg, unsigned events), void *arg)
{
	struct loop_source *s = source_new(l, fd, event_bits(events));

	s->on_fd = fn;
	s->arg = arg;
	if (events)
		event_add(s->event, NULL);
	return s;
}

void loop_fd_set(struct loop_source *s, unsigned events)
{
	int fd = event_get_fd(s->event);

	event_del(s->event);
	event_assign(s->event, s->loop->base, fd, event_bits(events), dispatch, s);
	if (events)
		event_add(s->event, NULL);
}

static void arm(struct loop_source *s)
{
	struct timeval after = { s->ms / 1000, s->ms % 1000 * 1000 };

	event_add(s->event, &after);
}

struct loop_source *loop_timer(struct loop *l, unsigned ms, bool repeat, void (*fn)(void *arg),
			       void *arg)
{
	struct loop_source *s = source_new(l, -1, repeat ? EV_PERSIST : 0);

	s->on_time = fn;
	s->arg = arg;
	s->ms = ms;
	arm(s);
	return s;
}

struct loop_source *loop_signal(struct loop *l, int signum, void (*fn)(void *arg), void *arg)
{
	struct loop_source *s = source_new(l, signum, EV_SIGNAL | EV_PERSIST);

	s->on_time = fn;
	s->arg = arg;
	event_add(s->event, NULL);
	return s;
}

void loop_remove(struct loop_source *s)
{
	if (!s)
		return;
	event_free(s->event);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	free(s);
}

void loop_post(struct loop *l, void (*fn)(void *arg), void *arg)
{
	struct post *p = xcalloc(1, sizeof *p);
	uint64_t one = 1;

	p->fn = fn;
	p->arg = arg;
	pthread_mutex_lock(&l->lock);
	*l->posts_tail = p;
	l->posts_tail = &p->next;
	pthread_mutex_unlock(&l->lock);
	/* EAGAIN means that the counter is full: the loop is awake anyway. */
	while (write(l->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

void loop_run(struct loop *l)
{
	l->stop = false;
	while (!l->stop)
		loop_once(l, -1);
}

static void on_timeout(void *arg)
{
	struct loop *l = arg;

	l->calls--; /* our own timer is nothing that happened */
}

int loop_once(struct loop *l, int timeout_ms)
{
	unsigned long long before = l->calls;
	struct loop_source *timeout = NULL;

	if (timeout_ms > 0)
		timeout = loop_timer(l, (unsigned)timeout_ms, false, on_timeout, l);
	event_base_loop(l->base, timeout_ms == 0 ? EVLOOP_ONCE | EVLOOP_NONBLOCK : EVLOOP_ONCE);
	loop_remove(timeout);
	return l->calls != before;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}

/* The base is abandoned: its kernel object is the parent's, too, and the child's changes to it
 * would take the parent's descriptors out. */
void loop_forked(struct loop *l)
{
	l->base = event_base_new();
	if (!l->base)
		base_out_of_memory();
}

struct event_base *loop_base(struct loop *l)
{
	return l->base;
}
