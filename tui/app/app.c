/* SPDX-License-Identifier: MIT
 *
 * app.c - the live view's event wiring. Everything that happens comes through the one loop:
 *
 *   key        -> request -> handler's bits -> query if asked for -> draw -> flush, at once
 *   tick       -> `moved`; the redraw timer queries and draws, at most four times a second, and
 *                 never for more than a fifth of the time however large the tree is
 *   SIGWINCH   -> size, draw        SIGTERM, SIGHUP, SIGINT -> the loop ends, the terminal is
 * restored
 *
 * Order changes only here: at most every two seconds, and not within three seconds of a key.
 *
 * What must be made anew of a huge tree is made in slices of some milliseconds (query/query.h):
 * each key and each refresh gets one, and while something is left a timer that fires at once gives
 * the next, so that keys come between. Until it is whole the rows that are there stay, and the tabs
 * say how far it is.
 */
#include "app/actions.h"
#include "app/ages.h"
#include "app/config.h"

#include "base/loop.h"
#include "screen/term.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000ull
#define REFRESH_NS (250 * MS)
#define CLOCK_NS (1000 * MS)
#define SORT_EVERY_NS (2000 * MS)
#define SORT_AFTER_KEY_NS (3000 * MS)
#define TIMER_MS 50
#define SLICE_NS (8 * MS)
#define SAY_BUILDING_NS (100 * MS)
#define REFRESH_SHARE 5 /* a refresh that took t is followed by at least 4 t for the keyboard */

struct view *app_view(struct app *a)
{
	return a->page ? a->page : a->views[a->current];
}

static void draw(struct app *a, bool whole)
{
	frame_draw(a);
	term_flush(whole);
	a->view_ns = now_ns();
	if (ages_lack())
		a->moved = a->due = true;
}

/* --- slices */

static void begin_slice(struct app *a)
{
	if (a->fixed_steps)
		query_allow(a->query, a->fixed_steps);
	else
		query_allow_until(a->query, now_ns() + SLICE_NS);
}

static void end_slice(struct app *a)
{
	bool was = a->building >= 0;
	int left = query_building(a->query);

	if (left < 0 && !a->figures.owners_whole)
		a->moved = a->due = true;                  /* now they are */
	a->building = find_busy(&a->find) && left < 0 ? 99 /* a refresh does not search */
		      : a->rows_whole                 ? -1
						      : left;
	a->working = left >= 0 || a->building >= 0;
	if (a->building >= 0)
		a->building_ns = was ? a->building_ns : now_ns();
	if (a->working)
		loop_timer_set(a->go_on, 0);
}

/* What is on the screen first. */
static void go_on_with_rest(struct app *a)
{
	a->rows_whole = query_building(a->query) < 0;
	if (a->rows_whole)
		query_verdict(a->query, &a->figures.verdict);
}

/* The next slice of what was left. Keys that are there already come first. */
static void on_go_on(void *arg)
{
	struct app *a = arg;
	struct view *v = a->views[a->current];
	bool was = a->building >= 0;

	if (!a->working || a->quit)
		return;
	begin_slice(a);
	if (v->ops->refresh)
		v->ops->refresh(v, a->resort_due);
	if (a->page && a->page->ops->refresh)
		a->page->ops->refresh(a->page, false);
	find_go_on(a);
	go_on_with_rest(a);
	if (query_building(a->query) < 0)
		travel_go_on(a);
	end_slice(a);
	if (a->building < 0)
		a->resort_due = false;
	if (!a->working || (was && a->building < 0) || now_ns() - a->view_ns >= SAY_BUILDING_NS)
		draw(a, false);
}

void app_refresh(struct app *a, bool resort)
{
	uint64_t start = now_ns();

	a->moved = a->due = false;
	figures_take(&a->figures, a->watch, a->owners, travel_owners(a), a->query);
	others_take(&a->others, a->processes, a->watch);
	if (a->time.at_ns > a->figures.time_ns)
		a->time.at_ns = 0; /* another program: time begins anew */
	struct view *v = a->views[a->current];
	if (query_by_cohort(a->query) && !v->ops->no_filter)
		ages_ask(a);
	if (v->ops->refresh)
		v->ops->refresh(v, resort);
	if (a->page && a->page->ops->refresh)
		a->page->ops->refresh(a->page, resort);
	if (resort)
		a->sort_ns = now_ns();
	a->resort_due = (a->resort_due || resort) && query_building(a->query) >= 0;
	go_on_with_rest(a);
	a->refresh_cost_ns = now_ns() - start;
}

void app_act(struct app *a, unsigned bits)
{
	if (bits & VIEW_CLOSE)
		app_close_page(a);
	if (bits & (VIEW_REFRESH | VIEW_RESORT) || (bits & VIEW_CLOSE && !a->paused))
		app_refresh(a, bits & VIEW_RESORT);
}

void app_show(struct app *a, enum view_id v)
{
	if (!a->views[v])
		return;
	app_close_page(a);
	a->current = v;
	if (a->views[v]->ops->enter)
		a->views[v]->ops->enter(a->views[v]);
	a->find.hits = -1;
	find_leave(a);
	app_refresh(a, true);
}

static void view_free(struct view *v)
{
	if (v)
		v->ops->free(v);
}

void app_open_page(struct app *a, struct view *page)
{
	view_free(a->page);
	a->page = page;
	find_leave(a);
	if (page->ops->refresh)
		page->ops->refresh(page, true);
}

void app_close_page(struct app *a)
{
	find_leave(a);
	view_free(a->page);
	a->page = NULL;
}

void app_quit(struct app *a, int status)
{
	a->quit = true;
	a->status = status;
	loop_stop(a->loop);
}

/* --- events */

/* Even out of a prompt; but what can be typed is text there, whatever the user's own keys are. */
static bool suspends(int key)
{
	static const enum focus none[] = { FOCUS_NONE };

	return key < ' ' && request_of_key(none, key) == REQ_SUSPEND;
}

static void on_key(struct app *a, int key)
{
	if (a->prompt.open && !suspends(key)) {
		prompt_key(&a->prompt, key);
		return;
	}
	if (key == KEY_CTRL_C) {
		app_quit(a, 128 + SIGINT);
		return;
	}
	app_act(a, action_key(a, key) & ~(unsigned)VIEW_IGNORED);
}

/* The terminal is gone, so nobody can be asked or told: the kept session says what became of a
 * program that run started. */
static void hung_up(struct app *a)
{
	const struct tui_options *o = a->options;
	int pid = (int)o->child_pid;

	if (o->child && !*o->ended) {
		char *text = xasprintf("The terminal was closed. The program runs on as process "
				       "%d: memtop -p %d watches it again, kill %d ends it.",
				       pid, pid, pid);
		watch_note(a->watch, text);
		free(text);
	}
	app_quit(a, 128 + SIGHUP);
}

static void on_input(void *arg, unsigned events)
{
	struct app *a = arg;
	uint64_t read_ns[64];
	size_t n = 0;
	int key;

	(void)events;
	while (!a->quit && n < 64 && (key = term_key()) != KEY_NOTHING) {
		if (key == KEY_HANGUP) {
			hung_up(a);
			return;
		}
		a->key_ns = read_ns[n++] = now_ns();
		begin_slice(a);
		on_key(a, key);
		travel_follow(a);
		end_slice(a);
	}
	if (n == 0 || a->quit)
		return;
	draw(a, false);
	for (size_t i = 0; a->key_log && i < n; i++)
		fprintf(a->key_log, "%" PRIu64 " %" PRIu64 "\n", read_ns[i], now_ns());
	if (a->key_log)
		fflush(a->key_log);
}

static void on_timer(void *arg)
{
	struct app *a = arg;
	uint64_t now = now_ns();
	uint64_t pause = a->refresh_cost_ns * REFRESH_SHARE > REFRESH_NS
				 ? a->refresh_cost_ns * REFRESH_SHARE
				 : REFRESH_NS;
	bool sort = now - a->sort_ns >= SORT_EVERY_NS && now - a->key_ns >= SORT_AFTER_KEY_NS;

	if (quit_over(a, now)) {
		app_quit(a, 0);
		return;
	}
	auto_mark_go_on(a);
	if (a->moved && !a->paused && !travel_under_way(a) &&
	    (a->due || now - a->figures.taken_ns >= pause)) {
		begin_slice(a);
		app_refresh(a, sort);
		find_follow(a);
		end_slice(a);
		if (!a->leave_ns)
			offer_sampling(a);
		draw(a, false);
	} else if (now - a->view_ns >= CLOCK_NS) {
		draw(a, false);
	}
}

/* Another instant or interval is there, and where that was wanted, all is shown of it. In a slice
 * that has begun. */
static void show_anew(struct app *a)
{
	if (!travel_under_way(a) && !a->quit)
		app_refresh(a, true);
	end_slice(a);
	draw(a, false);
}

static void on_change(void *arg, unsigned bits)
{
	struct app *a = arg;

	if (bits & WATCH_INSTANT) {
		begin_slice(a);
		travel_arrived(a); /* what it leaves unfinished, end_slice() sees */
		show_anew(a);
		return;
	}
	a->moved = true;
	if (bits & WATCH_NOTICE && watch_notice(a->watch))
		status_say("%s", watch_notice(a->watch));
	if (bits & (WATCH_LINK | WATCH_FINAL))
		a->due = true;
	if (bits & WATCH_INTERVAL) {
		begin_slice(a);
		show_anew(a);
	}
}

/* Each second. What the views show is queried again for their list alone: a large tree of calls may
 * have ended. */
static void on_processes(void *arg)
{
	struct app *a = arg;
	const struct watch *was = a->watch;
	struct others before = a->others;

	shown_go_on(a);
	if (!a->paused)
		others_take(&a->others, a->processes, a->watch);
	a->moved |= view_is_processes(a->page);
	if (a->watch != was || memcmp(&before, &a->others, sizeof before))
		draw(a, false);
}

/* What happened to it while another one was shown is caught up with: a way through its past may
 * have ended. */
void app_watch(struct app *a, struct watch *w)
{
	if (a->watch)
		watch_on_change(a->watch, NULL, NULL);
	bool before = shown_change(a, w);
	struct view *v = a->views[a->current];
	watch_on_change(w, on_change, a);
	others_take(&a->others, a->processes, w);
	begin_slice(a);
	if (before)
		travel_arrived(a);
	if (before && v->ops->enter)
		v->ops->enter(v);
	if (!travel_under_way(a))
		app_refresh(a, true);
	if (!before && watch_target(w)->kind == TARGET_FILE)
		travel_read(a);
	end_slice(a);
}

static void on_resize(void *arg)
{
	term_resize();
	draw(arg, true);
}

static void on_suspend(void *arg)
{
	term_suspend();
	draw(arg, true);
}

static void on_int(void *arg)
{
	app_quit(arg, 128 + SIGINT);
}

static void on_term(void *arg)
{
	app_quit(arg, 128 + SIGTERM);
}

static void on_hup(void *arg)
{
	hung_up(arg);
}

static void on_quit(void *arg)
{
	app_quit(arg, 128 + SIGQUIT);
}

static void keep(struct app *a, struct loop_source *s)
{
	a->sources[a->source_count++] = s;
}

static void wire_signals(struct app *a)
{
	keep(a, loop_signal(a->loop, SIGINT, on_int, a));
	keep(a, loop_signal(a->loop, SIGTERM, on_term, a));
	keep(a, loop_signal(a->loop, SIGHUP, on_hup, a));
	keep(a, loop_signal(a->loop, SIGQUIT, on_quit, a));
	keep(a, loop_signal(a->loop, SIGTSTP, on_suspend, a));
	keep(a, loop_signal(a->loop, SIGWINCH, on_resize, a));
}

static int open_screen(struct app *a, struct err *err)
{
	struct err said = { 0 }, theme = { 0 }, none = { 0 };
	const struct config *c = config_get(&said);
	const char *named = a->options->theme ? a->options->theme : c->theme[0] ? c->theme : NULL;

	wire_signals(a);
	if (theme_load(named, &a->theme, &theme)) {
		if (a->options->theme)
			return *err = theme, -1;
		if (!named || theme_load(NULL, &a->theme, &none))
			theme_plain(&a->theme); /* no theme files at all: plain, but it works */
	}
	if (!said.text[0])
		said = theme;
	theme_use(&a->theme);
	if (term_start(a->options->ascii || c->ascii, err))
		return -1;
	draw_start();
	a->percent = c->percent;
	text_set_units(c->units);
	a->mouse = c->mouse;
	term_mouse(a->mouse);
	if (said.text[0])
		status_error("%s", said.text);
	keep(a, loop_fd(a->loop, STDIN_FILENO, LOOP_READ, on_input, a));
	keep(a, loop_timer(a->loop, TIMER_MS, true, on_timer, a));
	keep(a, a->go_on = loop_timer(a->loop, 0, false, on_go_on, a));
	return 0;
}

static void close_app(struct app *a)
{
	term_stop();
	saver_stop();
	while (a->source_count)
		loop_remove(a->sources[--a->source_count]);
	app_close_page(a);
	shown_release(a);
	process_rows_release(&a->process_list.rows);
	if (a->key_log)
		fclose(a->key_log);
}

/* The one that the caller opened: no other is open yet. */
static struct watch *first_watch(const struct processes *p)
{
	const struct process *list;
	size_t n = processes_list(p, &list), i = 0;

	while (i < n && !list[i].watch)
		i++;
	return i < n ? list[i].watch : NULL;
}

int tui_run(struct loop *loop, struct processes *p, const struct tui_options *o)
{
	struct app a = {
		.loop = loop, .processes = p, .first = first_watch(p), .options = o, .building = -1
	};
	const char *log = o->key_log ? o->key_log : getenv("MEMTOP_KEYLOG");
	struct err err = { 0 };

	a.fixed_steps =
		getenv("MEMTOP_TEST_STEPS") ? strtoul(getenv("MEMTOP_TEST_STEPS"), NULL, 10) : 0;
	if (log && *log && !(a.key_log = fopen(log, "ae")))
		err_set(&err, 2, "key log %s: cannot be written", log);
	else if (open_screen(&a, &err) == 0) {
		processes_on_change(p, on_processes, &a);
		app_watch(&a, a.first);
		draw(&a, true);
		loop_run(loop);
		processes_on_change(p, NULL, NULL);
		watch_on_change(a.watch, NULL, NULL);
	}
	close_app(&a);
	if (err.text[0]) {
		warn("%s", err.text);
		return err.status;
	}
	return a.status;
}
