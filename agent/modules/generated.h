/* SPDX-License-Identifier: MIT
 *
 * generated.h - memory outside modules that may hold running code.
 */
#ifndef MT_MODULES_GENERATED_H
#define MT_MODULES_GENERATED_H

#include "base/types.h"

enum runs { RUNS_UNKNOWN, RUNS_YES, RUNS_NOT };

/* At the server's last look: was addr executable? UNKNOWN: not mapped then, or no look yet. Any
 * thread. */
enum runs mt_generated_runs(uintptr_t addr);
void mt_generated_look(void); /* reads /proc/self/maps. Server thread */

#endif
