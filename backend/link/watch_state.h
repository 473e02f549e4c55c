/* SPDX-License-Identifier: MIT
 *
 * watch_state.h - a watch, for link/watch.c (input) and link/watched.c (queries). Main thread only.
 */
#ifndef LINK_WATCH_STATE_H
#define LINK_WATCH_STATE_H

#include "link/ingest.h"
#include "link/keys.h"
#include "link/looks.h"
#include "link/recorder.h"
#include "link/replay.h"
#include "link/watch.h"

struct watch {
	struct loop *loop; /* borrowed */
	struct target target;
	struct watch_options options;
	struct ingest in; /* model and symbols; its model: the current state */
	/* result of watch_model(): in.model, or a model of a past instant */
	struct model *shown;
	struct replay *past;
	struct conn *conn;              /* NULL: a file */
	struct loop_source *timer;      /* each second */
	bool held;                      /* watch_hold() */
	struct loop_source *room;       /* the model is full: looks whether it still is; NULL: no */
	struct loop_source *names_soon; /* symbol answers to report together; NULL = none since */
	uint64_t intervals;             /* model_intervals() that the views were told of */
	void (*on_change)(void *arg, unsigned bits);
	void *on_change_arg;
	unsigned bits;          /* to report after this slice */
	char *problem, *notice; /* NULL = none */
	int viewed;             /* session_view() of a file; -1 = none */
	char *noted;            /* watch_note(), for a spool that is made later; NULL = none */
	uint64_t wanted_ns;     /* of the last watch_travel() */
	char *instant;          /* warning: not the end is shown; NULL = the end is */
	char **warnings;
	size_t warning_count, warning_room;
	const char **warning_list; /* what watch_warnings() returned last */

	struct recorder keep; /* spool or record */
	struct keys keys;
	uint64_t rules_read; /* expected_version() of what the file has */
	bool told_not_kept;

	uint64_t opened_ns;
	bool greeted; /* HELLO came over this link */
	bool told_final;
	/* last byte of the link that brought the shown state; 0 = this link did */
	uint64_t stale_since;
	uint64_t final_ns; /* now_ns() of the final tick, 0 = none yet */
	bool executed;     /* by the program before it; no state came since */
	/* names of locations below this were requested, in the model of ... */
	uint32_t names_asked;
	uint64_t resets_seen; /* ... model_resets() */
	uint64_t child_ns;
	/* watch_pid(): the program's number here, where it differs from its own; 0 = it does not */
	unsigned number_here;
	struct looks looks;
};

/* Which past instant is shown: the caller's. */
char *watch_say_instant(const struct watch *w);

#endif
