/* SPDX-License-Identifier: MIT
 *
 * travel.c - see app/travel.h. The backend plays the session (link/replay.h); this file decides
 * where to and with which stops. Graphs still show the present, so that the cursor can return to
 * it.
 */
#include "app/travel.h"

#include "app/actions.h"
#include "link/when.h"
#include "model/columns.h"
#include "widgets/graph.h"

#include <string.h>

#define NS 1000000000ull
#define LOOK_BACK_NS (640 * NS) /* lifetimes are of looks of up to ten minutes */
#define STOPS 64
#define STOPS_LEAST 6 /* of a program with so many call paths that a stop takes long */
#define LEAST_STEP_NS (5 * NS)
/* Of a file: what libraries held is known at the stops, one per column of the graph. */
#define READ_STOPS 300
#define READ_STEP_NS NS
#define READ_NODES 3000000u /* at all stops together; a file's reading has STOPS at least */

struct owners *travel_owners(const struct travel *t, const struct shown *of)
{
	return t->graphed ? t->graphed : of->owners;
}

bool travel_under_way(const struct travel *t)
{
	return t->to_ns != 0;
}

static void give_up(struct travel *t, struct shown *of, const char *why)
{
	status_error("%s", why);
	of->time.at_ns = t->wanted_ns = t->to_ns = 0;
	query_pass(of->query, false);
	watch_return(of->watch);
	t->home = false;
}

static void next_stop(struct travel *t, struct shown *of)
{
	uint64_t to = t->stop_ns < t->to_ns ? t->stop_ns : t->to_ns;
	struct err err = { 0 };

	t->stop_ns = to + t->step_ns;
	query_pass(of->query, t->home || to < t->to_ns);
	if (watch_travel(of->watch, to, false, &err))
		give_up(t, of, err.text);
}

/* Starts at the shown instant when that lies on the way, else LOOK_BACK_NS before the target. */
static void set_out(struct travel *t, struct shown *of, uint64_t to)
{
	uint64_t shown = watch_instant(of->watch), from = to > LOOK_BACK_NS ? to - LOOK_BACK_NS : 0;

	if (shown && shown <= to && shown >= from)
		from = shown;
	uint64_t fit = READ_NODES / (model_heap(of->model)->skeleton->nodes + 1),
		 least = LEAST_STEP_NS;
	uint64_t stops = fit > STOPS ? STOPS : fit < STOPS_LEAST ? STOPS_LEAST : fit;
	if (t->home) {
		from = 0;
		stops = fit > READ_STOPS ? READ_STOPS : fit < STOPS ? STOPS : fit;
		least = READ_STEP_NS;
	}
	uint64_t step = (to - from) / stops;
	t->to_ns = to;
	t->step_ns = step > least ? step : least;
	t->stop_ns = from + (from == shown ? t->step_ns : 0);
	next_stop(t, of);
}

/* The last instant recorded by then, unless the heap of that time is kept; before the first the
 * graph has only its points. */
static uint64_t recorded(const struct shown *of, uint64_t time_ns)
{
	const struct instant *list;
	size_t n = model_instants(watch_now(of->watch), &list),
	       i = model_instant_at(watch_now(of->watch), time_ns);

	if (model_kept_at(watch_now(of->watch), time_ns) != NO_ID)
		return time_ns;
	return time_ns && n && i != SIZE_MAX ? list[i].time_ns : time_ns;
}

/* Somebody wants to see an instant now: the file is read again once the present is shown. */
static void stop_reading(struct travel *t, struct shown *of)
{
	t->home = false;
	t->unread = true;
	query_travel(of->query);
}

void travel_follow(struct travel *t, struct shown *of)
{
	if (of->time.at_ns == t->wanted_ns)
		return;
	if (t->home)
		stop_reading(t, of);
	t->wanted_ns = of->time.at_ns = recorded(of, of->time.at_ns);
	if (t->wanted_ns) {
		set_out(t, of, t->wanted_ns);
		return;
	}
	t->to_ns = 0;
	query_pass(of->query, false);
	watch_return(of->watch);
}

void travel_read(struct travel *t, struct shown *of)
{
	uint64_t end = model_time(of->model);

	if (end < LEAST_STEP_NS)
		return;
	t->home = true;
	t->unread = false;
	set_out(t, of, end);
}

/* Letters and graphs follow the present, rows the shown instant. */
static void change_owners(struct travel *t, struct shown *of)
{
	struct model *now = watch_now(of->watch);

	if (now != of->model && !t->graphed) {
		t->graphed = owners_new(now, of->symbols);
		owners_inherit(t->graphed, of->owners);
		if (t->home)
			owners_forget_history(of->owners);
		else
			query_travel(of->query);
	} else if (now == of->model && t->graphed) {
		if (t->home) { /* the replay collected the history on its way */
			t->home = false;
		} else {
			owners_inherit(of->owners, t->graphed);
			query_travel(of->query);
		}
		travel_release(t);
	}
}

void travel_release(struct travel *t)
{
	owners_free(t->graphed);
	t->graphed = NULL;
}

static void say_where(struct travel *t, struct shown *of)
{
	uint64_t shown = watch_instant(of->watch);
	char clock[32];

	if (shown > t->wanted_ns && t->wanted_ns)
		status_error(
			"showing %s: call paths are not recorded before that, only the graph is",
			graph_clock(clock, &of->figures, &of->time, shown));
	else if (shown && shown < t->wanted_ns && *watch_travel_problem(of->watch))
		status_error("showing %s: %s", graph_clock(clock, &of->figures, &of->time, shown),
			     watch_travel_problem(of->watch));
}

/* At a stop: samples libraries and sites, then goes on. */
static void look(struct travel *t, struct shown *of)
{
	const struct owner *libraries;
	const struct site *sites;

	owners_update(of->owners, &libraries);
	query_sites(of->query, BY_LIVE, false, false, &sites);
	next_stop(t, of);
}

void travel_arrived(struct travel *t, struct shown *of)
{
	uint64_t shown;

	change_owners(t, of);
	shown = watch_instant(of->watch);
	bool on = t->to_ns && watch_travelled(of->watch) == 100;
	if (on && !shown) {
		give_up(t, of,
			*watch_travel_problem(of->watch) ? watch_travel_problem(of->watch)
							 : "no earlier instant is recorded");
		return;
	}
	if (on && t->stop_ns < t->to_ns + t->step_ns && !*watch_travel_problem(of->watch)) {
		look(t, of);
		return;
	}
	if (on) {
		say_where(t, of);
		t->to_ns = 0;
		query_pass(of->query, false);
		if (t->home)
			watch_return(of->watch);
	}
}

void travel_read_on(struct travel *t, struct shown *of)
{
	if (t->unread && !t->to_ns && !watch_instant(of->watch) && !of->time.at_ns)
		travel_read(t, of);
}

int travel_command(struct shown *of, const char *text)
{
	uint64_t now = of->figures.time_ns, to;
	struct err err;

	if (!when_read(watch_now(of->watch), now, text, &to))
		return status_error("at: write " WHEN_WORDS);
	if (!when_lies_in(now, text, to, &err))
		return status_error("at: %s", err.text);
	of->time.at_ns = to < now ? to + !to : 0;
	if (of->time.at_ns && !strcmp(text, "peak") && !model_peak(watch_now(of->watch)))
		return status_error("the call paths at the peak are not in this session; this is "
				    "the last state before it");
	return 0;
}

void travel_peak(struct shown *of)
{
	const struct peak_instant *peak = model_peak(watch_now(of->watch));

	travel_command(of, peak && of->time.at_ns == peak->time_ns ? "now" : "peak");
}
