/* SPDX-License-Identifier: MIT
 *
 * adb.h - the table of debuggable processes of `memtop adb`, and the choice from it. Main thread.
 */
#ifndef ADB_LIST_H
#define ADB_LIST_H

#include "attach/adb/app.h"

/* Prints the table, of a->serial's device or of all; an error of a device is a line on stderr.
 * Returns an exit status. */
int adb_list(const struct adb *a);
/*
 * Prints the table with numbers and reads a choice: 1 and a->serial, *p filled; 0: no choice; -1
 * and *err.
 */
int adb_ask(struct adb *a, struct adb_process *p, struct err *err);

#endif
