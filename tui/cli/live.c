/* SPDX-License-Identifier: MIT
 *
 * live.c - `memtop TARGET`: the live view of a running agent. `memtop` alone lets the user choose
 * one; -p of a process without an agent offers `memtop attach`.
 */
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "launch/dormant.h"
#include "base/loop.h"

#include <stdio.h>

static int choose(const struct args *a, struct target *t)
{
	struct tui_options tui = cmd_tui_options(a);
	struct loop *loop = cmd_loop();
	int rc = tui_choose(loop, &tui, t);

	loop_free(loop);
	return rc;
}

/* On a terminal. *unreached: the answer was no. */
static bool wants_attach(const struct target *t, bool *unreached)
{
	struct err err = { 0 };
	bool attachable;
	char answer[8] = "";

	*unreached = false;
	if (t->kind != TARGET_PID || !dormant_check(t, &attachable, &err) || !attachable)
		return false;
	args_fail(&err, STATUS_UNREACHED);
	printf("Attach now? [y/N] ");
	fflush(stdout);
	bool yes = fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
	*unreached = !yes;
	return yes;
}

static int live_run(const struct args *a)
{
	struct target t;
	struct err err = { 0 };
	bool chooser = !a->operand_count && !a->pid;

	double max_overhead;

	if (args_of_view(a, &max_overhead, &err))
		return args_fail(&err, STATUS_USAGE);
	if (!chooser && args_target(&verb_live, a, &t, &err))
		return args_fail(&err, STATUS_USAGE);
	if (!cmd_terminal(&err, STATUS_USAGE, "live view",
			  chooser ? "memtop list" : "memtop report or memtop record"))
		return args_fail(&err, STATUS_USAGE);
	if (chooser) {
		int rc = choose(a, &t);

		if (rc <= 0)
			return -rc;
	}
	bool unreached;
	if (wants_attach(&t, &unreached))
		return verb_attach.run(a);
	if (unreached)
		return STATUS_UNREACHED;
	for (;;) {
		int status = cmd_view(a, &t);

		if (status != TUI_SWITCH)
			return status;
		struct target next;
		int rc = choose(a, &next);
		if (rc < 0)
			return -rc;
		t = rc ? next : t; /* nothing chosen: the same target again */
	}
}

static const struct option_spec options[] = {
	OPT_PID,
	OPTS_OF_VIEW,
	OPT_DETACH,
	{ 0 },
};

const struct verb verb_live = {
	.synopsis = { "[OPTION...] TARGET", "[OPTION...]" },
	.summary = "watch an agent live, or look at a session file",
	.options = options,
	.complete = complete_target,
	.run = live_run,
};
