/* SPDX-License-Identifier: MIT
 *
 * loop.c - see cli/loop.h.
 */
#include "cli/loop.h"

#include "cli/verbs.h"

#include <stdlib.h>

struct loop *cmd_loop(void)
{
	struct err err;
	struct loop *l = loop_new(&err);

	if (l)
		return l;
	warn("%s", err.text);
	exit(STATUS_OURS);
}
