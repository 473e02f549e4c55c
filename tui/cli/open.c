/* SPDX-License-Identifier: MIT
 *
 * open.c - `memtop open FILE`: the live view on a session file. `--last` opens the newest session
 * that a live view spooled, so that nothing is lost when memtop or the terminal dies.
 */
#include "cli/base/options.h"
#include "cli/base/verb.h"
#include "cli/compare/compare.h"
#include "diff/session.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int pick(const struct args *a, struct target *t, struct err *err)
{
	if (a->operand_count + a->last != 1)
		return err_set(err, STATUS_USAGE,
			       "open: give one session file or --last; see memtop open --help");
	return a->last ? cmd_newest(t, err) : cmd_file(a->operands[0], t, err);
}

/* The diff as a session in a file without a name, which ends with memtop. */
static int view_comparison(const struct args *a, const struct diff *d, struct err *err)
{
	struct diff_tree tree;
	struct target t;
	char path[64];
	int fd = memfd_create("memtop-diff", MFD_CLOEXEC);

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd < 0)
		return err_set(err, STATUS_UNREACHED,
			       "open --diff: no room for it: %s; use memtop diff", strerror(errno));
	diff_tree_make(&tree, d, true);
	int rc = diff_write_session(&tree, path, err) || cmd_file(path, &t, err)
			 ? -1
			 : cmd_view_diff(a, &t, &tree);
	diff_tree_release(&tree);
	close(fd);
	return rc;
}

static int open_diff(const struct args *a)
{
	struct err err = { 0 };
	struct comparison c;

	if (a->last ? err_set(&err, STATUS_USAGE, "--last: not with --diff; name two sessions")
		    : compare_check(a, "open --diff", &err))
		return args_fail(&err, STATUS_USAGE);
	if (!cmd_terminal(&err, STATUS_USAGE, "open", "memtop diff A B"))
		return args_fail(&err, STATUS_USAGE);
	int rc = compare_begin(&c, a, DIFF_LIVE, &err);
	if (!rc)
		rc = view_comparison(a, c.diff, &err);
	if (rc < 0)
		rc = args_fail(&err, STATUS_UNREACHED);
	compare_end(&c);
	return rc;
}

static int open_run(const struct args *a)
{
	struct err err = { 0 };
	struct target t;

	if (a->diff)
		return open_diff(a);
	if (pick(a, &t, &err))
		return args_fail(&err, STATUS_USAGE);
	if (!cmd_terminal(&err, STATUS_USAGE, "open", "memtop report FILE"))
		return args_fail(&err, STATUS_USAGE);
	return cmd_view(a, &t);
}

static const struct option_spec options[] = {
	OPT_LAST,
	OPTION(0, "diff", NULL, NULL, diff,
	       "what changed from A to B, as memtop diff compares them", NULL),
	OPT_PROCESS,
	OPT_SYMBOLS,
	OPT_SYSROOT,
	OPT_THEME,
	OPT_ASCII,
	OPT_SUPPRESS,
	{ 0 }
};

const struct verb verb_open = {
	.name = "open",
	.synopsis = { "open [OPTION...] FILE.mtop", "open [OPTION...] --last",
		      "open [OPTION...] --diff A B" },
	.summary = "look at a session file as if it were live",
	.details = "A cut file opens up to its last whole block, with a notice. Live views keep "
		   "their last\nfive sessions in $XDG_STATE_HOME/memtop.\n",
	.options = options,
	.complete = complete_file,
	.run = open_run,
};
