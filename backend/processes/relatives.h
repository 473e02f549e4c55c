/* SPDX-License-Identifier: MIT
 *
 * relatives.h - reads /proc for the tree.
 */
#ifndef PROCESSES_RELATIVES_H
#define PROCESSES_RELATIVES_H

#include "processes/tree_state.h"

void relatives_look_near(struct processes *p); /* each second: relatives */
/* each second: finds processes that ended unannounced, and programs whose agent never answered */
void relatives_look_alive(struct processes *p);
/* Its pid here, where the board has that of its own namespace: looks for it below its parent. */
pid_t relatives_pid(const struct processes *p, struct line *l);

/* Its pid in /proc, if it is there and runs; 0. */
pid_t relatives_running_pid(const struct processes *p, struct line *l);

#endif
