/* SPDX-License-Identifier: MIT
 *
 * end.c - ends a recording: closes the file and prints one line about its contents.
 */
#include "cli/record/recording.h"

#include "report/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void record_note_exec(struct recording *r)
{
	const char *const *list;
	static const char missing[] = "The program that this one executed is not in this session";

	if (!r->connected || !record_execed(r))
		return;
	for (size_t i = 0, n = watch_warnings(r->watch, &list); i < n; i++)
		if (!strncmp(list[i], missing, sizeof missing - 1))
			return;
	char *text = xasprintf("%s: its agent never answered.", missing);
	watch_note(r->watch, text);
	free(text);
}

static void say_tree(const struct recording *r, const struct processes_sum *all)
{
	char live[REPORT_RANGE];

	warn("%s: %zu processes, %llu allocation%s, %s live at their ends; memtop report %s",
	     r->path, all->lines, (unsigned long long)all->sum.alloc_blocks,
	     format_s(all->sum.alloc_blocks), report_range(live, &all->bytes), r->path);
}

/* The line at the end, where a person reads it or the file's name is ours. */
static void say_result(const struct recording *r)
{
	const struct model *m = watch_model(r->watch);
	const struct tally *sum = &model_totals(m)->sum;
	struct processes_sum all = { 0 };

	if (r->processes)
		processes_total(r->processes, &all);
	if (r->gate || (!r->path_made_up && !isatty(STDERR_FILENO)))
		return;
	if (*r->aside)
		warn("%s: the session that was there is %s now", r->path, r->aside);
	if (all.lines > 1)
		say_tree(r, &all);
	else
		warn("%s: %llu allocation%s, %llu byte%s live in %llu block%s at the end; memtop "
		     "report %s",
		     r->path, (unsigned long long)sum->alloc_blocks, format_s(sum->alloc_blocks),
		     (unsigned long long)live_bytes(sum), format_s(live_bytes(sum)),
		     (unsigned long long)live_blocks(sum), format_s(live_blocks(sum)), r->path);
}

/* The link's sentence names the program already. */
static void say_nothing(const struct recording *r, const char *what)
{
	const char *why = watch_problem(r->watch);
	size_t len = strlen(what);

	if (!why)
		why = "its agent never answered; run it without memtop to compare";
	else if (!strncmp(why, what, len) && !strncmp(why + len, ": ", 2))
		why += len + 2;
	warn("%s: nothing was recorded: %s", what, why);
}

int record_finish(struct recording *r, const char *what)
{
	struct err err = { 0 };
	int lost = r->processes ? processes_end(r->processes, &err) : 0;

	lost = watch_end_record(r->watch, &err) || lost;
	r->output_lost = !record_marks_wait(r);
	if (!r->connected)
		say_nothing(r, what);
	else if (!r->stop && !model_final(watch_model(r->watch)))
		warn("%s: the link broke before the end; %s has everything up to then", what,
		     r->path);
	if (lost) {
		warn("%s", err.text);
		return -1;
	}
	if (r->connected) {
		say_result(r);
		return 0;
	}
	record_remove(r);
	return -1;
}
