/* SPDX-License-Identifier: MIT
 *
 * board.h - the board of a process tree: shared memory to which the agents of one `memtop run` or
 * `memtop record` report without a connection, so that even a process of a millisecond leaves its
 * figures.
 *
 * memtop makes the board: a memfd of board_bytes(), sealed against shrinking and growing, so that
 * no access faults. The first program gets MEMTOP_BOARD=/proc/PID/fd/N. An agent opens and maps it
 * at its start; a forked child has its parent's mapping. No side waits for another. When memtop is
 * gone, the board cannot be opened: a process that starts then is followed no further, and a
 * running one writes to memory without a reader.
 *
 *   board = head | record[records]
 *
 * Each program image has one record; fork and exec begin a new one. Its life:
 *
 *   FREE -> EXECING (claimed by the caller of exec or posix_spawn, which writes parent and path)
 *        -> RUNNING (the agent of the new image has begun; a forked child begins here)
 *        -> ENDED   (by exit, a signal, or another exec: `end`)
 *   RUNNING -> EXECING -> ENDED (as BOARD_EXEC), or back to RUNNING when exec failed
 *   EXECING -> UNFOLLOWED: the caller of exec has inspected the file, and it takes no agent: `why`;
 *              BOARD_FOLLOWED = the program starts it under an agent of its own (a memtop inside of
 *              this one)
 *   ENDED or UNFOLLOWED -> FREE: by memtop, once it has copied the record
 *
 * An EXECING record whose image never reported stays EXECING, and memtop finds out what it can. If
 * another record RUNS under the same pid as its child, that exec ended it. A RUNNING record that is
 * exact, and whose pid is gone, ended as `end` says: the process announced its end, and its server,
 * which usually changes the state some milliseconds later, did not live to do it.
 *
 * For a shell that libc starts by itself (system(), popen()) MEMTOP_BOARD names the caller's
 * record, which is RUNNING: the shell claims its own record, as a child of that one. A forked
 * process's peak begins with the memory that it inherited.
 *
 * Trust: every process of the tree can write anything here. memtop copies a record before it looks
 * at it, and checks each field.
 */
#ifndef MEMTOP_BOARD_H
#define MEMTOP_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

/* "/proc/PID/fd/N", after an exec "/proc/PID/fd/N:RECORD": the record to begin in */
#define BOARD_VARIABLE "MEMTOP_BOARD"
/* ends "/proc/PID/fd/N:", which a static launcher that memtop starts passes on unchanged */
#define BOARD_LAUNCHED ':'
#define BOARD_MAGIC "MTBOARD\n"
#define BOARD_VERSION 1
#define BOARD_RECORDS 8192u /* the number of records; memtop frees those that have ended */
#define BOARD_NONE UINT32_MAX

enum board_state {
	BOARD_FREE,
	BOARD_CLAIMED,
	BOARD_EXECING,
	BOARD_RUNNING,
	BOARD_ENDED,
	BOARD_UNFOLLOWED
};
enum board_end { BOARD_UNKNOWN, BOARD_EXIT, BOARD_SIGNAL, BOARD_EXEC };
/* Why an image has no agent. */
enum board_why {
	BOARD_FOLLOWED,
	BOARD_STATIC,
	BOARD_SETUID,
	BOARD_MACHINE,
	BOARD_LIBC,
	BOARD_SANITIZER,
	BOARD_UNREADABLE,
	BOARD_NO_ROOM,  /* too long with the agent's entries: exec says E2BIG */
	BOARD_WRAPPED,  /* somebody's own execv() passed `environ` on, which could not be changed */
	BOARD_NO_AGENT, /* the agent's file is out of its reach */
	BOARD_OTHER_PROC, /* its /proc does not have the board: another pid namespace's, or none */
	BOARD_NO_ACCESS,  /* it may not open the board: another user, or another user namespace */
	BOARD_WHYS
};

struct board_head {
	char magic[8];
	uint32_t version, records;
	uint32_t record_bytes;
	uint32_t collector;    /* memtop's pid */
	uint64_t matter_bytes; /* a process whose peak reaches this, */
	uint64_t matter_ns;    /* or that lives so long, */
	/* the longest time that the server of a process that matters waits for memtop at its end;
	 * that of the program that memtop started, and has not reached yet, waits 60 s */
	uint64_t linger_ns;
	/* incremented with every change of a state: memtop looks when it has changed */
	_Atomic uint32_t xserial;
	_Atomic uint32_t xnext;   /* where to look for a free record */
	_Atomic uint32_t xmissed; /* processes that found no free record */
	_Atomic uint32_t xclosed; /* memtop no longer collects: no server lingers */
	/* or that allocates this much in all (0: no such rule) matters */
	uint64_t matter_alloc_bytes;
	uint8_t reserved[56];
};

/* Cumulative, as in MTW_TOTALS. Stores are relaxed, except to xstate (release): figures read from a
 * RUNNING record may be torn. */
struct board_record {
	_Atomic uint32_t xstate; /* enum board_state */
	/* incremented when the record is claimed, to tell its lives apart */
	_Atomic uint32_t xserial;
	uint32_t pid; /* in its own pid namespace; 0 = not known yet (posix_spawn) */
	/* index of the record of the process that forked or executed it; BOARD_NONE = the first */
	uint32_t parent;
	uint32_t parent_serial;
	uint32_t forked; /* 1: a fork that has not executed another program: it has its parent's
			    name */
	uint32_t end, status;       /* enum board_end; exit status or signal */
	uint32_t why;               /* enum board_why */
	uint32_t lingers;           /* its server waits for memtop: connect to `socket` */
	uint64_t begin_ns, end_ns;  /* CLOCK_MONOTONIC */
	_Atomic uint64_t xstamp_ns; /* CLOCK_MONOTONIC, when the figures were written */
	_Atomic uint64_t xalloc_blocks, xalloc_bytes, xfreed_blocks, xfreed_bytes, xpeak_bytes;
	/* live at the fork, and also counted in the parent */
	uint64_t inherited_blocks, inherited_bytes;
	_Atomic uint32_t xexact; /* 1: the figures are final, to the byte */
	char socket[108];        /* abstract name its server listens on, "" = none (yet) */
	char name[64];           /* base name of the program, as argv[0] or the executable has it */
	char path[256];          /* the executable; cut at its front */
	/* part of xalloc_*: allocated before the fork, and also counted in the parent */
	uint64_t before_blocks, before_bytes;
	uint8_t reserved[72];
};

_Static_assert(sizeof(struct board_head) == 128 && sizeof(struct board_record) == 640,
	       "the layout is shared between builds of memtop and of the agent");

static inline uint64_t board_bytes(uint32_t records)
{
	return sizeof(struct board_head) + (uint64_t)records * sizeof(struct board_record);
}

#endif
