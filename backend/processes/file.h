/* SPDX-License-Identifier: MIT
 *
 * file.h - the table of a process tree in a session file. processes.h has what reads it.
 */
#ifndef PROCESSES_FILE_H
#define PROCESSES_FILE_H

#include "processes/tree_state.h"

void file_write(struct processes *p); /* each second: writes the changes to the first's file */

#endif
