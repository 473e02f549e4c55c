/* SPDX-License-Identifier: MIT
 *
 * commands.h - carries out the requests in viewers' frames. Server thread.
 */
#ifndef MT_SERVER_COMMANDS_H
#define MT_SERVER_COMMANDS_H

#include "base/types.h"
#include "collect/options.h"

#include <memtop/wire.h>

#pragma GCC visibility push(hidden)

struct server;
struct viewer;
struct mtw_in;

/* false = malformed */
bool command_run(struct server *s, struct viewer *v, uint64_t type, struct mtw_in *in);
void command_options(struct options *options); /* those in force at the start */
/* Each pass: when the agent's memory gets short, lets recursion be folded, and tells viewers. */
void command_fold(struct server *s);

#pragma GCC visibility pop

#endif
