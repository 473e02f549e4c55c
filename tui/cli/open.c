/* SPDX-License-Identifier: MIT
 *
 * open.c - `memtop open FILE`: the live view on a session file. `--last` opens the newest session
 * that a live view spooled, so that nothing is lost when memtop or the terminal dies.
 */
#include "cli/base/verbs.h"

#include "cli/base/verb.h"

static int pick(const struct args *a, struct target *t, struct err *err)
{
	if (a->operand_count + a->last != 1)
		return err_set(err, STATUS_USAGE,
			       "open: give one session file or --last; see memtop open --help");
	return a->last ? cmd_newest(t, err) : cmd_file(a->operands[0], t, err);
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

static const char *const synopsis[] = { "open [OPTION...] FILE.mtop", "open [OPTION...] --last",
					NULL };
static const struct option_spec *const options[] = { &opt_last,     &opt_process, &opt_symbols,
						     &opt_sysroot,  &opt_theme,   &opt_ascii,
						     &opt_suppress, NULL };

const struct verb verb_open = {
	.name = "open",
	.synopsis = synopsis,
	.summary = "look at a session file as if it were live",
	.details = "A cut file opens up to its last whole block, with a notice. Live views keep "
		   "their last\nfive sessions in $XDG_STATE_HOME/memtop.\n",
	.options = options,
	.run = open_run,
};
