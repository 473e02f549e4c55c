/* SPDX-License-Identifier: MIT
 *
 * targets.h - the processes and session files that the tools of `memtop mcp` have asked about. Main
 * thread only, outside of the loop's callbacks: opening one runs the loop.
 */
#ifndef MCP_TARGETS_H
#define MCP_TARGETS_H

#include "link/watch.h"

struct targets;
struct targets_options {
	const char *who;    /* the name for other viewers, and of marks. Borrowed */
	const char *target; /* for calls that name none; NULL = the only process with an agent */
	const struct expected *rules; /* of --suppress; NULL = none. Borrowed */
	struct symbol_options symbols;
	bool control; /* tools may start programs and load agents */
};

#define TARGETS_WORD 600 /* bytes of a TARGET */

struct targets *targets_new(struct loop *loop, const struct targets_options *o);
void targets_free(struct targets *t);
/*
 * A complete watch on a TARGET, or on a pid in digits. `process`: of a session file with several
 * ("" = the one that allocated most). It stays open for later calls; a
 * few at a time. NULL and *err: it cannot be watched. Borrowed until the next call.
 */
struct watch *targets_open(struct targets *t, const char *word, const char *process,
			   struct err *err);
/* Likewise, at an instant (link/when.h); the caller closes it. */
struct watch *targets_at(struct targets *t, const char *word, const char *process, const char *when,
			 struct err *err);
/* Likewise, for one look, and without a wait: watch_ready() says when it is complete. None of those
 * that are open closes for it. *close: close it afterwards. */
struct watch *targets_ask(struct targets *t, const char *word, bool *close, struct err *err);
/* The default TARGET, or the only process with an agent, in TARGETS_WORD bytes. */
int targets_default(const struct targets *t, char *word, struct err *err);
int targets_parse(const char *word, struct target *t, struct err *err);
struct loop *targets_loop(const struct targets *t);
const char *targets_who(const struct targets *t);
const struct symbol_options *targets_symbols(const struct targets *t);
bool targets_control(const struct targets *t);

#endif
