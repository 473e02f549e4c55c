/* SPDX-License-Identifier: MIT
 *
 * internal.h - shared by the parts of processes.
 *
 *   processes/processes.c  lines: made, sorted, summed; the clock for all parts
 *   processes/records.c    turns records of the board into lines
 *   processes/watches.c    opens a watch for each process that matters; its figures go to the line
 *   processes/file.c       writes lines to a session file's table and reads them back
 *   processes/relatives.c  lines from /proc, for a target that memtop did not start; checks which
 *                          processes still run
 */
#ifndef PROCESSES_INTERNAL_H
#define PROCESSES_INTERNAL_H

#include "processes/processes.h"

#include "processes/board.h"

#define SAMPLES 61 /* one a second: growth covers the last minute */

#define STREAM_NONE (UINT32_MAX - 1)

struct growth_sample {
	uint64_t ns, live, allocated;
};

struct line {
	struct process p;
	uint32_t before;           /* line of its process' previous program; 0 = none */
	uint32_t record, serial;   /* on the board; BOARD_NONE: not on it (any more) */
	char *path, *why, *socket; /* owned; NULL = "" or none */
	bool path_socket;          /* socket is a path, no abstract name */
	bool hidden;      /* a failed exec, a fork that only executed: counts only in sums */
	bool lingers;     /* its server waits for memtop */
	bool seen;        /* found in /proc: its pid belongs to this namespace */
	unsigned missing; /* consecutive looks without finding it in /proc */
	bool given;       /* by processes_watch(): a view may show its watch */
	uint32_t stream;  /* its frames in the session file; STREAM_NONE */
	uint32_t written; /* checksum of its entry in the table; 0 = none */
	bool announced;   /* it announced its end, but did not live to change its state */
	uint32_t announced_end, announced_status;
	bool gave_up;         /* no watch for it any more */
	bool heir, succeeded; /* in a file: a daemon, and its starter */
	uint64_t inherited_blocks;
	uint64_t stamp_ns;             /* CLOCK_MONOTONIC, of the figures */
	uint64_t changed_ns;           /* of the state */
	struct growth_sample *samples; /* ring; NULL = it does not run, or for less than a second */
	unsigned sample_count, sample_at;
};

/* Two lives of a record: a child may name the one that has just ended. */
struct seat {
	uint32_t serial, line, before_serial, before_line;
};

struct processes {
	struct loop *loop;
	struct processes_options options;
	struct shared_board *board; /* NULL: relatives */
	struct seat *seats;         /* BOARD_RECORDS of them */
	struct loop_source *timer;
	struct line **lines;      /* [id - 1]; NULL = dropped */
	size_t count, room, kept; /* ids given; lines that are there */
	size_t drop_at;           /* lines before it have been tried for dropping */
	struct processes_sum dropped;
	uint32_t *order; /* ids as processes_list() has them */
	size_t order_count, order_room;
	struct process *list; /* what processes_list() gave last */
	size_t list_room;
	bool ordered;
	pid_t first_pid;
	struct watch *first; /* borrowed */
	bool first_ended;
	/* line that the first's watch shows: the process may have executed another program */
	uint32_t first_now;
	char *file;                    /* the session file behind all lines; NULL: live */
	uint64_t file_ns, file_missed; /* its end; its value of processes_missed() */
	bool tree;                     /* there was a process besides the first */
	uint64_t origin_ns;            /* CLOCK_MONOTONIC: when the first began */
	uint64_t second_ns;            /* when the last full look was */
	bool changed;
	void (*on_change)(void *arg);
	void *arg;
};

/* processes/processes.c */
struct line *processes_line(const struct processes *p, uint32_t id);
/* begin: CLOCK_MONOTONIC */
struct line *processes_add(struct processes *p, uint32_t parent, uint64_t begin_ns);
void processes_state(struct processes *p, struct line *l, enum process_state state);
bool line_runs(const struct line *l); /* or is about to */
void line_figures(struct line *l, const struct tally *sum, uint64_t peak_bytes);
void line_stream(struct line *l, uint32_t stream);
void line_say(char **slot, const char *text);
/* by its own memory: inherited memory is its parent's */
bool processes_is_large(const struct processes *p, const struct line *l);

/* processes/records.c */
void processes_read_board(struct processes *p, bool all); /* all: running ones' figures, too */

enum process_state processes_end_state(uint32_t end); /* enum board_end */

/* processes/watches.c */
struct line *processes_one(struct processes *p, struct watch *w); /* of a file without a table */
void processes_care(struct processes *p); /* opens and closes watches, takes their figures */
/* says why a fork that mattered has no session */
void processes_explain(struct processes *p, struct line *l);

/* processes/file.c */
void processes_write(struct processes *p); /* each second: writes the changes to the first's file */

/* processes/relatives.c */
void processes_look_near(struct processes *p); /* each second: relatives */
/* each second: finds processes that ended unannounced, and programs whose agent never answered */
void processes_look_alive(struct processes *p);

#endif
