/* SPDX-License-Identifier: MIT
 *
 * travel.c - see app/travel.h. The backend plays the session (link/replay.h); here is where to,
 * with which stops, and what the screen needs of both ends: graphs go on to show what is now, so
 * that the cursor has a now to go back to.
 */
#include "app/travel.h"

#include "app/actions.h"
#include "widgets/graph.h"

#include <stdlib.h>
#include <string.h>

#define NS 1000000000ull
#define LOOK_BACK_NS (640 * NS) /* lifetimes are of looks of up to ten minutes */
#define STOPS 64
#define LEAST_STEP_NS (5 * NS)
#define READ_STOPS                                                                                 \
	300 /* of a file: its graph's columns, what libraries held, are of stops, too              \
	     */
#define READ_STEP_NS NS
#define READ_NODES 3000000u /* looked at in all; at least so many stops as without a file */

struct owners *travel_owners(const struct app *a)
{
	return a->travel.graphed ? a->travel.graphed : a->owners;
}

bool travel_under_way(const struct app *a)
{
	return a->travel.to_ns != 0;
}

static void give_up(struct app *a, const char *why)
{
	status_error("%s", why);
	a->time.at_ns = a->travel.wanted_ns = a->travel.to_ns = 0;
	a->travel.looking = false;
	watch_return(a->watch);
	a->travel.home = false;
}

static void next_stop(struct app *a)
{
	struct travel *t = &a->travel;
	uint64_t to = t->stop_ns < t->to_ns ? t->stop_ns : t->to_ns;
	struct err err = { 0 };

	t->stop_ns = to + t->step_ns;
	if (watch_travel(a->watch, to, &err))
		give_up(a, err.text);
}

/* From what is shown when that is on the way, else from the beginning of what is looked back at. */
static void set_out(struct app *a, uint64_t to)
{
	struct travel *t = &a->travel;
	uint64_t shown = watch_instant(a->watch), from = to > LOOK_BACK_NS ? to - LOOK_BACK_NS : 0;

	if (shown && shown <= to && shown >= from)
		from = shown;
	uint64_t stops = STOPS, least = LEAST_STEP_NS;
	if (t->home) {
		uint64_t fit = READ_NODES / (model_dense_count(a->model) + 1);
		from = 0;
		stops = fit > READ_STOPS ? READ_STOPS : fit < STOPS ? STOPS : fit;
		least = READ_STEP_NS;
	}
	uint64_t step = (to - from) / stops;
	t->to_ns = to;
	t->step_ns = step > least ? step : least;
	t->stop_ns = from + (from == shown ? t->step_ns : 0);
	t->looking = false;
	next_stop(a);
}

/* The instant that was recorded last by then; before the first there are points of the graph
 * only. */
static uint64_t recorded(const struct app *a, uint64_t time_ns)
{
	const struct instant *list;
	size_t n = model_instants(watch_now(a->watch), &list),
	       i = model_instant_at(watch_now(a->watch), time_ns);

	return time_ns && n && i != SIZE_MAX ? list[i].time_ns : time_ns;
}

void travel_follow(struct app *a)
{
	struct travel *t = &a->travel;

	if (a->time.at_ns == t->wanted_ns || t->home)
		return; /* a file is read to its end first */
	t->wanted_ns = a->time.at_ns = recorded(a, a->time.at_ns);
	if (t->wanted_ns) {
		set_out(a, t->wanted_ns);
		return;
	}
	t->to_ns = 0;
	t->looking = false;
	watch_return(a->watch);
}

void travel_read(struct app *a)
{
	uint64_t end = model_time(a->model);

	if (end < LEAST_STEP_NS)
		return;
	a->travel.home = true;
	set_out(a, end);
}

/* Letters and graphs follow what is now, rows what is shown. */
static void change_owners(struct app *a)
{
	struct travel *t = &a->travel;
	struct model *now = watch_now(a->watch);

	if (now != a->model && !t->graphed) {
		t->graphed = owners_new(now, a->symbols);
		owners_inherit(t->graphed, a->owners);
		if (t->home)
			owners_forget_history(a->owners);
		else
			query_travel(a->query);
	} else if (now == a->model && t->graphed) {
		if (t->home) { /* what was looked at on the way is what is known */
			t->home = false;
		} else {
			owners_inherit(a->owners, t->graphed);
			query_travel(a->query);
		}
		travel_release(a);
	}
}

void travel_release(struct app *a)
{
	owners_free(a->travel.graphed);
	a->travel.graphed = NULL;
}

static void say_where(struct app *a)
{
	uint64_t shown = watch_instant(a->watch);
	char clock[32];

	if (shown > a->travel.wanted_ns && a->travel.wanted_ns)
		status_error(
			"showing %s: call paths are not recorded before that, only the graph is",
			graph_clock(clock, &a->figures, &a->time, shown));
	else if (shown && shown < a->travel.wanted_ns && *watch_travel_problem(a->watch))
		status_error("showing %s: %s", graph_clock(clock, &a->figures, &a->time, shown),
			     watch_travel_problem(a->watch));
}

/* At a stop: libraries and sites are looked at, in slices when it takes long; then on. */
void travel_go_on(struct app *a)
{
	struct travel *t = &a->travel;
	const struct owner *libraries;
	const struct site *sites;

	if (!t->looking)
		return;
	owners_update(a->owners, &libraries);
	query_sites(a->query, BY_LIVE, false, false, &sites);
	if (query_building(a->query) >= 0)
		return;
	t->looking = false;
	next_stop(a);
}

void travel_arrived(struct app *a)
{
	struct travel *t = &a->travel;
	uint64_t shown;

	change_owners(a);
	shown = watch_instant(a->watch);
	bool on = t->to_ns && watch_travelled(a->watch) == 100;
	if (on && !shown) {
		give_up(a, *watch_travel_problem(a->watch) ? watch_travel_problem(a->watch)
							   : "no earlier instant is recorded");
		return;
	}
	if (on && t->stop_ns < t->to_ns + t->step_ns && !*watch_travel_problem(a->watch)) {
		t->looking = true;
		travel_go_on(a);
		return;
	}
	if (on) {
		say_where(a);
		t->to_ns = 0;
		if (t->home)
			watch_return(a->watch);
	}
	if (!t->to_ns)
		travel_follow(a); /* the cursor moved while a file was read */
}

static bool read_clock(const char *text, uint64_t *ns)
{
	unsigned long part[3] = { 0 };
	char *end = (char *)text;
	int n = 0;

	for (;; end++) {
		if (*end < '0' || *end > '9' || n == 3)
			return false;
		part[n++] = strtoul(end, &end, 10);
		if (*end != ':')
			break;
	}
	bool ms = *end == '.';
	double below = ms ? strtod(end, &end) : 0;
	if (*end || n < 2)
		return false;
	/* As a screen shows it: the instant lies within that millisecond. */
	*ns = (uint64_t)(below * 1e9 + 0.5) + (ms ? 999999 : 0);
	*ns += ((n == 3 ? part[0] * 3600 + part[1] * 60 : part[0] * 60) + part[n - 1]) * NS;
	return true;
}

static bool read_ago(const char *text, uint64_t now, uint64_t *ns)
{
	static const uint64_t worth[] = { 1, 60, 3600 };
	char *end;
	double n = strtod(text + 1, &end);
	const char *letter = *end ? strchr("smh", *end) : "s";

	if (*text != '-' || end == text + 1 || n <= 0 || n > 1e9 || !letter || (*end && end[1]))
		return false;
	double ago = n * (double)worth[*letter == 's' ? 0 : *letter == 'm' ? 1 : 2] * (double)NS;
	*ns = ago < (double)now ? now - (uint64_t)ago : 1;
	return true;
}

int travel_command(struct app *a, const char *text)
{
	uint64_t now = a->figures.time_ns, to = 0;
	struct model *m = watch_now(a->watch);
	int mark = strcmp(text, "now") ? model_mark_find(m, text) : -1;

	if (mark > 0)
		to = model_mark(m, (uint32_t)mark)->time_ns;
	else if (strcmp(text, "now") && !read_clock(text, &to) && !read_ago(text, now, &to))
		return status_error("at: write 0:12:09, -2m, a mark or now");
	a->time.at_ns = strcmp(text, "now") && to < now ? to + !to : 0;
	return 0;
}
