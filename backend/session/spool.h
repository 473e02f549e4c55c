/* SPDX-License-Identifier: MIT
 *
 * spool.h - where live views keep their sessions: $XDG_STATE_HOME/memtop. Main thread only.
 */
#ifndef SESSION_SPOOL_H
#define SESSION_SPOOL_H

#include "session/session.h"

#define SPOOL_KEEP 5                 /* sessions, this one included */
#define SPOOL_MAX_BYTES (1ull << 30) /* of one session */

/* $XDG_STATE_HOME/memtop, or ~/.local/state/memtop; -1 and *err when there is no home. */
int spool_dir(char *path, size_t size, struct err *err);
/* The newest session there that can be opened, and how many newer ones cannot; -1 and *err (3) when
 * there is none. */
int spool_newest(char *path, size_t size, size_t *passed, struct err *err);
/* A new session file for a program; removes the oldest ones. NULL and *err. */
struct session_writer *spool_create(const char *program, unsigned pid, char *path, size_t size,
				    struct err *err);

#endif
