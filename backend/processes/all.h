/* SPDX-License-Identifier: MIT
 *
 * all.h - All: the processes of a tree as one session, which every view and report shows as it
 * shows one process. Main thread only.
 *
 *   a member's call paths --heap/union.h--> paths of All; its amounts are added there
 *   frames of the wire, made from these --watch_feed()--> All's watch
 *
 * The same code is the same path in all processes (processes/all_code.h). Memory that a fork
 * inherited counts once, for the oldest process that runs and has it. Processes without call
 * paths (they were small and short-lived) are one path, "[no stacks: 3 processes]", with their
 * totals. So
 *
 *     live of All = processes_total()        allocated of All = the sum over all processes
 *
 * A mark of All is a name that every process which ran then has as a mark, set together
 * (processes/all_marks.c). All's clock is the first process'. Its peak is the largest sum over the
 * processes at the points of their graphs, so the true one may be higher.
 */
#ifndef PROCESSES_ALL_H
#define PROCESSES_ALL_H

#include "processes/processes.h"

struct all;

/* In All's session, an option's name: its value is the process that grew most in the window of the
 * verdict, "" = none. */
#define ALL_GREW_MOST "grew_most"

/* All of a file's tree, after processes_read(); reads each process' frames in turn. NULL and *err:
 * no process has call paths. */
struct all *all_of_file(struct loop *loop, const struct processes *p, const struct target *file,
			const struct watch_options *o, struct err *err);
/* Of a tree that runs: a member is each process with a watch. all_go_on() brings it up to date,
 * once a second, while somebody shows it; all_keep() comes before a member's watch is closed. */
struct all *all_of_tree(struct loop *loop, const struct processes *p, const struct watch_options *o,
			struct err *err);
void all_go_on(struct all *a);
void all_keep(struct all *a, const struct watch *w);
void all_free(struct all *a);                 /* NULL: nothing */
struct watch *all_watch(const struct all *a); /* its own */
/* Of a file: its watch alone, which needs nothing else any more; the caller closes it. */
struct watch *all_take_watch(struct all *a);
/* With call paths; without. */
size_t all_members(const struct all *a);
size_t all_others(const struct all *a);

/* As processes_holders(). */
void all_holders(const struct all *a, struct skeleton *s, const struct process_part *parts,
		 size_t count, size_t *holders, size_t rows);

/* The node of one process' session that has the call path of a node of All's, as far as that is the
 * same code; by the wire's ids. NO_ID: nothing is. */
uint32_t all_path_in(const struct model *all, uint32_t id, const struct model *one);

/* Which of them hold live blocks of these slots of its session, by the wire's ids: heaviest first;
 * the caller frees *list. */
size_t all_held_by(const struct all *a, const uint32_t *slots, size_t count,
		   struct process_held **list);

#endif
