/* SPDX-License-Identifier: MIT
 *
 * cmd_open.c - `memtop open FILE`: the live view on a session file. `--last` takes the newest
 * session that a live view spooled, so that nothing is lost when memtop or the terminal went.
 */
#include "verbs.h"

#include "cmd.h"

#include "spool.h"

#include <limits.h>
#include <string.h>

static int file_target(const char *path, struct target *t, struct err *err)
{
	if (strlen(path) >= sizeof t->name)
		return err_set(err, STATUS_USAGE, "%s: the name is too long; use a shorter path", path);
	*t = (struct target){ .kind = TARGET_FILE };
	snprintf(t->name, sizeof t->name, "%s", path);
	snprintf(t->text, sizeof t->text, "%s", path);
	return 0;
}

static int pick(const struct args *a, struct target *t, struct err *err)
{
	char path[PATH_MAX];

	if (a->operand_count + a->last != 1)
		return err_set(err, STATUS_USAGE,
			       "open: one session file or --last is needed; see memtop open --help");
	if (!a->last)
		return file_target(a->operands[0], t, err);
	if (spool_newest(path, sizeof path, err))
		return -1;
	return file_target(path, t, err);
}

static int open_run(const struct args *a)
{
	struct err err = { 0 };
	struct target t;

	if (pick(a, &t, &err))
		return args_fail(&err, STATUS_USAGE);
	if (!cmd_terminal(&err, STATUS_USAGE, "open", "memtop report FILE"))
		return args_fail(&err, STATUS_USAGE);
	return cmd_view(a, &t);
}

static const char *const synopsis[] = { "open [OPTION...] FILE.mtop", "open [OPTION...] --last", NULL };
static const struct option_spec opt_last = { 0, "last", NULL, "the newest session of a live view",
					     offsetof(struct args, last), false };
static const struct option_spec *const options[] = { &opt_last, &opt_symbols, &opt_sysroot, &opt_theme,
						     &opt_ascii, NULL };

const struct verb verb_open = {
	.name = "open",
	.synopsis = synopsis,
	.summary = "look at a session file as if it were live",
	.details = "A file that was cut off opens up to its last whole block, and says so.\n"
		   "Live views keep their last five sessions in $XDG_STATE_HOME/memtop.\n",
	.options = options,
	.run = open_run,
};
