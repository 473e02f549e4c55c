/* SPDX-License-Identifier: MIT
 *
 * adb.h - the table of debuggable processes of `memtop adb`, and the choice from it. Main thread.
 */
#ifndef ADB_LIST_H
#define ADB_LIST_H

#include "attach/adb/app.h"

/* The table on stdout, of a->serial's device or of all; what is wrong with a device is a line on
 * stderr. An exit status. */
int adb_list(const struct adb *a);
/*
 * The table with numbers, and one that is typed: 1 and a->serial, *p filled; 0: none was chosen; -1
 * and *err.
 */
int adb_ask(struct adb *a, struct adb_process *p, struct err *err);

#endif
