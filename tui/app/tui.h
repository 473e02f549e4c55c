/* SPDX-License-Identifier: MIT
 *
 * tui.h - starts the live view, for the verbs. Main thread only.
 *
 * Both functions own the terminal until they return and restore it on every way out (SIGTERM,
 * SIGHUP and ^C come through the loop). They run the loop themselves.
 */
#ifndef TUI_H
#define TUI_H

#include "processes/processes.h"

struct tui_options {
	const char *theme;   /* name in themes/ or a path; NULL = dark */
	double max_overhead; /* percent: above it sampling is offered; 0 = never */
	bool ascii;          /* --ascii; else as the locale says */
	/* P ends the view with TUI_SWITCH; the caller offers other processes */
	bool can_switch;
	/* the watch is of a file that diff_write_session() made of it; NULL = no diff */
	const struct diff_tree *diff;
	bool all;          /* begins with all processes of the tree */
	bool child;        /* a program that `run` started: q asks, Output is a view */
	pid_t child_pid;   /* leader of its own session, when child */
	bool *stopped;     /* set when the user had the child stopped (SIGTERM); or NULL */
	const bool *ended; /* the child was reaped, when child */
	int output_fd;     /* the program's output file (read with pread), -1 = none */
	/* file that gets "<ns of read> <ns of flush>" per key, and "whole <ns of flush>" once its
	 * rows are complete; NULL = $MEMTOP_KEYLOG */
	const char *key_log;
};

#define TUI_SWITCH (-1)

/*
 * The live view of a tree after processes_first(), which begins with that process, until the user
 * quits, the loop stops or a signal ends it. 0 = the user quit; 128 + N = signal N; 2 or 3 = no
 * screen (reported on stderr); TUI_SWITCH = the user wants another process. A running child runs on
 * unless the user chose to stop it: then SIGTERM was sent, and its last state was awaited for at
 * most three seconds.
 */
int tui_run(struct loop *loop, struct processes *p, const struct tui_options *o);

/*
 * Choose among the processes that have an agent: 1 and *t filled; 0 = none chosen; else -status.
 */
int tui_choose(struct loop *loop, const struct tui_options *o, struct target *t);

#endif
