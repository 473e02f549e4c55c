/* SPDX-License-Identifier: MIT
 *
 * unmatched.c - what can be told after the last process alone: names that no process has,
 * suppressions that matched nothing, marks that nobody set.
 */
#include "check/judging.h"

#include "report/between.h"

#include <stdlib.h>
#include <string.h>

/* Such a limit holds whatever the program does: a function was renamed, or a name misspelt. */
static void judge_names(struct check *c)
{
	for (size_t i = 0; i < c->options.limit_count; i++) {
		const struct limit *l = &c->options.limits[i];

		if (c->named[i] || l->covers == COVERS_ALL || l->optional)
			continue;
		char *name = xasprintf("--%s %s", limit_option(l->kind), l->text);
		char *why = xasprintf("no process has %s %s; write %s?=... where it may be missing",
				      l->covers == COVERS_LIBRARY ? "a library of the name"
								  : "a stack through a function",
				      strchr(l->where, ':') + 1, l->where);
		if (!c->process_count)
			check_add_process(c, "session", 0, "");
		check_error(c, 0, l->kind, name, why);
		free(name);
		free(why);
	}
}

#define UNUSED_SHOWN 8u

static void add_unused(char **list, size_t *count, const char *name, const char *place)
{
	if ((*count)++ >= UNUSED_SHOWN)
		return;
	char *longer = xasprintf("%s%s%s%s%s%s", *list ? *list : "", *list ? ", " : "", name,
				 place ? " (" : "", place ? place : "", place ? ")" : "");
	free(*list);
	*list = longer;
}

/* A misspelt one, or one of a leak that is mended. */
static void note_unused(struct check *c)
{
	const struct suppressions *s = c->options.suppressions;
	const struct expected_rule *own;
	char *list = NULL, *text = NULL;
	size_t count = 0, n = s ? expected_rules(suppressions_own(s), &own) : 0;

	for (size_t i = 0; i < n; i++)
		if (own[i].on && !c->used_own[i])
			add_unused(&list, &count, own[i].text, NULL);
	for (size_t i = 0; s && i < suppressions_count(s); i++)
		if (!c->used[i])
			add_unused(&list, &count, suppressions_name(s, i),
				   suppressions_place(s, i));
	if (count > UNUSED_SHOWN)
		text = xasprintf("Suppressions that matched nothing: %s, and %zu more.", list,
				 count - UNUSED_SHOWN);
	else if (count)
		text = xasprintf("Suppressions that matched nothing: %s.", list);
	if (text)
		check_note(c, text);
	free(text);
	free(list);
}

int check_end(struct check *c, struct err *err)
{
	note_unused(c);
	judge_names(c);
	growing_end(c);
	if (!c->options.between || c->marks_found)
		return 0;
	return err_set(err, 2, "--between %s: no process has %s; memtop report lists the marks",
		       c->options.between->text,
		       c->options.between->to ? "both marks" : "a window of this name");
}
