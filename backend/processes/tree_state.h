/* SPDX-License-Identifier: MIT
 *
 * tree_state.h - the state of a process tree, shared by its parts.
 *
 *   processes/line.c       one line: its figures, and how these grow
 *   processes/lines.c      all lines: made, sorted, summed
 *   processes/records.c    turns records of the board into lines
 *   processes/watches.c    opens a watch for each process that matters; its figures go to the line
 *   processes/tree_marks.c sets a mark in each process, also where the link is still to come
 *   processes/titles.c     command lines and titles
 *   processes/file.c       writes lines to a session file's table and reads them back
 *   processes/relatives.c  lines from /proc, for a target that memtop did not start; checks which
 *                          processes still run
 *   processes/processes.c  the clock for all parts
 */
#ifndef PROCESSES_TREE_STATE_H
#define PROCESSES_TREE_STATE_H

#include "processes/board.h"
#include "processes/line.h"

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
	/* in the first's file: the last one given to a watch; the first has 0. A line may have
	 * several watches in turn, and a watch several lines */
	uint32_t streams;
	bool first_ended;
	/* line that the first's watch shows: the process may have executed another program */
	uint32_t first_now;
	char *file;     /* the session file behind all lines; NULL: live */
	char *note;     /* processes_note(), owned */
	char *unmarked; /* which processes lack which marks, owned; NULL = none */
	size_t unmarked_count;
	uint64_t file_ns, file_missed; /* its end; its value of processes_missed() */
	size_t titles_seen;            /* lines that were looked at once */
	bool borrowed;                 /* all watches are somebody else's */
	bool tree;                     /* there was a process besides the first */
	uint64_t origin_ns;            /* CLOCK_MONOTONIC: when the first began */
	uint64_t second_ns;            /* when the last full look was */
	struct all *all;               /* made when first asked for; NULL */
	/* PROCESS_ALL, as processes_find() gave it last; its watch is that of `all` */
	struct process all_row;
	bool changed;
	void (*on_change)(void *arg);
	void *arg;
};

#endif
