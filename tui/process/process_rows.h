/* SPDX-License-Identifier: MIT
 *
 * process_rows.h - the rows of the list of processes: a tree, or sorted by a figure; processes that
 * ended are folded by name, so that the thousand compilers of a build are a few rows. Pure: neither
 * curses nor the screen. Main thread.
 *
 * A fold joins two or more processes with one name and one parent row that ended or are not
 * followed. Processes that mattered (processes/processes.h) and were large, or crashed, keep their
 * own rows, unless many share the name. Running processes, the first program and the process shown
 * are never folded. A row's parent is its nearest ancestor that is not folded. A program that a
 * process executed takes that process's place.
 */
#ifndef PROCESS_ROWS_H
#define PROCESS_ROWS_H

#include "processes/processes.h"
#include "query/query.h"

#define PROCESS_FOLD (1ull << 63) /* flag in a fold's id */

/* Sorted by a current figure, running processes come first. */
enum process_sort {
	PROCESSES_BY_TREE = BY_NAME,
	PROCESSES_BY_LIVE = BY_LIVE,
	PROCESSES_BY_GROWTH = BY_GROWTH,
	PROCESSES_BY_RATE = BY_RATE,
	PROCESSES_BY_BLOCKS = BY_BLOCKS,
	PROCESSES_BY_ALLOCATED = BY_ALLOC,
	PROCESSES_BY_PEAK = BY_OWN,
	PROCESSES_BY_PID,
	PROCESSES_BY_TIME,
};

struct process_row {
	/* first; live ones, and those since the start: a fold has their sum alone */
	struct amounts amounts;
	/* the process's; a fold's: PROCESS_FOLD and a part that stays while processes join it */
	uint64_t id;
	unsigned depth; /* 0 when sorted by a figure, except members of a fold */
	size_t folded;  /* processes in the fold; 0 = no fold */
	bool open;      /* a fold: its members follow */
	/* A copy; path and why are NULL: processes_find() has them. Of a fold: name, state, and the
	 * largest peak. */
	struct process p;
};

struct process_rows {
	struct process_row *rows; /* owned */
	size_t count, room;
	uint64_t *open; /* open folds; owned */
	size_t open_count, open_room;
};

struct process_list { /* kept between visits of its page */
	struct process_rows rows;
	int sort; /* enum process_sort */
	bool reverse;
};

/* `list` comes from processes_list(). !resort: rows keep their places, new ones come last. */
void process_rows_make(struct process_rows *r, const struct process *list, size_t count,
		       uint32_t shown, enum process_sort sort, bool reverse, bool resort);
/* All of them as the first row, whatever the order. After process_rows_make(). */
void process_rows_all(struct process_rows *r, const struct process *all);
/* Takes effect at the next process_rows_make(). */
void process_rows_open(struct process_rows *r, uint64_t fold, bool open);
void process_rows_release(struct process_rows *r);

bool process_runs(const struct process *p); /* or will soon */
/* "running", "exited 0", "SIGSEGV"; out[32]. Returns out. */
char *process_state_words(const struct process *p, char *out);

#endif
