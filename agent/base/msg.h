/* SPDX-License-Identifier: MIT
 *
 * msg.h - the one line that says why there is no session: kept for memtop, and written to stderr at
 * start-up only. Also formats text without libc. Nothing here allocates.
 */
#ifndef MT_BASE_MSG_H
#define MT_BASE_MSG_H

#include "base/compiler.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

void mt_msg(const char *format, ...) MT_PRINTF(1, 2);
/* kept for memtop to read, and not written to stderr */
void mt_msg_keep(const char *format, ...) MT_PRINTF(1, 2);
void mt_msg_quiet(void);           /* start-up is over: stderr is the program's alone */
void mt_msg_forget(void);          /* there is a session */
uintptr_t mt_hex(const char **at); /* reads a hexadecimal number and moves *at past it */
size_t mt_format(char *buf, size_t size, const char *format, ...) MT_PRINTF(3, 4);
size_t mt_vformat(char *buf, size_t size, const char *format, va_list ap);

#pragma GCC visibility pop

#endif
