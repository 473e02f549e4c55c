/* SPDX-License-Identifier: MIT
 *
 * thin.h - the thinner copy of a session (session/session.h has the rule): a new file; any thread,
 * a child after a fork.
 */
#ifndef LINK_THIN_THIN_H
#define LINK_THIN_THIN_H

#include "base/base.h"

/* Writes the blocks in the first `bytes` of a session file to another one, thinned. Into kept go,
 * for each stream, u64 stream, u64 n and n x u64: the ticks of its last program that are left.
 * Returns 0 or an errno. */
int thin_file(const char *from, uint64_t bytes, const char *to, int kept);

#endif
