/* SPDX-License-Identifier: MIT
 *
 * report.h - what every format of a report needs: sorted stacks, changes by stack, owners,
 * warnings, and words for the enums. Main thread only.
 *
 *   sum of stacks = sum of owners = totals     (when the model is complete)
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/format.h"
#include "heap/heap.h"
#include "heap/names.h"
#include "report/format.h"
#include "model/quality.h"

struct report_stack {
	uint32_t leaf;        /* the wire's id of its last node: the stack's id */
	uint32_t stack;       /* its number in the report's call tree */
	bool estimate;        /* a part of sum was sampled */
	struct tally sum;     /* all blocks that this stack allocated */
	struct change change; /* in changes only */
};

struct report {
	const struct model *model;
	unsigned pid, inner_pid; /* watch_pid() */
	struct symbols *symbols;
	struct owners *owners;         /* owned */
	struct heap_names *names;      /* held */
	const struct columns *columns; /* the model's, siblings by the names of their frames */
	struct heap *heap;             /* held */
	uint32_t *order;               /* stacks that allocated: by live bytes, then by frames,
					* outermost first; owned */
	size_t stack_count;
	uint64_t truncated_stacks;
	struct cut *cuts; /* with their stacks counted; owned */
	size_t cut_count;
	char **warnings; /* sentences; owned */
	size_t warning_count, warning_room;
};

/* Waits for the names of all stacks (their owners depend on them), then gathers. */
struct report *report_new(struct watch *w);
void report_free(struct report *r);

/* A stack by its number: as it is now, without a change. */
struct report_stack report_stack(const struct report *r, uint32_t stack);
/* Why it ends early; enum mtw_truncation, MTW_TRUNC_NONE = it is whole. */
uint32_t report_truncated(const struct report *r, uint32_t stack);
/* The node of the report's call tree that the stack ends at. */
static inline uint32_t report_node(const struct report *r, uint32_t stack)
{
	return r->heap->skeleton->node_of_stack[stack];
}

/* A snapshot of the same stacks with its changes between two marks (o->from, o->to). NULL and *err
 * when a mark kept only its totals. heap_drop() it. */
struct heap *report_interval(const struct report *r, const struct report_options *o,
			     struct err *err);
/* Changes between two marks (o->from, o->to), in the same order. NULL and *err when a mark is
 * unknown or kept only its totals. Free with free(). */
struct report_stack *report_changes(struct report *r, const struct report_options *o, size_t *count,
				    struct err *err);

const struct owner *report_owner(const struct report *r, uint32_t stack);

/*
 * Is this libstdc++'s emergency pool for exceptions? It is the one block that the C++ runtime
 * allocates from its own static initialisers, which the loader runs: that shows without names, too.
 */
bool report_emergency_pool(const struct report *r, uint32_t stack);
/* MTW_MODULE_* of the module that a node's code is in. */
uint32_t report_flags(const struct report *r, uint32_t node);

/* All processes of the tree, by peak; returns their count. free() the list. */
size_t report_tree_sorted(const struct processes *p, const struct process ***list);

/* For writers, at the end: -1 and *err if any write failed. */
int report_flush(FILE *out, struct err *err);
/* The program's arguments in one line, cleaned; free() it. The model knows its program. */
char *report_command(const struct model *m);

/* "4121", "4121, 77 inside": what watch_pid() tells. */
#define REPORT_PID 40
const char *report_pid(unsigned pid, unsigned inner, char buf[REPORT_PID]);

/* model_state() as in the contract: "running", "exited", ... */
const char *report_state(uint32_t state, bool known);
/* What a report says of the program after its name: "exited with status 0", "recording cut off". */
#define REPORT_END (160 + FORMAT_SIGNAL)
const char *report_end(const struct model *m, char buf[REPORT_END]);
/* Why the program is stopped, after "stopped": " by a signal", ", traced by gdb [4121]", ",
 * frozen";
 * "" = not known. */
#define REPORT_STOP (32 + MTW_COMM_MAX * 4)
const char *report_stop(const struct stop *p, char buf[REPORT_STOP]);
/* A sentence: how often and how long it was stopped, or its machine slept; NULL = never. Owned. */
char *report_stops(const struct model *m);
/* A sentence: what a cut file says of the program's end; NULL = it is not cut. Owned. */
char *report_cut_end(const struct model *m);
const char *report_truncation(uint32_t reason); /* NULL for none */
const char *report_value_name(enum report_value v);
/* -1: there is none; *err lists them */
int report_value_by_name(const char *name, enum report_value *v, struct err *err);
const char *report_shape(enum shape shape); /* "steady" */
/* enum mtw_memory: the purpose of a part of resident memory */
const char *report_memory(unsigned what);
const char *report_loss(unsigned reason);
/* lost events: blocks without a known stack */
bool report_loses(unsigned reason); /* of MTW_LOSS_*: is it a loss at all? */
uint64_t report_lost(const struct model *m, uint64_t *bytes);

/*
 * "samples every 64.0K (estimates), blocks of 64 B and more": what a filter records, "every block"
 * for NULL or one without limits. The brief form is for a header: "~1 in 64.0K, >=64".
 */
const char *report_filter(const struct recorded *f, bool brief, char *buf, size_t size);

/* Why the agent's scans say nothing: sentences, each once. Returns how many. */
enum { REPORT_LOOKS = 3 };
size_t report_not_known(const struct watch *w, const char *why[REPORT_LOOKS]);

#define REPORT_RANGE (2 * FORMAT_NUMBER + 4)
/* "14.0M", "0 to 14.0M" */
const char *report_range(char buf[REPORT_RANGE], const struct live_range *bytes);

#endif
