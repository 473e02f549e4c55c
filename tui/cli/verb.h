/* SPDX-License-Identifier: MIT
 *
 * verb.h - code shared by verbs: the check for a terminal, the view of a target, the complete state
 * for a report. Main thread.
 */
#ifndef VERB_H
#define VERB_H

#include "cli/loop.h"
#include "cli/verbs.h"

#include "app/tui.h"

/* Whether a screen can be shown; else *err says why and names `instead`, the verb that needs
 * none. */
bool cmd_terminal(struct err *err, int status, const char *what, const char *instead);

/*
 * For verbs that must not end when a reader of their output does: what they record or show goes on.
 * Caught rather than ignored: a handler does not survive exec, so that a program started by run or
 * record finds what we found.
 */
void cmd_survive_sigpipe(void);

struct tui_options cmd_tui_options(const struct args *a);

/* A session file as the target; the newest that a live view kept (--last). */
int cmd_file(const char *path, struct target *t, struct err *err);
int cmd_newest(struct target *t, struct err *err);

/*
 * Of a session file the process that --process names, or the one to begin with
 * (processes_heaviest()). Sets t->stream. p has the file's lines then, if it has a table. -1 and
 * *err: there is no such process, or only its totals.
 */
struct processes;
int cmd_choose_process(const struct args *a, struct processes *p, struct target *t,
		       struct err *err);

/* Says in the view what was wrong with --suppress. */
void cmd_note_rules(const struct args *a, struct watch *w);

struct launched;
/* The agent of a program that launch_program() started; `name` is shown in the header. */
void cmd_launched_target(const struct launched *l, const char *name, struct target *t);

/* Takes the agent of w out of its process, and waits for that. 0; -1 and *err: it stays, or nobody
 * knows. */
int cmd_detach(struct loop *loop, struct watch *w, struct err *err);

/* The live view of t until the user goes, and what --detach asks for then; its exit status. */
int cmd_view(const struct args *a, const struct target *t);

/*
 * A watch on t with everything known: sums whole, looked at by the agent (watch_look()), names
 * asked for are answered when they are used. NULL and *err when it cannot be had.
 */
struct watch *cmd_open_whole(struct loop *loop, const struct target *t, const struct args *a,
			     struct err *err);

#endif
