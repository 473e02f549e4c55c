/* SPDX-License-Identifier: MIT
 *
 * spool.h - where live views keep their sessions: $XDG_STATE_HOME/memtop. Main thread only.
 */
#ifndef SESSION_SPOOL_H
#define SESSION_SPOOL_H

#include "session/session.h"

#include <limits.h>
#include <time.h>

#define SPOOL_KEEP 5                 /* sessions, by default, the new one included */
#define SPOOL_MAX_BYTES (1ull << 30) /* of one session */

/* $XDG_STATE_HOME/memtop, or ~/.local/state/memtop; -1 and *err when there is no home. */
int spool_dir(char *path, size_t size, struct err *err);

struct spooled { /* one session there */
	char path[PATH_MAX], program[64];
	unsigned pid;
	struct timespec changed;
	time_t begun;
	uint64_t bytes;
	bool written, viewed; /* by some memtop, now */
};

/* All of them, those that are being written first, then by the time of their last change; the
 * caller frees the list. -1 and *err (3) when there is no folder. */
long spool_list(struct spooled **list, struct err *err);
/* The newest session there that can be opened, and how many newer ones cannot; -1 and *err (3) when
 * there is none. One that is being written is only taken when all are: `--last` is what is left of
 * a view that ended, not what another one is at. of: a program's name or pid; NULL = of any. */
int spool_newest(char *path, size_t size, const char *of, size_t *passed, struct err *err);
/* A new session file for a program; removes the oldest ones but keep - 1. NULL and *err. */
struct session_writer *spool_create(const char *program, unsigned pid, unsigned keep, char *path,
				    size_t size, struct err *err);

#endif
