/* SPDX-License-Identifier: MIT
 *
 * term.h - the terminal: on, off, keys in, screen out. Only term.c, screen/theme.c and
 * screen/draw.c know curses. Main thread only; signals reach it through the loop. Only those that
 * kill memtop where it stands (SIGSEGV, SIGABRT) have a handler, which writes a fixed sequence.
 */
#ifndef TERM_H
#define TERM_H

#include "base/base.h"

/* 0 when there is a known terminal; else -1 and *err. Changes nothing. */
int term_check(struct err *err);
/* Takes the terminal. -1 and *err (status 2) when there is none or TERM is not known. */
int term_start(bool ascii, struct err *err);
/* Restores it; harmless when it was never taken, or twice. */
void term_stop(void);

int term_rows(void);
int term_columns(void);
/* Takes the window's new size (SIGWINCH). */
void term_resize(void);
/* Next key (screen/keys.h), KEY_NOTHING when none waits; KEY_HANGUP when the terminal is gone. */
int term_key(void);
#define KEY_HANGUP (-1)
/* Whether the key that term_key() returned last is pasted text: it is no action. */
bool term_pasting(void);
/* Takes clicks and the wheel from the terminal, or leaves them to it. */
void term_mouse(bool take);
/* Where the last KEY_CLICK was. */
void term_clicked(int *y, int *x);
/* Sends the drawing to the screen; `whole` repaints everything, in case another program wrote to
 * it. */
void term_flush(bool whole);
/* cursor shown at y, x; y < 0 hides it. */
void term_cursor(int y, int x);
/* Lends the terminal to another program, from the first call to the second. */
void term_leave(void);
void term_return(void);
/*
 * Asks the terminal to take text into its clipboard; it may refuse silently. False: the text is too
 * long, or neither terminfo nor tmux knows a clipboard.
 */
bool term_clipboard(const char *text, size_t size);
/* Stops this process like ^Z in a shell; returns when it continues. */
void term_suspend(void);
/* Takes the terminal back after SIGCONT. */
void term_continued(void);

#endif
