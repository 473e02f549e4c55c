/* SPDX-License-Identifier: MIT
 *
 * terminal.h - a pseudo-terminal between a program and the terminal that shows its output.
 *
 * The program still reads its keys from the terminal itself. But programs that draw a screen
 * (ncurses) switch the terminal to single keys through their output. So a change of the
 * pseudo-terminal's modes is made to the terminal, too, and its size follows the terminal's.
 */
#ifndef LAUNCH_TERMINAL_H
#define LAUNCH_TERMINAL_H

#include <stddef.h>
#include <sys/types.h>

/* Of the size and modes of `to`. ends[1] is the program's; its own side changes no byte. 0, or
 * -1. */
int terminal_open(int to, int ends[2]);
/* In the process that copies: from terminal_open()'s ends[0] to `to`, until the process ends. */
void terminal_follow(int from, int to);
/* As read(), from ends[0]; *bytes 0: only the modes have changed. */
ssize_t terminal_read(char *bytes, size_t size, size_t *len);

#endif
