/* SPDX-License-Identifier: MIT
 *
 * between.c - see report/between.h. A window is a pair of marks (memtop/memtop.h); its name is the
 * first one's.
 */
#include "report/between.h"

#include "link/goto_instant.h"

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
	bool ends = !strcmp(word, "now") || !strcmp(word, "start");

	*id = ends ? 0 : model_end_find(m, word);
	/* no mark: an end that was made before --at */
	if (*id != NO_ID && *id >= MTW_MARKS_MAX && model_mark(m, *id)->time_ns > model_time(m))
		return err_set(
			err, 2,
			"%s: lies after the instant that is shown, %.1f s; name an earlier one",
			word, (double)model_time(m) / 1e9);
	if (*id != NO_ID)
		return 0;
	return err_set(err, 2,
		       "%s: no mark has this name or number, and it is no instant; memtop report "
		       "lists the marks",
		       word);
}

int between_end(struct watch *w, const char *word, unsigned end, uint32_t *id, struct err *err)
{
	return goto_end(w, word, end, err) ? -1 : between_mark(watch_model(w), word, id, err);
}

int between_go(struct watch *w, const struct between *b, struct err *err)
{
	return b->to && (goto_end(w, b->from, 0, err) || goto_end(w, b->to, 1, err)) ? -1 : 0;
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

/* NULL = the agent does not have it (any more) */
static const struct mark *kept_mark(const struct model *m, uint32_t id)
{
	const struct mark *k = model_mark(m, id);

	return k && k->known && !(k->flags & MTW_MARK_DROPPED) ? k : NULL;
}

static int find_end(const struct model *m, struct report_options *o, struct err *err)
{
	const struct mark *from = model_mark(m, o->from), *to;

	for (o->to = o->from + 1; from && o->to < model_mark_limit(m); o->to++)
		if ((to = kept_mark(m, o->to)) && ends(to->name, from->name))
			return 0;
	return err_set(err, 2,
		       "%s: no mark ends a window of this name; write --between %s..now, or "
		       "--between m1..m2",
		       from ? from->name : "start", from ? from->name : "start");
}

static int find_window(const struct model *m, const char *name, struct report_options *o,
		       struct err *err)
{
	return between_mark(m, name, &o->from, err) || find_end(m, o, err) ? -1 : 0;
}

/* Is it "parse", or "parse-7", which the agent makes of a name that is taken? */
static bool is_turn(const char *mark, const char *name)
{
	size_t len = strlen(name);
	const char *number = mark + len + 1;

	if (strncmp(mark, name, len))
		return false;
	return !mark[len] || (mark[len] == '-' && *number && !number[strspn(number, "0123456789")]);
}

uint32_t between_next_window(const struct model *m, const char *name, uint32_t after)
{
	const struct mark *k;
	uint32_t named;
	struct err none;

	for (uint32_t id = after + 1; id < model_mark_limit(m); id++)
		if ((k = kept_mark(m, id)) && is_turn(k->name, name))
			return id;
	/* "m3" */
	return !after && !between_mark(m, name, &named, &none) ? named : 0;
}

int between_window(const struct model *m, uint32_t id, struct report_options *o, struct err *err)
{
	o->window = true;
	o->from = id;
	return find_end(m, o, err);
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
