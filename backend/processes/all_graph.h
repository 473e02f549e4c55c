/* SPDX-License-Identifier: MIT
 *
 * all_graph.h - the graphs of several processes as one: at each instant the sum of what those that
 * run then hold. For processes/all.c.
 */
#ifndef PROCESSES_ALL_GRAPH_H
#define PROCESSES_ALL_GRAPH_H

#include "model/model.h"

struct process;

#define ALL_GRAPH_POINTS 600u

struct all_graph {
	struct all_point {
		struct point p; /* time first, on the clock of all */
		uint32_t member;
	} * points;
	size_t count, room;
	uint32_t members;
};

/* heir_ns: until then what it inherited counts for another process. clock_ns: where its clock
 * begins. */
void all_graph_add(struct all_graph *g, const struct model *m, const struct process *p,
		   uint64_t clock_ns, uint64_t heir_ns);
/* A process of which only the last word is known: that is its one point. */
void all_graph_add_end(struct all_graph *g, const struct process *p, uint64_t now_ns);
void all_graph_copy(struct all_graph *to, const struct all_graph *from);
/* At most ALL_GRAPH_POINTS sums, and the largest of all: it is one of them. Once. */
size_t all_graph_sum(struct all_graph *g, struct point *points, struct point *peak);
void all_graph_release(struct all_graph *g);

#endif
