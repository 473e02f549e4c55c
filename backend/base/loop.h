/* SPDX-License-Identifier: MIT
 *
 * loop.h - descriptors, timers, signals and wake-ups over libevent; the one event loop of memtop.
 * Callbacks run on the main thread. loop_post() is the only function for other threads.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include "base/base.h"

struct loop;
struct loop_source;
#define LOOP_READ 1u
#define LOOP_WRITE 2u

/* NULL and *err: no descriptor left */
struct loop *loop_new(struct err *err);
void loop_free(struct loop *l);
struct loop_source *loop_fd(struct loop *l, int fd, unsigned events,
			    void (*fn)(void *arg, unsigned events), void *arg);
void loop_fd_set(struct loop_source *s, unsigned events);
struct loop_source *loop_timer(struct loop *l, unsigned ms, bool repeat, void (*fn)(void *arg),
			       void *arg);
struct loop_source *loop_signal(struct loop *l, int signum, void (*fn)(void *arg), void *arg);
void loop_remove(struct loop_source *s); /* NULL is fine */
/* Any thread: run fn(arg) on the main thread soon. */
void loop_post(struct loop *l, void (*fn)(void *arg), void *arg);
void loop_run(struct loop *l);                 /* until loop_stop() */
int loop_once(struct loop *l, int timeout_ms); /* one iteration; 0 = nothing happened */
void loop_stop(struct loop *l);
/* In a forked child: the loop has no source any more, and the parent's are left alone. */
void loop_forked(struct loop *l);
/* For libevent's own servers (serve/http.c): it runs on the same loop. Borrowed. */
struct event_base;
struct event_base *loop_base(struct loop *l);

#endif
