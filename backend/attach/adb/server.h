/* SPDX-License-Identifier: MIT
 *
 * server.h - the agent's server is no process to watch, and has its program's name.
 */
#ifndef ATTACH_ADB_SERVER_H
#define ATTACH_ADB_SERVER_H

#include "attach/adb/adb.h"

/* The first process of that name, agents' servers excluded; 0 = none; -1 and *err. */
int adb_pidof(const struct adb *a, const char *name, struct err *err);
/* -1 and *err, which names its program: pid is an agent's server. 0: it is not, or seems not to
 * be. */
int adb_refuse_server(const struct adb *a, int pid, struct err *err);

#endif
