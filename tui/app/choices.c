/* SPDX-License-Identifier: MIT */
#include "app/app.h"
#include "screen/term.h"

#include <string.h>

int choices_theme(struct app *a, const char *name)
{
	struct err err = { 0 };
	struct theme t;

	if (theme_load(name, &t, &err))
		return status_error("%s", err.text);
	a->choices.theme = t;
	theme_use(&t);
	if (err.text[0])
		return status_error("%s", err.text);
	status_say("theme: %s", t.name);
	return 0;
}

unsigned choices_next_theme(struct app *a)
{
	const char *const *names;
	size_t n = theme_names(&names), at = 0;

	if (n == 0) {
		status_error("no theme files found");
		return VIEW_DRAW;
	}
	while (at < n && strcmp(names[at], a->choices.theme.name))
		at++;
	choices_theme(a, names[at < n ? (at + 1) % n : 0]);
	return VIEW_DRAW;
}

void choices_units(enum units u)
{
	static const char *const words[UNITS_COUNT] = { "K, M or G", "M (MiB)", "bytes" };

	text_set_units(u);
	status_say("sizes: %s", words[u]);
}

unsigned choices_direct(struct app *a, bool on)
{
	asker_settle(a);
	owners_direct(a->ui.shown.owners, on);
	owners_direct(travel_owners(&a->front.travel, &a->ui.shown), on);
	status_say(on ? "libraries by direct caller of the allocator"
		      : "libraries by owner: libc, libstdc++ and other wrappers skipped");
	return VIEW_RESORT;
}

unsigned choices_mouse(struct app *a)
{
	a->choices.mouse = !a->choices.mouse;
	term_mouse(a->choices.mouse);
	status_say(a->choices.mouse ? "mouse on: a click selects, a second click opens; "
				      "Shift+mouse selects text"
				    : "mouse off: the terminal selects text");
	return VIEW_DRAW;
}
