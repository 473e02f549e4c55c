/* SPDX-License-Identifier: MIT
 *
 * detach.c - `memtop detach PID|TARGET`: removes the agent that `memtop attach` loaded. The verb
 * returns once the last state has arrived and the agent's server has ended: the process then runs
 * as before.
 */
#include "cli/verb.h"

#include "base/sanitize.h"
#include "base/loop.h"

#include <string.h>

#define GREET_MS 10000
#define DETACH_MS 10000 /* the agent itself tries for 3 s */

int cmd_detach(struct loop *loop, struct watch *w, struct err *err)
{
	uint64_t end = now_ns() + DETACH_MS * 1000000ull;
	const char *name = watch_target(w)->text;

	if (watch_detach(w))
		return err_set(err, STATUS_UNREACHED,
			       "%s: the link was lost before the detach; try again", name);
	for (uint64_t now; (now = now_ns()) < end && watch_live(w);) {
		if (model_final(watch_model(w)))
			break;
		loop_once(loop, (int)((end - now) / 1000000) + 1);
	}
	if (model_state(watch_model(w), NULL, NULL) == MTW_DETACHED)
		return 0;
	if (model_final(watch_model(w)))
		return err_set(err, STATUS_UNREACHED,
			       "%s: the program has ended; there is no agent to detach", name);
	return err_set(err, STATUS_UNREACHED, "%s",
		       watch_problem(w)  ? watch_problem(w)
		       : watch_notice(w) ? watch_notice(w)
					 : "detach: the agent does not answer; try again");
}

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
	struct watch_options options = { .wait = false };
	struct target t;
	struct err err = { 0 };
	int rc = -1;

	if (parse(a, &t, &err))
		return args_fail(&err, STATUS_USAGE);
	struct loop *loop = cmd_loop();
	struct watch *w = watch_open(loop, &t, &options, &err);
	if (w && watch_wait_complete(w, GREET_MS, &err) == 0)
		rc = cmd_detach(loop, w, &err);
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

static const char *const synopsis[] = { "detach PID", "detach TARGET", NULL };
static const struct option_spec *const options[] = { &opt_pid, NULL };

const struct verb verb_detach = {
	.name = "detach",
	.synopsis = synopsis,
	.summary = "take the agent out of a process again",
	.details = "The process then runs as before memtop attach: no hook, socket or process of "
		   "the agent is\nleft; its code stays mapped. An agent that was loaded at the "
		   "start (memtop run) cannot be\ntaken out.\n",
	.options = options,
	.run = detach_run,
};
