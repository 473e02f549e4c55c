/* SPDX-License-Identifier: MIT
 *
 * loop.h - the event loop of a verb. Main thread.
 */
#ifndef CLI_LOOP_H
#define CLI_LOOP_H

#include "base/loop.h"

/* Never NULL: on failure memtop ends with status 125. */
struct loop *cmd_loop(void);

#endif
