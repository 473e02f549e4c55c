/* SPDX-License-Identifier: MIT
 *
 * plain.h - names as two builds of one program share them. No state; any thread. The caller owns
 * the results.
 */
#ifndef DIFF_PLAIN_H
#define DIFF_PLAIN_H

#include <stdint.h>

/* Without a compiler's marks of clones (.isra.0, .constprop.1, .part.2, .cold, .llvm.123,
 * [clone .x]) and without Rust's hash. */
char *plain_function(const char *full);
/* "libtile.so" of libtile.so.2.1; one word for every main program, and one for the agent. flags:
 * MTW_MODULE_*. */
char *plain_module(const char *name, uint32_t flags);

#endif
