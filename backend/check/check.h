/* SPDX-License-Identifier: MIT
 *
 * check.h - the gate for tests: holds sessions against limits and a baseline. Main thread only.
 *
 *   verdict = a limit in one process: what it allows, what was found, and the heaviest stacks
 *
 * Each process of a tree is held against the limits by itself, so that no child is missed and no
 * two peaks of different times are added; limits of `all` are held against the sum of the tree. A
 * process with only its totals is held against the limits of the whole heap. With no_growing, its
 * verdict on growth (query_growth()) is held against "not GROWING". Suppressed stacks are left out
 * of every figure but the whole heap's peak, which is not known by stack. What a fork inherited is
 * its parent's.
 *
 * Results are copies: they outlive the watch that they come from.
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "base/string_pool.h"
#include "check/limits.h"
#include "processes/processes.h"

struct suppressions;
struct between;

struct check_options {
	const struct limit *limits; /* all borrowed */
	size_t limit_count;
	const struct suppressions *suppressions; /* NULL = none */
	struct tolerance tolerance;              /* of the baseline */
	const struct between *between;           /* of CHECK_GROWTH; NULL = none */
	bool no_growing;                         /* a heap whose verdict is GROWING is a finding */
	bool allow_incomplete, allow_crash;
	bool must_end;   /* the program was started for this check */
	bool first_only; /* what it started may run on */
};

struct check_frame {
	char *function, *module, *file; /* owned; NULL = unknown */
	uint64_t address;
	uint32_t line;
	bool inlined, site; /* site: the call site */
};
struct check_stack {
	int64_t bytes; /* of what the limit counts: live, net growth, allocated per second */
	int64_t blocks;
	bool estimate;
	char *owner; /* owned */
	struct check_frame *frames;
	size_t count;
};

struct check_before { /* what the baselines have; of one, all three are the same */
	uint64_t mean, low, high;
	size_t count;
};

struct check_verdict {
	enum check_kind kind;
	size_t process;
	char *name;  /* owned; "--max-live lib:ssl=2M", "--baseline: parse_word" */
	char *where; /* owned; "lib:ssl"; of a baseline the figure or the call site; "" = all */
	char *why;   /* owned; of an error the sentence, else a remark; NULL = none */
	bool failed, estimate;
	bool error;  /* it failed because nothing could be judged */
	bool judged; /* found and most are known */
	int64_t found, blocks;
	uint64_t most;
	char *window;   /* owned; the worst window of --between NAME; NULL = no window */
	size_t windows; /* that were judged */
	struct check_before before; /* CHECK_BASELINE */
	struct check_stack *stacks; /* heaviest first; only if it failed */
	size_t stack_count;
};

struct check_process {
	char *name;    /* owned */
	int pid;       /* 0 = unknown */
	char *state;   /* owned; "exited with status 0" */
	bool compared; /* with the baseline */
	bool all;      /* all processes as one */
};

struct check_suppressed {
	char *name; /* owned */
	uint64_t live_bytes, live_blocks;
};

struct check {
	struct check_options options;
	struct check_verdict *verdicts; /* by process */
	size_t count, room;
	struct check_process *processes;
	size_t process_count, process_room;
	struct check_suppressed *suppressed;
	size_t suppressed_count, suppressed_room;
	char **notes; /* sentences */
	size_t note_count, note_room;
	bool *named; /* of each limit: some process has what it names */
	/* of each rule of options.suppressions: it matched something */
	bool *used_own, *used;
	struct heap_sums *baseline;
	size_t baseline_count, baseline_room;
	size_t baseline_sessions;
	struct string_pool pool; /* texts of the compared sides */
	bool marks_found;        /* some process has both marks */
	bool growth_judged;      /* some process ran long enough for a verdict on growth */
};

struct check *check_new(const struct check_options *o);
void check_free(struct check *c);

/* Before each session that is a baseline, CHECK_BASELINES_MAX at most. */
#define CHECK_BASELINES_MAX 31u
void check_begin_baseline(struct check *c);
/*
 * Both: a process with all its figures; p = its line in the tree, NULL = there is no tree. Learn
 * first, from the baselines; then judge. -1 and *err (3): the session cannot be read again.
 */
void check_learn(struct check *c, struct watch *w, const struct process *p);
int check_judge(struct check *c, struct watch *w, const struct process *p, struct err *err);
/* All processes as one: w is all_watch(). alone: nothing else is judged, so all limits are held
 * against it; else those of `all`. */
int check_judge_all(struct check *c, struct watch *w, size_t processes, bool alone,
		    struct err *err);
/* ... where no process has call paths: the row of PROCESS_ALL. */
void check_judge_all_totals(struct check *c, const struct process *p, size_t processes);
bool check_wants_all(const struct check *c); /* a limit is of all processes */
/* The same for a process with only its totals, or without any. */
void check_learn_totals(struct check *c, const struct process *p);
void check_judge_totals(struct check *c, const struct process *p);
/* After the last process: a limit whose name no process has is an error. -1 and *err (2) when no
 * process has the marks of CHECK_GROWTH. */
int check_end(struct check *c, struct err *err);
void check_note(struct check *c, const char *text);
/* A finding about the session as a whole, unless incomplete ones are allowed. */
void check_incomplete(struct check *c, const char *why);

size_t check_findings(const struct check *c); /* failed verdicts */
size_t check_errors(const struct check *c);   /* those of them that are errors */

/* Writers. */

struct check_format {
	const char *name;
	/* -1 and *err when writing fails */
	int (*write)(const struct check *, FILE *, struct err *);
};
const struct check_format *check_format_named(const char *name); /* NULL = none */
extern const struct check_format check_formats[];                /* ends with a name of NULL */

#endif
