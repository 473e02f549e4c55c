/* SPDX-License-Identifier: MIT
 *
 * view_loop.c - the live view's event wiring. Every event comes through one loop:
 *
 *   key        -> action -> handler's bits -> query if asked for -> draw -> flush, at once
 *   tick       -> `moved`; the redraw timer queries and draws, at most four times a second,
 *                 once a second from a minute after the last key on, and never for more than a
 *                 fifth of the time however large the tree is (pace.h)
 *   SIGWINCH   -> size, draw
 *   SIGTERM, SIGHUP, SIGINT -> the loop ends, the terminal is restored
 *
 * Rows are reordered only here: at most every two seconds, never within three seconds of a key.
 */
#include "app/actions.h"
#include "app/frame/chrome.h"
#include "app/keys/keys.h"
#include "loop/pace.h"
#include "views/ages.h"
#include "views/detail/detail.h"
#include "views/tree/tree.h"
#include "app/config.h"

#include "base/loop.h"
#include "screen/term.h"
#include "screen/warn.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000ull
#define CLOCK_NS (1000 * MS)
#define SORT_EVERY_NS (2000 * MS)
#define SORT_AFTER_KEY_NS (3000 * MS)
#define TIMER_MS 50

/* Nothing on the screen is still being made. */
static void log_whole(struct app *a)
{
	bool whole = !owners_interval_late(a->ui.shown.owners) && !asker_works(&a->asker);

	if (a->key_log && whole && !a->logged_whole)
		fprintf(a->key_log, "whole %" PRIu64 "\n", a->timing.view_ns);
	if (a->key_log)
		fflush(a->key_log);
	a->logged_whole = whole;
}

static void draw(struct app *a, bool whole)
{
	frame_draw(a);
	term_flush(whole);
	a->timing.view_ns = now_ns();
	log_whole(a);
	bool ages = ages_lack(), procs = procs_lack();
	if (ages || procs)
		a->ui.moved = a->timing.due = true;
}

/* The app begins with what its views see. */
static struct app *app_of(struct ui *ui)
{
	return (struct app *)ui;
}

static unsigned show(struct ui *ui, enum view_id v)
{
	front_show(app_of(ui), v);
	return VIEW_DRAW;
}

static unsigned show_node(struct ui *ui, uint32_t node)
{
	view_tree_select_node(app_of(ui)->front.views[VIEW_TREE], node);
	asker_by_key(app_of(ui), VIEW_TREE);
	front_show(app_of(ui), VIEW_TREE);
	return VIEW_DRAW;
}

static unsigned show_owner(struct ui *ui, uint32_t module, const char *name)
{
	view_tree_zoom_owner(app_of(ui)->front.views[VIEW_TREE], module, name);
	asker_by_key(app_of(ui), VIEW_TREE);
	front_show(app_of(ui), VIEW_TREE);
	return VIEW_DRAW;
}

static unsigned show_thread(struct ui *ui, uint32_t tid)
{
	if (filter_thread(app_of(ui), tid))
		return VIEW_DRAW;
	front_show(app_of(ui), VIEW_TREE);
	status_say("LIVE and BLOCKS count only blocks that thread %u allocated; Esc: all", tid);
	return VIEW_DRAW;
}

static int show_process(struct ui *ui, uint32_t id)
{
	return shown_process(app_of(ui), id);
}

static unsigned show_detail(struct ui *ui, uint32_t leaf, bool inclusive, uint32_t stacks)
{
	front_open(app_of(ui), view_detail_new(ui, leaf, inclusive, stacks));
	return VIEW_DRAW;
}

static unsigned choose_program(struct ui *ui)
{
	quit_now(app_of(ui), TUI_SWITCH);
	return 0;
}

static void later(struct ui *ui, enum view_id of, ui_change_fn *fn, uint32_t id)
{
	asker_later(app_of(ui), of, fn, id);
}

static void found(struct ui *ui, size_t hits, size_t pending)
{
	struct app *a = app_of(ui);

	find_found(&a->front.find, front_view(a), hits, pending);
}

static const struct ui_ops ui_ops = {
	.show = show,
	.show_node = show_node,
	.show_owner = show_owner,
	.show_thread = show_thread,
	.show_process = show_process,
	.show_detail = show_detail,
	.choose_program = choose_program,
	.expect = expect_site,
	.later = later,
	.found = found,
};

/* These work even in a prompt; a printable key is always text there, even if the user bound it. */
static bool suspends(int key)
{
	static const enum focus none[] = { FOCUS_NONE };

	return key < ' ' && action_of_key(none, key) == ACT_SUSPEND;
}

static void on_key(struct app *a, int key)
{
	if (term_pasting() && (!a->ui.prompt.open || a->ui.prompt.answers))
		return;
	if (a->ui.prompt.open && !suspends(key)) {
		prompt_key(&a->ui.prompt, key);
		return;
	}
	if (key == KEY_CTRL_C) {
		quit_now(a, 128 + SIGINT);
		return;
	}
	front_act(a, dispatch_key(a, key) & ~(unsigned)VIEW_IGNORED);
}

/* The terminal is gone, so no question is possible: the kept session records the end of a program
 * that run started. */
static void hung_up(struct app *a)
{
	const struct tui_options *o = a->options;
	int pid = (int)o->child_pid;

	if (o->child && !*o->ended) {
		char *text = xasprintf("The terminal was closed. The program runs on as process "
				       "%d: memtop -p %d watches it again, kill %d ends it.",
				       pid, pid, pid);
		watch_note(a->ui.shown.watch, text);
		free(text);
	}
	quit_now(a, 128 + SIGHUP);
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
		a->timing.key_ns = read_ns[n++] = now_ns();
		on_key(a, key);
		travel_follow(&a->front.travel, &a->ui.shown);
	}
	if (n == 0 || a->quit)
		return;
	a->logged_whole = false; /* each answer has a line */
	draw(a, false);
	for (size_t i = 0; a->key_log && i < n; i++)
		fprintf(a->key_log, "%" PRIu64 " %" PRIu64 "\n", read_ns[i], a->timing.view_ns);
	if (a->key_log)
		fflush(a->key_log);
}

static void on_timer(void *arg)
{
	struct app *a = arg;
	uint64_t now = now_ns();
	uint64_t touched = a->timing.key_ns ? a->timing.key_ns : a->timing.start_ns;
	uint64_t pause = pace_pause(now, touched, a->asker.cost_ns);
	bool sort = now - a->timing.sort_ns >= SORT_EVERY_NS &&
		    now - a->timing.key_ns >= SORT_AFTER_KEY_NS;
	/* where nothing moves any more, the last change may have come too soon after a key */
	bool newer = owners_behind(a->ui.shown.owners);
	bool stale = a->ui.moved || (sort && a->timing.unsorted) || newer;

	bool late = owners_interval_late(a->ui.shown.owners);

	if (quit_over(a, now)) {
		quit_now(a, 0);
		return;
	}
	mark_go_on(&a->ui);
	if (stale && !a->ui.paused && !asker_works(&a->asker) &&
	    !travel_under_way(&a->front.travel) &&
	    (a->timing.due || late || now - a->ui.shown.figures.taken_ns >= pause)) {
		front_refresh(a, sort || late);
		front_act(a, find_follow(&a->front.find, front_view(a), newer));
		if (!a->leave_ns)
			offer_sampling(a);
		if (!asker_works(&a->asker)) /* else once it is there */
			draw(a, false);
	} else if (now - a->timing.view_ns >= CLOCK_NS) {
		draw(a, false);
	}
}

static void on_answer(struct app *a)
{
	draw(a, false);
}

/* A new instant or interval is ready: shows it, unless the replay goes on. */
static void show_anew(struct app *a)
{
	if (!travel_under_way(&a->front.travel) && !a->quit)
		front_refresh(a, true);
	else
		front_rows(a, false);
	draw(a, false);
	travel_read_on(&a->front.travel, &a->ui.shown);
}

static void on_change(void *arg, unsigned bits)
{
	struct app *a = arg;

	if (bits & WATCH_INSTANT) {
		asker_settle(a);
		travel_arrived(&a->front.travel, &a->ui.shown);
		show_anew(a);
		return;
	}
	a->ui.moved = true;
	if (bits & WATCH_NOTICE && watch_notice(a->ui.shown.watch))
		status_say("%s", watch_notice(a->ui.shown.watch));
	if (bits & (WATCH_LINK | WATCH_FINAL))
		a->timing.due = true;
	if (bits & WATCH_INTERVAL)
		show_anew(a);
}

/* Each second. Refreshes only the page of processes: another query of an ended program's large call
 * tree would be waste. */
static void on_processes(void *arg)
{
	struct app *a = arg;
	const struct watch *was = a->ui.shown.watch;
	struct others before = a->ui.others;

	shown_go_on(a);
	if (!a->ui.paused)
		others_take(&a->ui.others, a->ui.processes, a->ui.shown.watch);
	shown_begin(a);
	a->ui.moved |= view_is_processes(a->page);
	if (a->ui.shown.watch != was || memcmp(&before, &a->ui.others, sizeof before))
		draw(a, false);
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

static void on_continue(void *arg)
{
	term_continued();
	draw(arg, true);
}

static void on_int(void *arg)
{
	quit_now(arg, 128 + SIGINT);
}

static void on_term(void *arg)
{
	quit_now(arg, 128 + SIGTERM);
}

static void on_hup(void *arg)
{
	hung_up(arg);
}

static void on_quit(void *arg)
{
	quit_now(arg, 128 + SIGQUIT);
}

static void keep(struct app *a, struct loop_source *s)
{
	a->sources.list[a->sources.count++] = s;
}

static void wire_signals(struct app *a)
{
	keep(a, loop_signal(a->loop, SIGINT, on_int, a));
	keep(a, loop_signal(a->loop, SIGTERM, on_term, a));
	keep(a, loop_signal(a->loop, SIGHUP, on_hup, a));
	keep(a, loop_signal(a->loop, SIGQUIT, on_quit, a));
	keep(a, loop_signal(a->loop, SIGTSTP, on_suspend, a));
	keep(a, loop_signal(a->loop, SIGCONT, on_continue, a));
	keep(a, loop_signal(a->loop, SIGWINCH, on_resize, a));
}

static int open_screen(struct app *a, struct err *err)
{
	struct err said = { 0 }, theme = { 0 }, none = { 0 };
	const struct config *c = config_get(&said);
	const char *named = a->options->theme ? a->options->theme : c->theme[0] ? c->theme : NULL;

	wire_signals(a);
	if (theme_load(named, &a->choices.theme, &theme)) {
		if (a->options->theme)
			return *err = theme, -1;
		if (!named || theme_load(NULL, &a->choices.theme, &none))
			theme_plain(
				&a->choices.theme); /* no theme files at all: plain, but it works */
	}
	if (!said.text[0])
		said = theme;
	theme_use(&a->choices.theme);
	if (term_start(a->options->ascii || c->ascii, err))
		return -1;
	draw_start();
	a->choices.percent = c->percent;
	text_set_units(c->units);
	a->choices.mouse = c->mouse;
	term_mouse(a->choices.mouse);
	if (said.text[0])
		status_error("%s", said.text);
	keep(a, loop_fd(a->loop, STDIN_FILENO, LOOP_READ, on_input, a));
	keep(a, loop_timer(a->loop, TIMER_MS, true, on_timer, a));
	return 0;
}

static void close_app(struct app *a)
{
	term_stop();
	saver_stop();
	while (a->sources.count)
		loop_remove(a->sources.list[--a->sources.count]);
	front_close(a);
	shown_release(a);
	process_rows_release(&a->ui.process_list.rows);
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
	struct app a = { .ui = { .ops = &ui_ops,
				 .processes = p,
				 .compared = o->diff,
				 .output_fd = o->child ? o->output_fd : -1,
				 .process_list.sort = PROCESSES_BY_TREE },
			 .loop = loop,
			 .first = first_watch(p),
			 .timing.start_ns = now_ns(),
			 .options = o,
			 .on_change = on_change,
			 .on_answer = on_answer,
			 .action = dispatch_action };
	const char *log = o->key_log ? o->key_log : getenv("MEMTOP_KEYLOG");
	struct err err = { 0 };

	if (log && *log && !(a.key_log = fopen(log, "ae")))
		err_set(&err, 2, "key log %s: cannot be written", log);
	else if (open_screen(&a, &err) == 0) {
		processes_on_change(p, on_processes, &a);
		shown_watch(&a, a.first);
		if (o->all)
			shown_process(&a, PROCESS_ALL);
		draw(&a, true);
		loop_run(loop);
		processes_on_change(p, NULL, NULL);
		watch_on_change(a.ui.shown.watch, NULL, NULL);
	}
	close_app(&a);
	if (err.text[0]) {
		warn("%s", err.text);
		return err.status;
	}
	return a.status;
}
