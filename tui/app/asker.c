/* SPDX-License-Identifier: MIT
 *
 * asker.c - see app/app.h.
 *
 *   ask()   main thread: the newest snapshot, and what the view wants of it
 *   make()  a thread, where it may take long: rows, ages, the verdict. It alone uses the query;
 *           the model stands still, and its agent's frames wait
 *   take()  main thread: the view shows them. Unless the user wants other rows by then: those are
 *           asked for instead
 *
 * Whatever else needs the query or changes the model waits for the thread (asker_settle()).
 */
#include "app/app.h"

#include "base/loop.h"
#include "base/worker.h"
#include "views/ages.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An answer that took t is followed by a fourth of it for the agent's frames. */
#define REST_SHARE 4
#define LATE_MS 3 /* ... until a snapshot is looked for again */

static void make_all(void *arg)
{
	struct app *a = arg;
	struct view *v = a->front.views[a->asker.of];

	if (v->ops->make)
		v->ops->make(v);
	query_verdict(a->ui.shown.query, &a->asker.verdict);
}

static void make(void *arg)
{
	struct app *a = arg;

	query_answer(a->ui.shown.query, make_all, a);
}

static void hold(struct app *a, bool on)
{
	struct shown *s = &a->ui.shown;

	query_apart(s->query, on ? asker_settle : NULL, a);
	model_read_apart(s->model, on ? asker_settle : NULL, a);
	watch_hold(s->watch, on);
}

void asker_settle(void *app)
{
	struct app *a = app;
	struct asker *k = &a->asker;

	if (k->state != ASKER_WORKS)
		return;
	worker_wait(k->worker);
	k->cost_ns = worker_cost(k->worker);
	k->state = ASKER_MADE;
	hold(a, false);
}

static void take_figures(struct app *a)
{
	struct shown *s = &a->ui.shown;

	a->ui.moved = a->timing.due = a->asker.figures = false;
	/* an instant on the way to another is not shown */
	if (!travel_under_way(&a->front.travel) || !s->figures.taken_ns)
		figures_take(&s->figures, s->watch, s->owners, travel_owners(&a->front.travel, s));
	others_take(&a->ui.others, a->ui.processes, s->watch);
	if (s->time.at_ns > s->figures.time_ns)
		s->time.at_ns = 0; /* an exec restarted the time */
	if (query_by_cohort(s->query) && !a->front.views[a->front.current]->ops->no_filter)
		ages_ask(&a->ui);
}

static bool takes_long(const struct app *a)
{
	return a->asker.cost_ns >= WORKER_LONG_NS || query_large(a->ui.shown.query);
}

static void on_done(void *app, unsigned events);

static bool has_thread(struct app *a)
{
	struct asker *k = &a->asker;

	if (k->done || k->tried || getenv("MEMTOP_TEST_SYNC"))
		return k->done != NULL;
	k->tried = true;
	k->worker = worker_new();
	if (k->worker && worker_fd(k->worker) >= 0)
		k->done = loop_fd(a->loop, worker_fd(k->worker), LOOP_READ, on_done, a);
	return k->done != NULL;
}

static void begin_to_make(struct app *a)
{
	struct asker *k = &a->asker;

	k->of = a->front.current;
	query_newest(a->ui.shown.query);
	if (!a->ui.compared && takes_long(a) && has_thread(a)) {
		k->state = ASKER_WORKS;
		k->apart = true;
		hold(a, true);
		worker_begin(k->worker, make, a);
		return;
	}
	uint64_t began = now_ns();
	k->apart = false;
	make(a);
	k->cost_ns = now_ns() - began;
	k->state = ASKER_MADE;
}

static void refresh(struct view *v, bool resort)
{
	if (v && v->ops->refresh)
		v->ops->refresh(v, resort);
}

/* Moves when other rows are wanted of the view in front; not 0. */
static uint64_t wanted(const struct app *a)
{
	const uint64_t *changes = a->asker.changes;

	return 1 + changes[VIEW_COUNT] + changes[a->front.current] +
	       model_intervals(a->ui.shown.model);
}

static void change(struct app *a)
{
	struct asker *k = &a->asker;

	for (size_t i = 0; i < k->later_count; i++)
		k->later[i].fn(&a->ui, k->later[i].id);
	k->later_count = 0;
}

void asker_later(struct app *a, enum view_id of, ui_change_fn *fn, uint32_t id)
{
	struct asker *k = &a->asker;

	k->changes[of]++;
	if (k->state == ASKER_IDLE) {
		fn(&a->ui, id);
		return;
	}
	GROW(k->later, k->later_room, k->later_count + 1);
	k->later[k->later_count].fn = fn;
	k->later[k->later_count++].id = id;
}

static void begin(struct app *a)
{
	struct asker *k = &a->asker;
	struct view *v = a->front.views[a->front.current];
	bool resort = k->resort;

	change(a);
	if (k->figures)
		take_figures(a);
	k->again = k->resort = false;
	refresh(v, resort);
	refresh(a->page, resort);
	k->asked = wanted(a);
	model_count_since(a->ui.shown.model, 0); /* unless this view wants it */
	if (v->ops->ask)
		v->ops->ask(v, resort);
	if (resort)
		a->timing.sort_ns = now_ns();
	a->timing.unsorted = !resort;
	begin_to_make(a);
}

/* What was made is what is wanted. */
static void take(struct app *a)
{
	struct asker *k = &a->asker;
	struct view *v = a->front.views[k->of];

	k->state = ASKER_IDLE;
	if (k->later_count) { /* other rows are wanted by now */
		k->again = true;
		k->resort |= !a->timing.unsorted;
		return;
	}
	if (query_names(a->ui.shown.query)) { /* some names are known as soon as somebody asks */
		if (!k->apart) {
			begin_to_make(a);
			return;
		}
		a->ui.moved = a->timing.due = true; /* soon: the agent's frames come first */
	}
	if (query_asks(a->ui.shown.query))
		a->ui.moved = a->timing.due = true;
	a->ui.shown.figures.verdict = k->verdict;
	if (!k->again)
		k->by_key = 0;
	if (!v->ops->take || v->ops->take(v))
		k->wanted[k->of] = k->asked;
	else
		k->again = true;
}

static void end_rest(struct asker *k)
{
	loop_remove(k->rest);
	k->rest = NULL;
}

/* An answer of another interval's snapshot is of no use, and keeps the threads from the one that
 * makes this interval's. */
static bool is_late(struct app *a)
{
	struct owners *o = a->ui.shown.owners;

	if (!query_large(a->ui.shown.query))
		return false;
	owners_refresh(o);
	return owners_interval_late(o);
}

static void on_rested(void *app);

/* As far as nothing takes long. */
static void go_on(struct app *a)
{
	struct asker *k = &a->asker;

	for (;;) {
		if (k->state == ASKER_MADE)
			take(a);
		else if (k->state != ASKER_IDLE || !k->again || k->rest)
			return;
		else if (is_late(a))
			k->rest = loop_timer(a->loop, LATE_MS, false, on_rested, a);
		else
			begin(a);
	}
}

static void on_rested(void *app)
{
	struct app *a = app;
	bool more = a->asker.again;

	end_rest(&a->asker);
	go_on(a);
	if (more && !asker_works(&a->asker))
		a->on_answer(a);
}

/* The agent's frames come between two answers, however fast somebody asks. */
static void rest(struct app *a)
{
	struct asker *k = &a->asker;

	end_rest(k);
	k->rest = loop_timer(a->loop, (unsigned)(k->cost_ns / REST_SHARE / 1000000), false,
			     on_rested, a);
}

static void on_done(void *app, unsigned events)
{
	struct app *a = app;
	struct asker *k = &a->asker;

	(void)events;
	worker_heard(k->worker);
	if (worker_busy(k->worker))
		return;
	if (k->state == ASKER_IDLE)
		return; /* somebody waited for it */
	asker_settle(a);
	rest(a);
	go_on(a);
	a->on_answer(a);
}

void asker_ask(struct app *a, bool figures, bool resort)
{
	struct asker *k = &a->asker;

	k->again = true;
	k->resort |= resort;
	k->figures |= figures;
	if (k->state == ASKER_MADE)
		k->state = ASKER_IDLE; /* what was made is not what is asked for now */
	if (k->figures && k->state == ASKER_IDLE)
		take_figures(a); /* what they were taken from may be gone */
	go_on(a);
}

void asker_by_key(struct app *a, enum view_id of)
{
	a->asker.by_key = 1u + of;
}

bool asker_is_awaited(const struct app *a)
{
	const struct asker *k = &a->asker;

	return asker_works(k) &&
	       (k->by_key == 1u + a->front.current || k->wanted[a->front.current] != wanted(a));
}

void asker_finish(struct app *a)
{
	while (asker_works(&a->asker)) {
		end_rest(&a->asker);
		asker_settle(a);
		if (is_late(a))
			nanosleep(&(struct timespec){ .tv_nsec = LATE_MS * 1000000 }, NULL);
		go_on(a);
	}
}

void asker_drop(struct app *a)
{
	struct asker *k = &a->asker;

	asker_settle(a);
	end_rest(k);
	change(a);
	k->state = ASKER_IDLE;
	k->again = k->resort = k->figures = false;
	k->by_key = 0;
	k->cost_ns = 0;
	memset(k->wanted, 0, sizeof k->wanted);
}

void asker_end(struct app *a)
{
	struct asker *k = &a->asker;

	asker_drop(a);
	loop_remove(k->done);
	worker_free(k->worker);
	free(k->later);
	*k = (struct asker){ 0 };
}
