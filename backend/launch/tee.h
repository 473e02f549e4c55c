/* SPDX-License-Identifier: MIT
 *
 * tee.h - passes a program's output on to where memtop's own output goes, and reports the lines
 * that match an expression. Main thread only.
 *
 * For each of stdout and stderr a process of its own ("memtop-tee") reads and writes, and blocks on
 * both: a slow reader slows the program down, as without memtop. It ends when the last process that
 * holds the program's output has closed it. So the output goes on when the recording is over, and
 * when memtop is killed.
 *
 * A stream that goes to a terminal gets a pseudo-terminal (launch/terminal.c), so that the program
 * buffers, colours and draws screens as before; any other gets a pipe. Both streams share one when
 * they go to the same place, which keeps their order. The bytes pass unchanged.
 */
#ifndef LAUNCH_TEE_H
#define LAUNCH_TEE_H

#include "base/base.h"

#include <regex.h>
#include <stddef.h>
#include <sys/types.h>

#include <memtop/wire.h>

#define TEE_LINE_MAX 4096 /* bytes of a line that an expression sees */

struct tee {
	int output[2]; /* for launch_options.output */
	int fd;        /* readable when tee_take() has something; at its end -1 */
	int ask[2];    /* to each process; -1 = none */
};

struct tee_match {
	unsigned pattern;            /* which of the patterns */
	uint32_t lost;               /* matches before that memtop was too slow to take */
	char text[MTW_NAME_MAX + 1]; /* what matched, cut to this */
};

/*
 * Forks, so before any thread starts. patterns[]: NULL = unused; each reports a line once. 0, or -1
 * and *err. tee_launched() once the program has started, or will not.
 */
int tee_start(struct tee *t, const regex_t *const patterns[2], struct err *err);
void tee_launched(struct tee *t);
int tee_take(struct tee *t, struct tee_match *m); /* 1; 0 nothing now; -1 no more can come */
/* After the program's end: returns when everything that it wrote has been passed on. False: a part
 * could not be written, and is lost. */
bool tee_wait(struct tee *t);
void tee_release(struct tee *t); /* of memtop's side; the processes go on */

/*
 * --- terminal.c: a pseudo-terminal between a program and the terminal that shows its output.
 *
 * The program still reads its keys from the terminal itself. But programs that draw a screen
 * (ncurses) switch the terminal to single keys through their output. So a change of the
 * pseudo-terminal's modes is made to the terminal, too, and its size follows the terminal's.
 */

/* Of the size and modes of `to`. ends[1] is the program's; its own side changes no byte. 0, or
 * -1. */
int terminal_open(int to, int ends[2]);
/* In the process that copies: from terminal_open()'s ends[0] to `to`, until the process ends. */
void terminal_follow(int from, int to);
/* As read(), from ends[0]; *bytes 0: only the modes have changed. */
ssize_t terminal_read(char *bytes, size_t size, size_t *len);

#endif
