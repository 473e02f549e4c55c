/* SPDX-License-Identifier: MIT
 *
 * demangle.h - names as people write them (short ones: base/name.h). No state; any thread. The
 * caller owns the results.
 */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

/* C++ and Rust names demangled, others copied. */
char *demangle(const char *raw);

#endif
