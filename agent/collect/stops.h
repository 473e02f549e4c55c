/* SPDX-License-Identifier: MIT
 *
 * stops.h - when the target could not run: stopped by a signal, by a debugger, or frozen. Server
 * thread.
 */
#ifndef MT_COLLECT_STOPS_H
#define MT_COLLECT_STOPS_H

#include "base/types.h"

#include <memtop/wire.h>

#pragma GCC visibility push(hidden)

struct server;
struct mtw_out;

#define STOP_NAME 16 /* of a process, with its NUL, as the kernel keeps it */

/* What a tick saw of the target and of the server itself. */
struct stop_look {
	uint64_t ns;          /* session time */
	uint64_t cpu_ns;      /* processor time of the target */
	uint64_t own_ns;      /* the server ran, or waited for a processor; 0 = not known */
	uint64_t ahead_ns;    /* the clocks' difference: the machine slept for so long */
	uint64_t threads;     /* of the target */
	unsigned why, pid;    /* what stops it now (enum mtw_stop, 0 = nothing); its tracer */
	char name[STOP_NAME]; /* of the tracer */
};

struct stop {
	uint64_t begin_ns, end_ns; /* end 0: it is stopped now */
	uint64_t stopped_ns;       /* of that time; less where several stops were joined */
	uint64_t times;            /* stops in it */
	unsigned why, pid;
	char name[STOP_NAME];
};

struct stops {
	struct stop list[MTW_STOPS_MAX]; /* oldest first */
	uint32_t count;
	uint32_t changed;               /* changes with the list */
	uint64_t total_ns;              /* stopped so far */
	unsigned unseen;                /* why, when the server was stopped, too (enum mtw_stop) */
	uint64_t pause_ns;              /* from the last tick to the next, as planned */
	uint64_t slept_ns, slept_at_ns; /* the machine: in all, and when it last woke */
	uint64_t ran_ns;       /* processor time of the target between the last two looks, */
	uint64_t ran_in_ns;    /* and how far these were apart */
	struct stop_look last; /* ns 0: none yet */
};

/* Takes in the time since the last look. A pure function of both. */
void stops_take(struct stops *t, const struct stop_look *now);
void stops_look(struct server *s); /* each tick, after proc_figures() */
/* Session time without stops, up to the last look. */
uint64_t stops_running(const struct stops *t, uint64_t now_ns);
void stops_put(const struct stops *t, struct mtw_out *o); /* MTW_STOPS */

#pragma GCC visibility pop

#endif
