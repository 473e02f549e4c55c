/* SPDX-License-Identifier: MIT
 *
 * line.h - one line of a process tree: its figures, and how these grow.
 */
#ifndef PROCESSES_LINE_H
#define PROCESSES_LINE_H

#include "processes/processes.h"

#define SAMPLES 61 /* one a second: growth covers the last minute */

#define STREAM_NONE (UINT32_MAX - 1)

struct growth_sample {
	uint64_t ns; /* by line.ran_ns */
	uint64_t live, allocated;
};

/* A mark that waits for its process' link. */
struct mark_due {
	char *name; /* owned */
	uint64_t until_ns;
};

struct line {
	struct process p;
	uint32_t before;           /* line of its process' previous program; 0 = none */
	uint32_t record, serial;   /* on the board; BOARD_NONE: not on it (any more) */
	char *path, *why, *socket; /* owned; NULL = "" or none */
	char *title;               /* owned; NULL = not known */
	uint64_t titled_ns;        /* when it was read last; 0 = never */
	bool path_socket;          /* socket is a path, no abstract name */
	bool by_pid;               /* socket belongs to another network or root */
	bool hidden;     /* a failed exec, a fork that only executed: counts only in sums */
	bool lingers;    /* its server waits for memtop */
	bool seen;       /* found in /proc: its pid belongs to this namespace */
	pid_t outer_pid; /* its pid here, where the board has that of its own namespace; 0 = same */
	unsigned missing; /* consecutive looks without finding it in /proc */
	bool given;       /* by processes_watch(): a view may show its watch */
	bool over;        /* the recording of its watch has ended: its figures stay as they are */
	uint32_t stream;  /* its frames in the session file; STREAM_NONE */
	uint32_t written; /* checksum of its entry in the table; 0 = none */
	bool announced;   /* it announced its end, but did not live to change its state */
	uint32_t announced_end, announced_status;
	bool gave_up;               /* no watch for it any more */
	bool heir, succeeded;       /* in a file: a daemon, and its starter */
	struct mark_due *marks_due; /* oldest first */
	size_t mark_count, mark_room;
	uint64_t start_ns;             /* CLOCK_MONOTONIC: when its agent started */
	uint64_t stamp_ns;             /* CLOCK_MONOTONIC, of the figures */
	uint64_t changed_ns;           /* of the state */
	uint64_t measured_ns, ran_ns;  /* the last line_measure(); its time without stops */
	struct growth_sample *samples; /* ring; NULL = it does not run, or for less than a second */
	unsigned sample_count, sample_at;
};

bool line_runs(const struct line *l); /* or is about to */
void line_figures(struct line *l, const struct tally *sum, uint64_t peak_bytes);
/* Each second, for a line with known figures: a relative's come with its watch. While it is
 * stopped, rate and growth stay as they were. */
void line_measure(struct line *l, uint64_t now);
/* Of one in a file, at its end, from the figures of its session. */
void line_measured(struct process *p, const struct model *m);
void line_rest(struct line *l); /* it runs no more: no samples, no rates */
void line_stream(struct line *l, uint32_t stream);
void line_say(char **slot, const char *text);
void line_title(struct line *l, const char *title);
void line_free(struct line *l);

#endif
