/* SPDX-License-Identifier: MIT
 *
 * worker.h - a thread for what takes long, so that keys need not wait for it. One job at a time:
 * what the job works on is its own until worker_busy() says no, or worker_wait() returned.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

/* Work that takes longer is a worker's; the rest is done in line. */
#ifndef WORKER_LONG_NS
#define WORKER_LONG_NS 4000000u
#endif

struct worker;
typedef void work_fn(void *arg);

struct worker *worker_new(void); /* NULL: no thread can be had */
/* Readable after each job, until worker_heard(): worker_busy() says no by then. -1: there is none.
 * Nothing is under way; the worker closes it. */
int worker_fd(struct worker *w);
void worker_heard(struct worker *w);
void worker_free(struct worker *w); /* waits; NULL: nothing */
/* Nothing is under way. */
void worker_begin(struct worker *w, work_fn *fn, void *arg);
bool worker_busy(struct worker *w); /* false: it is done, or has nothing to do; w may be NULL */
/* Waits for what is under way. False: nothing was begun since the last call; w may be NULL. */
bool worker_wait(struct worker *w);
/* How long the last job took, in ns. After worker_wait(). */
uint64_t worker_cost(const struct worker *w);

#endif
