/* SPDX-License-Identifier: MIT
 *
 * open.c - `memtop open FILE`: the live view on a session file. `--last` opens the newest session
 * that a live view spooled, so that nothing is lost when memtop or the terminal dies; `--list`
 * prints them all.
 */
#include "cli/base/options.h"
#include "cli/base/verb.h"
#include "cli/compare/compare.h"
#include "diff/session.h"
#include "base/format.h"
#include "base/listing.h"
#include "base/sanitize.h"
#include "session/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int pick(const struct args *a, struct target *t, struct err *err)
{
	if (a->last)
		return cmd_newest(a, t, err);
	if (a->operand_count != 1)
		return err_set(err, STATUS_USAGE,
			       "open: give one session file or --last; see memtop open --help");
	return cmd_file(a->operands[0], t, err);
}

static void print_session(const struct spooled *s, struct listing *t)
{
	char begun[32] = "?", length[FORMAT_SPAN] = "?", bytes[FORMAT_NUMBER];
	struct session_reader *r = session_open(s->path, SESSION_ALL, NULL);
	struct tm tm;

	if (localtime_r(&s->begun, &tm))
		strftime(begun, sizeof begun, "%Y-%m-%d %H:%M:%S", &tm);
	if (r)
		format_span(length, session_length(r));
	session_reader_free(r);
	format_bytes(bytes, s->bytes);
	listing_row(t);
	listing_put(t, begun);
	sanitize_put(listing_cell(t), s->program, strlen(s->program));
	fprintf(listing_cell(t), "%u", s->pid);
	listing_put(t, length);
	listing_put(t, bytes);
	listing_put(t, s->written ? "written" : s->viewed ? "viewed" : "-");
	listing_put(t, s->path);
}

static int list_sessions(const struct args *a)
{
	static const struct listing_column columns[] = {
		{ "TIME", LISTING_LEFT, 19, 0 }, { "PROGRAM", LISTING_LEFT, 20, 2 },
		{ "PID", LISTING_RIGHT, 8, 1 },  { "LENGTH", LISTING_RIGHT, 10, 1 },
		{ "SIZE", LISTING_RIGHT, 8, 1 }, { "IN USE", LISTING_LEFT, 7, 2 },
		{ "FILE", LISTING_LEFT, 0, 2 },
	};
	struct err err = { 0 };
	struct spooled *list = NULL;

	if (a->operand_count || a->last || a->diff) {
		err_set(&err, STATUS_USAGE, "--list: stands alone; see memtop open --help");
		return args_fail(&err, STATUS_USAGE);
	}
	long n = spool_list(&list, &err);
	if (n < 0)
		return args_fail(&err, STATUS_UNREACHED);
	struct listing *t = n ? listing_new(columns, sizeof columns / sizeof *columns, 0) : NULL;
	for (long i = 0; i < n; i++)
		print_session(&list[i], t);
	if (t)
		listing_end(t, stdout);
	else
		warn("open: no session of a live view is saved; watch a program first: memtop run "
		     "PROG");
	free(list);
	return 0;
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

	if (a->last) {
		err_set(&err, STATUS_USAGE, "--last: not with --diff; name two sessions");
		return args_fail(&err, STATUS_USAGE);
	}
	bool usage = compare_words(&c, a, "open --diff", &err) ||
		     !cmd_terminal(&err, STATUS_USAGE, "open", "memtop diff A B");
	int rc = usage || compare_begin(&c, a, DIFF_LIVE, &err) ? -1
								: view_comparison(a, c.diff, &err);
	if (rc < 0)
		rc = args_fail(&err, usage ? STATUS_USAGE : STATUS_UNREACHED);
	compare_end(&c);
	return rc;
}

static int open_run(const struct args *a)
{
	struct err err = { 0 };
	struct target t;

	if (a->list)
		return list_sessions(a);
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
	OPTION(0, "list", NULL, NULL, list, "print the sessions of live views that are kept",
	       "Of each: when it began, its program and pid, its length and size, whether a view "
	       "writes or shows it, and its file."),
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
	.synopsis = { "open [OPTION...] FILE.mtop", "open [OPTION...] --last [PROGRAM|PID]",
		      "open --list", "open [OPTION...] --diff A B" },
	.summary = "look at a session file as if it were live",
	.details = "A cut file opens up to its last whole block, with a notice. Live views keep "
		   "their last\nsessions (--keep) in $XDG_STATE_HOME/memtop.\n",
	.options = options,
	.complete = complete_file,
	.run = open_run,
};
