/* SPDX-License-Identifier: MIT
 *
 * every.h - automatic marks, by the clock or by growth: `:every` of the live view, --mark-every and
 * --mark-on-growth of record. memtop sets them, so they stop when it ends. Main thread.
 */
#ifndef PROCESSES_EVERY_H
#define PROCESSES_EVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct processes;
struct watch;

struct every {                /* all 0: never */
	uint64_t ns, next_ns; /* by the clock: now_ns() of the next one */
	uint64_t bytes, live; /* by growth; live: at the last one */
};

/* "60", "60s", "5m", "1h", and "10M" as a size. False: neither, or too little (a mark costs the
 * agent a pass over what changed). */
bool every_time(struct every *e, const char *text);
bool every_growth(struct every *e, const char *text);
/* From now on. p: all of its processes; NULL: w alone. */
void every_begin(struct every *e, const struct processes *p, struct watch *w);
void every_go_on(struct every *e, struct processes *p, struct watch *w); /* sets one that is due */
/*
 * Sets a mark in each process with a live link; returns how many. Each agent numbers its own marks,
 * so an unnamed one gets the time of day as its name where there are several processes.
 */
size_t every_mark(struct processes *p, struct watch *w, const char *name);

#endif
