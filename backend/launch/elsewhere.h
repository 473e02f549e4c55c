/* SPDX-License-Identifier: MIT
 *
 * elsewhere.h - processes with a network namespace, a root or a user namespace of their own, such
 * as a container's. Whoever may trace a process reaches its agent. Main thread only.
 */
#ifndef LAUNCH_ELSEWHERE_H
#define LAUNCH_ELSEWHERE_H

#include "base/base.h"
#include <sys/types.h>

/* Is its namespace ("net", "user", "mnt") another one than memtop's? false, too, where memtop may
 * not look. */
bool elsewhere(pid_t pid, const char *kind);
/* Does an address of the process hold there alone, so that it takes elsewhere_connect()? path: a
 * path, else an abstract name. */
bool elsewhere_holds(pid_t pid, bool path);
/* A non-blocking socket, connected to what listens at the abstract name or path as the process
 * sees it: in its network, or below its root. -errno: -EPERM may not enter, -EAGAIN its queue is
 * full. Blocks for a fork. */
int elsewhere_connect(pid_t pid, const char *name, bool path);

#endif
