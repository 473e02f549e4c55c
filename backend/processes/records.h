/* SPDX-License-Identifier: MIT
 *
 * records.h - turns records of the board into lines.
 */
#ifndef PROCESSES_RECORDS_H
#define PROCESSES_RECORDS_H

#include "processes/tree_state.h"

void records_read(struct processes *p, bool all);   /* all: running ones' figures, too */
enum process_state records_end_state(uint32_t end); /* enum board_end */
const char *records_why_not(uint32_t why);          /* enum board_why; "" = followed */

#endif
