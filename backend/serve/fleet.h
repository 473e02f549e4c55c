/* SPDX-License-Identifier: MIT
 *
 * fleet.h - the processes that one server follows: named targets, or every process of this machine
 * that has an agent. Main thread only.
 *
 * A watch gets one tick a second. Its owners and its query are made when a request first needs
 * them. A process that ended stays for FLEET_AFTERLIFE_NS, so that a scrape sees its end; of more
 * than FLEET_ENDED_MAX the oldest go, for each may hold some megabytes.
 */
#ifndef SERVE_FLEET_H
#define SERVE_FLEET_H

#include "link/watch.h"
#include "query/query.h"

#define FLEET_AFTERLIFE_NS 60000000000ull
#define FLEET_ENDED_MAX 64u
#define FLEET_MAX 2000u /* processes at a time */

struct fleet;

struct member {
	struct watch *watch;
	struct target target;
	char name[64];     /* the program's; before its agent greeted, what the system calls it */
	int pid;           /* in its own pid namespace; 0 = not known yet */
	bool found;        /* --all found it; false: it was named, and stays */
	uint64_t ended_ns; /* now_ns() when it was first seen ended; 0 = it is not */
	uint64_t serial;   /* never reused: a request that waits holds this, not a pointer */
	struct owners *owners; /* NULL until fleet_query(), or fleet_name() */
	struct query *query;
};

struct fleet_options {
	const char *who;               /* the name for other viewers, and of marks. Borrowed */
	bool all;                      /* look for agents again and again */
	const struct expected *rules;  /* of --suppress; NULL = none. Borrowed */
	struct symbol_options symbols; /* borrowed */
};

struct fleet *fleet_new(struct loop *loop, const struct fleet_options *o);
void fleet_free(struct fleet *f);
/* Follows one more target; reconnects for ever. -1 and *err: it can never work. */
int fleet_add(struct fleet *f, const struct target *t, struct err *err);
/* Brings names, pids and ends up to date; in order of their arrival. Borrowed until the next turn
 * of the loop. */
size_t fleet_list(struct fleet *f, struct member *const **list);
struct member *fleet_by_serial(struct fleet *f, uint64_t serial); /* NULL = gone */
/* agents of other users, beyond FLEET_MAX, or that gave an error, at the last look */
size_t fleet_left_out(const struct fleet *f);
const char *fleet_who(const struct fleet *f); /* the name in marks that this server set */

/*
 * Makes the queries and asks for the names of all processes, a few at a time: libdw needs some 20
 * MB for each meanwhile. True: all are named; else call it again soon.
 */
bool fleet_name(struct fleet *f);

/* The link is up, and the first state is complete. */
bool fleet_up(const struct member *m);
/* Something can be shown: the state is complete, also of one that ended. */
bool fleet_known(const struct member *m);
struct query *fleet_query(struct member *m); /* makes owners and query at the first call */

#endif
