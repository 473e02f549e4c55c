/* SPDX-License-Identifier: MIT */
#include "link/goto_instant.h"

#include "link/when.h"

#include <string.h>

enum { USAGE = 2, UNREACHED = 3 };

static int travel(struct watch *w, const char *when, uint64_t to, struct err *err)
{
	struct err why;

	if (watch_travel(w, to + !to, true, &why))
		return err_set(err, UNREACHED, "%s: %s", when, why.text);
	if (!watch_instant(w))
		return err_set(err, UNREACHED, "%s: %s", when,
			       *watch_travel_problem(w) ? watch_travel_problem(w)
							: "no earlier instant is recorded");
	return 0;
}

int goto_instant(struct watch *w, const char *when, struct err *err)
{
	const struct model *m = watch_now(w);
	uint64_t now = model_time(m), to;
	int mark = model_mark_find(m, when);

	if (!when_read(m, now, when, &to))
		return err_set(err, USAGE, "%s: no such instant; write " WHEN_WORDS, when);
	if (mark > 0 && !model_mark_says(m, (uint32_t)mark))
		return err_set(err, USAGE,
			       "%s: this mark kept only its totals, not its stacks; name an "
			       "instant instead, or raise mark_memory=",
			       model_mark(m, (uint32_t)mark)->name);
	if (mark <= 0 && !when_lies_in(now, when, to, err))
		return -1;
	return mark > 0 || to < now ? travel(w, when, to, err) : 0;
}

int goto_end(struct watch *w, const char *word, unsigned end, struct err *err)
{
	const struct model *m = watch_now(w);
	uint64_t now = model_time(m), shown = watch_instant(w), to;

	if (!strcmp(word, "start") || !strcmp(word, "now") || model_mark_find(m, word) > 0 ||
	    !when_read(m, now, word, &to))
		return 0;
	if (!when_lies_in(now, word, to, err))
		return -1;
	if (to < now && travel(w, word, to, err))
		return -1;
	int rc = model_pin(watch_model(w), end, watch_model(w), word, err) == NO_ID ? -1 : 0;
	watch_return(w);
	return rc || (shown && travel(w, word, shown, err)) ? -1 : 0;
}
