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

/* A record in one of its lives: calls leave a record alone that memtop has freed meanwhile. */
struct claim {
	uint32_t record; /* BOARD_NONE = none */
	uint32_t serial;
};
#define NO_CLAIM ((struct claim){ BOARD_NONE, 0 })

/* Start-up: `value` is MEMTOP_BOARD's. Without an accessible board this process is followed no
 * further. */
void mt_board_open(const char *value);
/* The first image of all that reached the board: among those of a launcher a viewer comes to it. */
bool mt_board_begins(void);
bool mt_board_is(void); /* memtop collects from this process and its children */
void mt_board_runs(const char *name, const char *path); /* the executed image has begun */
/* In a forked child: it gets a record of its own. before: its parents' counts, from which its
 * counters continue. */
void mt_board_forked(int pid, const struct tally *before);

/* Figures so far, by a process without a server. exact: they are the final ones. */
void mt_board_write(bool exact);
/* ... with the final status; final: no server will end the record */
void mt_board_exits(unsigned how, uint32_t status, bool final);
bool mt_board_due(void);         /* its own part of the heap has reached the limit that matters */
bool mt_board_churned(void);     /* ... or what it allocated: a sum over all threads */
uint64_t mt_board_life_ns(void); /* ... or it has lived so long; UINT64_MAX = no board */

/* Called by the server of the same process. */
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

/* Can a program that is executed here open the board? Else why not; BOARD_FOLLOWED: it can. told: a
 * session goes on in it; memtop watches its own child's by the socket alone. */
unsigned mt_board_reach(bool told);
/* Exec and spawn. pid 0 = not known yet; own: this process itself becomes the program. */
struct claim mt_board_claim(const char *path, int pid);
/* Call right before the exec, each time that it is tried. with: the agent goes along; else `why`
 * gives the reason, BOARD_FOLLOWED = the program brings another agent. */
void mt_board_executes(struct claim c, unsigned why, bool with, bool own);
void mt_board_failed(struct claim c, bool own);
void mt_board_spawned(struct claim c, int pid, unsigned why, bool with);
/* A child's MEMTOP_BOARD, with its '='. The child begins in record c; NO_CLAIM: in a record that it
 * claims itself as a child of this process. */
#define BOARD_ENTRY_BYTES 128
void mt_board_entry(char to[BOARD_ENTRY_BYTES], struct claim c);

#pragma GCC visibility pop

#endif
