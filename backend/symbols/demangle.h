/* SPDX-License-Identifier: MIT
 *
 * demangle.h - names as people write them. No state; any thread. The caller owns the results.
 */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

/* C++ and Rust names demangled, others copied. */
char *demangle(const char *raw);
/* Of a demangled name: without return type, template arguments and parameters. Never empty. */
char *demangle_short(const char *full);

#endif
