/* SPDX-License-Identifier: MIT
 *
 * warn.h - a sentence for the user on stderr.
 */
#ifndef WARN_H
#define WARN_H

#include "base/base.h"

/* "memtop: ..."; never while curses is up */
void warn(const char *format, ...) PRINTF(1, 2);

#endif
