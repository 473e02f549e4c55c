/* SPDX-License-Identifier: MIT
 *
 * mark.c - `memtop mark TARGET [NAME]`: sets a mark from a script. The verb returns when the agent
 * has confirmed the mark, and prints its number and name.
 *
 * The agent makes names unique by a suffix, and other viewers may set marks meanwhile. So the verb
 * recognises its mark as the one that is younger than the first totals, and whose set_by is this
 * process's name. It reads none of the stacks: MARK comes before those in each of the agent's
 * turns.
 */
#include "cli/base/options.h"
#include "cli/base/verb.h"

#include "base/sanitize.h"
#include "base/loop.h"

#include <string.h>
#include <unistd.h>

#define CONFIRM_MS 10000

static const struct mark *find_ours(const struct model *m, uint64_t since_ns, const char *who)
{
	for (uint32_t id = model_mark_limit(m); id-- > 1;) {
		const struct mark *k = model_mark(m, id);

		if (k && k->known && k->time_ns > since_ns && !strcmp(k->set_by, who))
			return k;
	}
	return NULL;
}

static int set_mark(struct loop *loop, struct watch *w, const char *name, const char *who)
{
	uint64_t since_ns = model_totals(watch_model(w))->time_ns;
	uint64_t end = now_ns() + CONFIRM_MS * 1000000ull;
	const struct mark *k = NULL;

	if (watch_mark(w, name)) {
		warn("mark: the link was lost before the mark was set; try again");
		return STATUS_UNREACHED;
	}
	for (uint64_t now;
	     !(k = find_ours(watch_model(w), since_ns, who)) && (now = now_ns()) < end;) {
		if (!watch_live(w))
			break;
		loop_once(loop, (int)((end - now) / 1000000) + 1);
	}
	if (!k) {
		warn("mark: the agent did not confirm the mark; memtop report lists the marks");
		return STATUS_UNREACHED;
	}
	char shown[256];
	printf("m%u %s\n", k->id, sanitize_clean(shown, sizeof shown, k->name));
	return 0;
}

/* Operands are TARGET [NAME], or with -p only [NAME]. */
static int parse(const struct args *a, struct target *t, const char **name, struct err *err)
{
	struct args only = *a;
	size_t max = a->pid ? 1 : 2;

	if (a->operand_count > max)
		return err_set(
			err, STATUS_USAGE,
			"%s: only one target and one name can be given; see memtop mark --help",
			a->operands[max]);
	*name = a->operand_count == max ? a->operands[max - 1] : "";
	if (a->operand_count == max)
		only.operand_count--;
	if (args_target(&verb_mark, &only, t, err))
		return -1;
	if (t->kind == TARGET_FILE)
		return err_set(err, STATUS_USAGE,
			       "%s: a session file takes no marks; mark a live target", t->text);
	if (strlen(*name) > MTW_NAME_MAX)
		return err_set(err, STATUS_USAGE,
			       "%s: a mark's name has at most %u bytes; shorten it", *name,
			       MTW_NAME_MAX);
	return 0;
}

static int mark_run(const struct args *a)
{
	char who[40];
	struct watch_options options = { .who = who, .command = true, .brief = true };
	struct target t;
	struct err err = { 0 };
	const char *name = "";

	if (parse(a, &t, &name, &err))
		return args_fail(&err, STATUS_USAGE);
	snprintf(who, sizeof who, "script %d", (int)getpid());
	struct loop *loop = cmd_loop();
	struct watch *w = watch_open(loop, &t, &options, &err);
	int status = STATUS_UNREACHED;

	if (w && watch_wait_complete(w, CONFIRM_MS, &err) == 0)
		status = set_mark(loop, w, name, who);
	else
		status = args_fail(&err, STATUS_UNREACHED);
	if (w)
		watch_close(w);
	loop_free(loop);
	return status;
}

static const struct option_spec options[] = { OPT_PID, { 0 } };

const struct verb verb_mark = {
	.name = "mark",
	.synopsis = { "mark TARGET [NAME]", "mark -p PID [NAME]" },
	.summary = "set a mark in a live target, from a script",
	.details = "Prints the mark's number and name once the agent has set it. A name in use "
		   "gets a\nsuffix; start, peak, end and now are reserved.\n",
	.options = options,
	.complete = complete_target,
	.run = mark_run,
};
