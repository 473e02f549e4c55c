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
	/* P: the caller lets a process outside the tree be chosen, on TUI_SWITCH */
	bool can_switch;
	bool child;        /* a program that `run` started: q asks, Output is a view */
	pid_t child_pid;   /* leader of its own session, when child */
	bool *stopped;     /* set when the user had the child stopped (SIGTERM); or NULL */
	const bool *ended; /* the child was reaped, when child */
	int output_fd;     /* file that its output goes to (read with pread), -1 = none */
	const char
		*key_log; /* append "<ns of read> <ns of flush>" per key; NULL = $MEMTOP_KEYLOG */
};

#define TUI_SWITCH (-1)

/*
 * The live view of a tree after processes_first(), which begins with that process, until the user
 * goes, the loop is stopped or a signal asks to end. 0 = the user went; 128 + N = ended by signal
 * N; 2 or 3 = no screen could be made (said on stderr); TUI_SWITCH = the user wants another
 * process. A running child is left alone unless the user asked to stop it: SIGTERM was sent then,
 * and its last state was waited for, three seconds at most.
 */
int tui_run(struct loop *loop, struct processes *p, const struct tui_options *o);

/*
 * Choose among the processes that have an agent: 1 and *t filled; 0 = none chosen; else -status.
 */
int tui_choose(struct loop *loop, const struct tui_options *o, struct target *t);

#endif
