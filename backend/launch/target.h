/* SPDX-License-Identifier: MIT
 *
 * target.h - the words that name a target; the same for every verb. Any thread.
 *
 *   TARGET  :PORT | HOST:PORT | @NAME | unix:PATH | -p PID | FILE.mtop
 */
#ifndef LAUNCH_TARGET_H
#define LAUNCH_TARGET_H

#include "base/base.h"

struct target {
	/* TARGET_MADE: no word; memtop makes its frames (watch_feed()) */
	enum target_kind {
		TARGET_TCP,
		TARGET_ABSTRACT,
		TARGET_PATH,
		TARGET_PID,
		TARGET_FILE,
		TARGET_MADE
	} kind;
	char host[256];
	char name[512]; /* abstract name, socket path or file */
	int port, pid;
	/* TARGET_TCP that memtop itself forwards to a Unix socket: needs no token */
	bool forwarded;
	/* TARGET_FILE: which process of the tree; 0 = the first program (session/session.h) */
	uint32_t stream;
	bool unheard;   /* memtop started the program; its agent has not greeted yet */
	char text[600]; /* as typed: for messages and the header */
};
/* Fills *t, or sets *err to what is wrong with the word (status 2). */
int target_parse(const char *word, struct target *t, struct err *err);
int target_parse_pid(const char *word, struct target *t, struct err *err);

#endif
