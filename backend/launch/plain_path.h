/* SPDX-License-Identifier: MIT
 *
 * plain_path.h - a path of the agent that LD_PRELOAD can hold. Main thread only.
 */
#ifndef LAUNCH_PLAIN_PATH_H
#define LAUNCH_PLAIN_PATH_H

#include "base/base.h"

/* Writes into `path`, for the agent's absolute path, a path without spaces: the same one, or one
 * through a link in a new folder, whose name goes into `folder` ("" = none was needed). -1: no
 * place for a link. Removes folders that earlier memtops left. */
int plain_path(const char *agent, char *path, size_t size, char *folder, size_t folder_size,
	       struct err *err);
/* Removes the folder of plain_path(), "" = none, unless a process that started at or after since_ns
 * (CLOCK_MONOTONIC) may have the agent: the programs that it executes need the link. A later
 * plain_path() looks again. */
void plain_path_release(const char *folder, uint64_t since_ns);

#endif
