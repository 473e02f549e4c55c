/* SPDX-License-Identifier: MIT
 *
 * between.c - see report/between.h. A window is a pair of marks (memtop/memtop.h); its name is the
 * first one's.
 */
#include "report/between.h"

#include <memtop/memtop.h>
#include <string.h>

int between_parse(const char *text, struct between *b, struct err *err)
{
	const char *dots = strstr(text, "..");
	size_t len = dots ? (size_t)(dots - text) : strlen(text);

	if (!len || len >= sizeof b->from || (dots && !dots[2]))
		return err_set(err, 2,
			       "%s: two marks are needed, or the name of a window; write --between "
			       "m1..m2",
			       text);
	*b = (struct between){ .text = text, .to = dots ? dots + 2 : NULL };
	memcpy(b->from, text, len);
	return 0;
}

int between_mark(const struct model *m, const char *word, uint32_t *id, struct err *err)
{
	int found = !strcmp(word, "now")     ? 0
		    : !strcmp(word, "start") ? 0
					     : model_mark_find(m, word);

	if (found < 0)
		return err_set(err, 2,
			       "%s: no mark has this name or number; memtop report lists the marks",
			       word);
	*id = (uint32_t)found;
	return 0;
}

/* Does a mark end the window of that name? parse-2 may end with parse.end-2, or parse.end. */
static bool ends(const char *mark, const char *window)
{
	const char *number = strrchr(window, '-');
	size_t len = number && number[1] && !number[1 + strspn(number + 1, "0123456789")]
			     ? (size_t)(number - window)
			     : strlen(window),
	       more = strlen(MEMTOP_WINDOW_END);

	return !strncmp(mark, window, len) && !strncmp(mark + len, MEMTOP_WINDOW_END, more) &&
	       (!mark[len + more] || mark[len + more] == '-');
}

static int find_window(const struct model *m, const char *name, struct report_options *o,
		       struct err *err)
{
	const struct mark *from, *to;

	if (between_mark(m, name, &o->from, err))
		return -1;
	from = model_mark(m, o->from);
	for (o->to = o->from + 1; from && o->to < model_mark_limit(m); o->to++) {
		to = model_mark(m, o->to);
		if (to && to->known && !(to->flags & MTW_MARK_DROPPED) &&
		    ends(to->name, from->name))
			return 0;
	}
	return err_set(err, 2,
		       "%s: no mark ends a window of this name; write --between %s..now, or "
		       "--between m1..m2",
		       name, name);
}

int between_find(const struct model *m, const struct between *b, struct report_options *o,
		 struct err *err)
{
	o->window = !b->to;
	if (o->window)
		return find_window(m, b->from, o, err);
	if (between_mark(m, b->from, &o->from, err))
		return -1;
	return between_mark(m, b->to, &o->to, err);
}
