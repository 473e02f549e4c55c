/* SPDX-License-Identifier: MIT
 *
 * commands.h - sends a viewer's commands as frames. Main thread only. Each function returns 0, or
 * -1 when the command cannot be sent; the effect arrives as frames.
 */
#ifndef LINK_COMMANDS_H
#define LINK_COMMANDS_H

#include "link/conn.h"

int command_mark(struct conn *c, const char *name);
int command_drop_mark(struct conn *c, uint32_t id);
int command_rename_mark(struct conn *c, uint32_t id, const char *name);
int command_set_option(struct conn *c, const char *name, const char *value);
int command_detach(struct conn *c); /* unloads the agent from the process */
/* sorted slots */
int command_scan(struct conn *c, uint64_t request, enum mtw_kind kind, const uint32_t *slots,
		 size_t count);

#endif
