/* SPDX-License-Identifier: MIT
 *
 * board.h - this process's record on the board of its tree (memtop/board.h), and the records that
 * it claims for its children.
 *
 * Every function does nothing without a board. None allocates or takes a lock, and only
 * mt_board_open() makes system calls.
 */
#ifndef MT_FOLLOW_BOARD_H
#define MT_FOLLOW_BOARD_H

#include "base/types.h"

#include <memtop/board.h>

#pragma GCC visibility push(hidden)

/* A record, and which of its lives: one that memtop freed meanwhile is left alone. */
struct claim {
	uint32_t record; /* BOARD_NONE = none */
	uint32_t serial;
};
#define NO_CLAIM ((struct claim){ BOARD_NONE, 0 })

/* Start-up: value is MEMTOP_BOARD's. A board that cannot be had is none: this process is followed
 * no further. */
void mt_board_open(const char *value);
bool mt_board_is(void); /* memtop collects from this process and its children */
void mt_board_runs(const char *name, const char *path); /* the image that was executed has begun */
/* In a forked child: it runs in a record of its own. before: what its parents did, which its
 * counters go on from. */
void mt_board_forked(int pid, const struct tally *before);

/* Figures so far, by a process without a server. exact: nothing comes after them. */
void mt_board_write(bool exact);
/* ... which this status is the last word about; final: no server ends the record. */
void mt_board_exits(unsigned how, uint32_t status, bool final);
bool mt_board_due(void);         /* its own part of the heap has reached what matters */
bool mt_board_churned(void);     /* ... or what it allocated: a sum over all threads */
uint64_t mt_board_life_ns(void); /* ... or it has lived so long; UINT64_MAX = no board */

/* The server's, of the same process. */
struct board_figures {
	struct tally sum;
	uint64_t peak_bytes;
};
/* NULL: as it is; "" = none */
void mt_board_tell(const struct board_figures *f, const char *path, const char *socket);
bool mt_board_mattered(const struct board_figures *f); /* ... at its end */
uint64_t mt_board_linger_ns(void);                     /* 0 = memtop collects no longer */
/* The record's end. lingers: its server waits at `socket`. */
void mt_board_ended(const struct board_figures *f, unsigned how, uint32_t status, bool lingers,
		    const char *socket);
void mt_board_lingered(void); /* no longer */

/* Exec and spawn. pid 0 = not known yet; own: this process itself becomes the program. */
struct claim mt_board_claim(const char *path, int pid);
/* Right before. with: the agent goes along; else why says why not, BOARD_FOLLOWED = the program
 * brings another one. */
void mt_board_executes(struct claim c, unsigned why, bool with, bool own);
void mt_board_failed(struct claim c, bool own);
void mt_board_spawned(struct claim c, int pid, unsigned why, bool with);
/* MEMTOP_BOARD of a child, with its '='. Begins in record c; NO_CLAIM: in one that it claims itself
 * as a child of ours. */
#define BOARD_ENTRY_BYTES 128
void mt_board_entry(char to[BOARD_ENTRY_BYTES], struct claim c);

#pragma GCC visibility pop

#endif
