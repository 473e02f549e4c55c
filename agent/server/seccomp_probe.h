/* SPDX-License-Identifier: MIT
 *
 * seccomp_probe.h - tests whether a seccomp filter would end the server. The target's threads.
 */
#ifndef MT_SERVER_SECCOMP_PROBE_H
#define MT_SERVER_SECCOMP_PROBE_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

/* Sets *changes_kill, false before: a filter kills only for a change of user. */
bool seccomp_probe_kills(bool *changes_kill);

#pragma GCC visibility pop

#endif
