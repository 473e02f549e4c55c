/* SPDX-License-Identifier: MIT
 *
 * judging.h - one process while it is judged, and its verdicts. Inside check/ alone.
 */
#ifndef CHECK_JUDGING_H
#define CHECK_JUDGING_H

#include "check/check.h"
#include "check/suppressions.h"
#include "diff/diff.h"
#include "report/report.h"
#include "launch/target.h"
#include "model/model.h"

/* check/judging.c: one process while it is judged. */
struct judging {
	struct check *check;
	struct watch *watch;
	const struct process *line; /* NULL = there is no tree */
	struct model *model;
	struct report *report;
	/* by stack: number + 1 in check->suppressed, 0 = it counts */
	uint32_t *suppressed;
	size_t process;          /* in check->processes */
	bool all;                /* it is all processes as one */
	bool skips[2];           /* limits of each process, and those of all, are not held here */
	struct part_peak *peaks; /* by limit; of --max-peak of a part, once it is asked for */
};
void judging_init(struct judging *j, struct check *c, struct watch *w, const struct process *p);
void judging_release(struct judging *j);
/* Of the process, as the tree's line has it: the same with figures and without. */
const char *judging_name(const struct judging *j);
/* Which stacks does a limit cover, suppressed ones aside? A mask, by stack; the caller frees it.
 * Notes whether the process has what the limit names. */
bool *judging_covers(struct judging *j, const struct limit *l);
/* Copies a stack with its frames. */
void judging_copy(const struct judging *j, uint32_t stack, struct check_stack *to);

/* check/runtime.c. */
/* Does the C or the C++ library keep these blocks for itself? */
bool runtime_keeps(const struct report *r, uint32_t stack);

/* check/baseline.c. */
struct heap_sums {
	char *name;        /* owned; of the process */
	size_t session;    /* which of the baselines: 1 ... baseline_sessions */
	size_t turn;       /* among those of its name there */
	struct side *side; /* owned; what counts of it; NULL = totals only */
	uint64_t live_bytes, peak_bytes, peak_error_bytes;
};
void baseline_learn(struct judging *j);
void baseline_learn_totals(struct check *c, const struct process *p);
void baseline_judge(struct judging *j);
void baseline_judge_totals(struct check *c, size_t process, const struct process *p);

/* check/growing.c. */
void growing_judge(struct judging *j);
void growing_end(struct check *c); /* no process was judged: an error */

/* check/check.c. */
struct check_verdict *check_add(struct check *c, size_t process, enum check_kind kind);
size_t check_add_process(struct check *c, const char *name, int pid, const char *state);
/* A verdict without figures: `why` says what could not be judged. */
void check_error(struct check *c, size_t process, enum check_kind kind, const char *name,
		 const char *why);
/* Of a verdict with figures that are too vague for its limit: an error, unless the session may be
 * incomplete. */
void check_vague(struct check *c, struct check_verdict *v, char *why_take);
void check_not_whole(struct check *c, size_t process, const char *why);
/* The process ran on when the session ended, so nothing is known of its exit. */
void check_runs_on(struct check *c, size_t process, bool first);
/* A signal ended the process: an error, unless it is allowed. first: of its tree, or alone. */
void check_signalled(struct check *c, size_t process, int signal, bool known, bool first);
/* Compares, and keeps what was found. Returns whether the limit is kept. */
bool check_compare(struct check_verdict *v, int64_t found, uint64_t most);
void heap_sums_release(struct heap_sums *h);

/* What remains of a process' amounts without the part that its fork inherited. */
uint64_t check_own(uint64_t amount, uint64_t inherited);

/* peaks.c: the largest amount that some stacks of a session held together. */

struct part_peak {
	bool *covered; /* by stack of the report: is it meant? */
	/* The answer: the largest sum that was recorded, and what no sum between two recorded
	 * instants can have exceeded: bytes <= the part's peak <= most. */
	uint64_t bytes, most;
};

/* Reads t's stream, a session file, from its start. All parts at once; covered NULL: no part.
 * -1 and *err (3). */
int peaks_find(const struct target *t, const struct report *last, struct part_peak *parts,
	       size_t count, struct err *err);
/* What each stack held at the peak of the whole heap, as the agent kept it; NULL = it did not. */
struct live *peaks_of_stacks(const struct report *r);

#endif
