/* SPDX-License-Identifier: MIT
 *
 * owns.h - each library of libs/ allocates through wrappers of libc and libstdc++, keeps
 * everything, and returns the bytes that it must therefore own.
 */
#ifndef OWNS_H
#define OWNS_H

#include <cstddef>

extern "C" std::size_t allocate(void);

#endif
