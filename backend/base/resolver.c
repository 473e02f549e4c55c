/* SPDX-License-Identifier: MIT
 *
 * resolver.c - getaddrinfo() on a thread of its own.
 *
 * Only the system's resolver knows the user's setup (hosts, mDNS, search lists). It blocks for 5 s
 * per silent server and cannot be interrupted. So it runs on its own thread, and a caller that
 * loses interest just lets go: thread and loop share one structure, and the last of the two frees
 * it. The structure's eventfd announces the answer; the thread touches neither loop nor caller.
 */
#include "base/resolver.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct shared {
	_Atomic int xowners; /* the thread, the lookup */
	char *host, port[16];
	int done_fd; /* readable: the two below are the answer */
	int rc;
	struct addrinfo *found;
};

struct resolver {
	struct shared *shared;
	struct loop_source *source;
	void (*fn)(void *arg, int rc, const struct addrinfo *found);
	void *arg;
};

static void let_go(struct shared *s)
{
	if (atomic_fetch_sub_explicit(&s->xowners, 1, memory_order_acq_rel) > 1)
		return;
	if (s->found)
		freeaddrinfo(s->found);
	close(s->done_fd);
	free(s->host);
	free(s);
}

static void tell(struct shared *s)
{
	uint64_t one = 1;

	if (write(s->done_fd, &one, sizeof one) < 0)
		BUG("an eventfd takes no 1");
}

static void *look_up(void *arg)
{
	struct shared *s = arg;
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };

	s->rc = getaddrinfo(s->host, s->port, &hints, &s->found);
	if (s->rc)
		s->found = NULL;
	tell(s);
	let_go(s);
	return NULL;
}

static void on_done(void *arg, unsigned events)
{
	struct resolver *l = arg;

	(void)events;
	loop_remove(l->source);
	l->source = NULL;
	l->fn(l->arg, l->shared->rc, l->shared->found);
	let_go(l->shared);
	free(l);
}

static void start_thread(struct shared *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all); /* signals are the loop's */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, &attr, look_up, s)) {
		s->rc = EAI_MEMORY;
		tell(s);
		let_go(s);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

struct resolver *resolver_start(struct loop *loop, const char *host, int port,
				void (*fn)(void *arg, int rc, const struct addrinfo *found),
				void *arg, struct err *err)
{
	int done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (done_fd < 0) {
		err_set(err, 125,
			"host names: no descriptor for them; close other programs and try again");
		return NULL;
	}
	struct resolver *l = xcalloc(1, sizeof *l);
	struct shared *s = xcalloc(1, sizeof *s);
	atomic_init(&s->xowners, 2);
	s->host = xstrdup(host);
	snprintf(s->port, sizeof s->port, "%d", port);
	s->done_fd = done_fd;
	l->shared = s;
	l->fn = fn;
	l->arg = arg;
	l->source = loop_fd(loop, s->done_fd, LOOP_READ, on_done, l);
	start_thread(s);
	return l;
}

void resolver_cancel(struct resolver *l)
{
	if (!l)
		return;
	loop_remove(l->source);
	let_go(l->shared);
	free(l);
}
