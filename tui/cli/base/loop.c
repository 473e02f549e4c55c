/* SPDX-License-Identifier: MIT */
#include "cli/base/loop.h"

#include "cli/base/verbs.h"

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
