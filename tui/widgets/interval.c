/* SPDX-License-Identifier: MIT */
#include "widgets/interval.h"

#include "widgets/list_view.h"
#include "widgets/status.h"

#include <string.h>

void interval_mark_name(const struct model *model, uint32_t mark, char *out, size_t size)
{
	const struct mark *m = mark ? model_mark(model, mark) : NULL;
	char number[16];

	snprintf(number, sizeof number, "m%u", mark);
	if (!mark)
		snprintf(out, size, "start");
	else if (m && m->name[0] && strcmp(m->name, number)) /* else the name is only its number */
		snprintf(out, size, "%s %s", number, m->name);
	else
		snprintf(out, size, "%s", number);
}

static void name_of(const struct model *m, bool brief, uint32_t from, uint32_t to, char *out,
		    size_t size)
{
	char one[128], two[128];

	interval_mark_name(m, from, one, sizeof one);
	interval_mark_name(m, to, two, sizeof two);
	if (brief && from)
		snprintf(one, sizeof one, "m%u", from);
	if (brief)
		snprintf(two, sizeof two, "m%u", to);
	if (model_of_sessions(m))
		snprintf(out, size, "from A to B");
	else if (to)
		snprintf(out, size, "%s .. %s", one, two);
	else
		snprintf(out, size, "since %s", one);
}

void interval_name(const struct model *m, bool brief, char *out, size_t size)
{
	name_of(m, brief, model_base(m), model_until(m), out, size);
}

unsigned interval_set(struct model *m, uint32_t from, uint32_t to)
{
	char name[320], one[128], two[128];

	interval_mark_name(m, from, one, sizeof one);
	interval_mark_name(m, to, two, sizeof two);
	if (model_set_interval(m, from, to)) {
		status_error("%s%s%s: no diff: a mark kept only its totals", one, to ? " .. " : "",
			     to ? two : "");
		return VIEW_DRAW;
	}
	name_of(m, false, from, to, name, sizeof name);
	if (to)
		status_say("d: back to now.  BORN, GONE, NET from %s", name);
	else if (from)
		status_say("d again: off.  BORN, GONE, NET %s", name);
	else
		status_say("diff off: showing what is live now");
	return VIEW_RESORT;
}
