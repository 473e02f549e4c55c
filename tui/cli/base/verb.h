/* SPDX-License-Identifier: MIT
 *
 * verb.h - code shared by verbs: the check for a terminal, the view of a target, the complete state
 * for a report. Main thread.
 */
#ifndef VERB_H
#define VERB_H

#include "cli/base/loop.h"
#include "cli/base/verbs.h"

#include "app/tui.h"

/* True when a screen can be shown; else *err gives the reason and names `instead`, a verb without
 * one. */
bool cmd_terminal(struct err *err, int status, const char *what, const char *instead);

/*
 * Catches SIGPIPE and SIGXFSZ, for verbs that go on when the reader of their output ends, or say
 * which file was refused (ulimit -f). A handler, unlike SIG_IGN, does not survive exec: a program
 * started by run or record gets the original disposition.
 */
void cmd_survive_writes(void);

struct tui_options cmd_tui_options(const struct args *a);

/* A session file as the target; --last: the newest that a live view kept, of the program or pid
 * that the operand names. */
int cmd_file(const char *path, struct target *t, struct err *err);
int cmd_newest(const struct args *a, struct target *t, struct err *err);
/* $TMPDIR; `usual` when it is not set, or, with a warning, when it cannot be written. */
const char *cmd_temporary(const char *usual);

/*
 * Sets t->stream to the session file's process that --process names, else as processes_choose()
 * does; processes_note() goes to stderr. Fills p when the file has a process table. -1 and *err: no
 * such process, or only its totals.
 */
struct processes;
int cmd_choose_process(const struct args *a, struct processes *p, struct target *t,
		       struct err *err);

/* True: All is what --process, or else the session, begins with; p has read its table. */
bool cmd_wants_all(const struct args *a, struct processes *p, const struct target *t);
/* What a report or a diff is of: the target, or a process of its tree, or all of them. */
struct source {
	struct processes *processes;
	struct watch *watch;
	struct all *all; /* the watch is its; NULL = one process */
};
/* Close it, also after -1 and *err. */
int cmd_open_source(struct loop *loop, struct source *s, struct target *t, const struct args *a,
		    struct err *err);
void cmd_close_source(struct source *s);

/* Shows errors of --suppress in the view. */
void cmd_note_rules(const struct args *a, struct watch *w);

struct launched;
/*
 * The agent of the program that launch_program() started: a's first operand. Of a static launcher:
 * waits for the first program with an agent that it executes, as long as it runs and *stop is not
 * set (NULL: never). -1 and *err: there was none.
 */
int cmd_launched_target(struct loop *loop, const struct args *a, const struct launched *l,
			struct processes *p, const bool *stop, struct target *t, struct err *err);

/* After the view: its session has only a part, as the view said. */
void cmd_say_unsaved(const struct watch *w);

/* Removes w's agent from its process and waits. 0; -1 and *err: it stayed, or the result is
 * unknown. */
int cmd_detach(struct loop *loop, struct watch *w, struct err *err);

/* Runs the live view of t until the user quits, then detaches if --detach was given. Returns the
 * exit status. */
int cmd_view(const struct args *a, const struct target *t);
/* Likewise, of the session file that diff_write_session() made of d. */
struct diff_tree;
int cmd_view_diff(const struct args *a, const struct target *t, const struct diff_tree *d);

/*
 * A complete watch on t: sums whole, the agent's scans done (watch_look()), requested names
 * resolved on use. NULL and *err on failure.
 */
struct watch *cmd_open_whole(struct loop *loop, const struct target *t, const struct args *a,
			     struct err *err);

#endif
