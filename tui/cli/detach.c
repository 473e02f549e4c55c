/* SPDX-License-Identifier: MIT
 *
 * detach.c - `memtop detach PID|TARGET`: removes the agent that `memtop attach` loaded. The verb
 * returns once the last state has arrived and the agent's server has ended: the process then runs
 * as before.
 */
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "base/sanitize.h"
#include "base/loop.h"
#include "launch/dormant.h"

#define GREET_MS 10000

/* A bare number is a process: only a process has an agent to remove. */
static int parse(const struct args *a, struct target *t, struct err *err)
{
	if (!a->pid && a->operand_count == 1 && target_parse_pid(a->operands[0], t, NULL) == 0)
		return 0;
	if (args_target(&verb_detach, a, t, err))
		return -1;
	if (t->kind == TARGET_FILE)
		return err_set(err, STATUS_USAGE, "%s: a session file has no agent; name a process",
			       t->text);
	return 0;
}

static int detach_run(const struct args *a)
{
	struct watch_options options = { .command = true, .brief = true };
	struct target t;
	struct err err = { 0 };
	int rc = -1;

	if (parse(a, &t, &err))
		return args_fail(&err, STATUS_USAGE);
	struct loop *loop = cmd_loop();
	struct watch *w = watch_open(loop, &t, &options, &err);
	if (w && watch_wait_complete(w, GREET_MS, &err) == 0)
		rc = cmd_detach(loop, w, &err);
	/* another detach was faster, say */
	if (rc && w && t.kind == TARGET_PID)
		dormant_check(&t, NULL, &err);
	if (rc == 0) {
		const struct program *p = model_program(watch_model(w));
		char shown[256];

		printf("%s: the agent is out%s%s\n", t.text, p ? " of " : "",
		       p ? sanitize_clean(shown, sizeof shown, p->name) : "");
	}
	if (w)
		watch_close(w);
	loop_free(loop);
	return rc ? args_fail(&err, STATUS_UNREACHED) : 0;
}

static const struct option_spec options[] = { OPT_PID, { 0 } };

const struct verb verb_detach = {
	.name = "detach",
	.synopsis = { "detach PID", "detach TARGET" },
	.summary = "take the agent out of a process again",
	.details = "The process then runs as before memtop attach: no hook, socket or process of "
		   "the agent is\nleft; its code stays mapped. An agent that was loaded at the "
		   "start (memtop run) cannot be\ntaken out.\n",
	.options = options,
	.complete = complete_agent_pid,
	.run = detach_run,
};
