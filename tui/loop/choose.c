/* SPDX-License-Identifier: MIT
 *
 * choose.c - `memtop` alone: the processes that have an agent, each with its live memory and rate.
 * It runs its own small loop, because no struct app exists before a target is chosen. The processes
 * around the selected one are watched for their figures, without a spool; one that refuses shows
 * its reason, and is asked again.
 */
#include "app/tui.h"
#include "app/config.h"

#include "views/amounts.h"
#include "launch/launch.h"
#include "base/loop.h"
#include "widgets/status.h"
#include "screen/term.h"
#include "screen/warn.h"
#include "widgets/list_view.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define WATCHES_MAX 16
#define LOOK_MS 2000 /* the list is looked through again */
#define DRAW_MS 500

struct candidate {
	struct amounts amounts; /* first; as of the last drawing */
	struct agent_process process;
	struct target target;
	struct watch *watch; /* NULL: it is far from the selected one, or cannot be */
	bool refused;        /* it cannot be; asked again at the next look */
};

struct chooser {
	struct loop *loop;
	struct list list;
	struct candidate *rows;
	size_t count, room;
	int result; /* as tui_choose() */
	struct theme theme;
	struct loop_source *sources[10];
	size_t source_count;
};

/* Each process has its own window of rates; here all rates are over this time. */
#define RATES_S 1000
static uint64_t id_of(void *arg, size_t i)
{
	return (uint64_t)((struct chooser *)arg)->rows[i].process.pid;
}

static void take_amounts(struct candidate *r)
{
	const struct model *m = r->watch ? watch_model(r->watch) : NULL;

	r->amounts = (struct amounts){ .live = KNOWN_NONE, .rated = KNOWN_NONE };
	if (!m || !model_program(m))
		return;
	struct rates rates = model_rates(m);
	r->amounts = (struct amounts){ .sum = model_totals(m)->sum,
				       .rated = rates.known ? KNOWN : KNOWN_NOT };
	r->amounts.rate.blocks = (uint64_t)(rates.alloc_blocks * RATES_S);
}

static struct value pid(const struct line *l)
{
	return (struct value){ .n = ((const struct candidate *)l->row)->process.pid };
}

static void draw_name(const struct line *l, struct cell c)
{
	const struct candidate *r = l->row;
	const char *problem = r->watch ? watch_problem(r->watch) : NULL;
	char text[256];

	snprintf(text, sizeof text, "%s%s%.150s", r->process.name, problem ? "  " : "",
		 problem ? problem : "");
	cell_text(c, ROLE_NAME, text);
}

static COLUMN(pid, "PID", 8, -1, KIND_ID, .value = pid);
static COLUMN(name, "PROGRAM", 0, -1, KIND_OWN, .own = draw_name);

static const struct table_column columns[] = {
	SHOW(pid), SHOW(held, 0, 9), SHOW(blocks, 2, 11, 11), SHOW(calls, 1, 9), SHOW(name),
};

static const struct table table = TABLE(VIEW_COUNT, columns, struct candidate, NULL, id_of, NULL);

static void draw(struct chooser *c)
{
	static const char *const ways[] = {
		"No process that you may watch has an agent. Three ways to start:",
		"  memtop run ./program               start a program and watch it",
		("  LD_PRELOAD=libmemtop-agent.so ./program    start it yourself, then: "
		 "memtop -p PID"),
		"  memtop :9001                       a port that ssh or adb forwards to an agent",
	};
	struct area s = { 0, 0, term_rows(), term_columns() };
	enum role r;
	const char *said = status_text(&r);

	draw_clear();
	draw_fill(&s, 0, 0, -1, ROLE_HEADER);
	draw_text(&s, 0, 1, ROLE_HEADER_STRONG, "memtop  processes that have an agent");
	struct area body = area_sub(&s, 1, 0, s.h > 2 ? s.h - 2 : 0, -1);
	for (size_t i = 0; i < c->count; i++)
		take_amounts(&c->rows[i]);
	c->list.rows = c->rows;
	cells_rates_over(RATES_S * 1000000000ull);
	cells_largest(0, 0);
	if (c->count)
		table_draw(&table, &body, &c->list, c, -2, false, true);
	for (size_t i = 0; !c->count && i < sizeof ways / sizeof ways[0]; i++)
		draw_text(&body, 1 + (int)i, 1, i ? ROLE_NORMAL : ROLE_WARNING, ways[i]);
	if (said)
		draw_text(&s, s.h - 1, 1, r, said);
	else if (s.h > 1)
		draw_text(&s, s.h - 1, 1, ROLE_HINT, c->count ? "Enter Watch   q Quit" : "q Quit");
	term_cursor(-1, 0);
	term_flush(false);
}

static struct candidate *row_of(struct chooser *c, pid_t pid)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->rows[i].process.pid == pid)
			return &c->rows[i];
	return NULL;
}

static void forget(struct candidate *r)
{
	if (r->watch)
		watch_close(r->watch);
	r->watch = NULL;
}

/* Those around the selected one, of which there may be hundreds. */
static void watch_some(struct chooser *c)
{
	size_t at = c->list.at, half = WATCHES_MAX / 2;
	size_t last = c->count > WATCHES_MAX ? c->count - WATCHES_MAX : 0;
	size_t from = at < half ? 0 : at - half < last ? at - half : last;
	struct watch_options o = { .wait = true };
	struct err err;

	for (size_t i = 0; i < c->count; i++) {
		struct candidate *r = &c->rows[i];
		if (i < from || i >= from + WATCHES_MAX)
			forget(r);
		else if (!r->watch && !r->refused)
			r->refused = !(r->watch = watch_open(c->loop, &r->target, &o, &err));
	}
}

static void look(void *arg)
{
	struct chooser *c = arg;
	struct agent_process *now;
	size_t n = launch_list(&now), kept = 0;
	struct err err;

	for (size_t i = 0; i < c->count; i++) { /* known rows keep their order */
		bool there = false;
		for (size_t k = 0; k < n; k++)
			there |= now[k].pid == c->rows[i].process.pid;
		c->rows[i].refused = false;
		if (there)
			c->rows[kept++] = c->rows[i];
		else
			forget(&c->rows[i]);
	}
	c->count = kept;
	for (size_t k = 0; k < n; k++) {
		char pid[16];
		if (row_of(c, now[k].pid))
			continue;
		GROW(c->rows, c->room, c->count + 1);
		struct candidate *r = &c->rows[c->count];
		*r = (struct candidate){ .process = now[k] };
		snprintf(pid, sizeof pid, "%d", (int)now[k].pid);
		if (target_parse_pid(pid, &r->target, &err))
			continue;
		c->count++;
	}
	free(now);
	list_update(&c->list, c->count, id_of, NULL, c);
	watch_some(c);
	draw(c);
}

static void redraw(void *arg)
{
	watch_some(arg); /* not at each key: who scrolls through hundreds asks none of them */
	draw(arg);
}

static void end(struct chooser *c, int result)
{
	c->result = result;
	loop_stop(c->loop);
}

static void on_input(void *arg, unsigned events)
{
	static const enum focus foci[] = { FOCUS_CHOOSER, FOCUS_LIST, FOCUS_NONE };
	struct chooser *c = arg;
	int key;

	(void)events;
	while ((key = term_key()) != KEY_NOTHING) {
		enum action r = term_pasting() ? ACT_NONE : action_of_key(foci, key);
		if (key == KEY_HANGUP || key == KEY_CTRL_C || r == ACT_BACK || r == ACT_QUIT ||
		    r == ACT_ESCAPE) {
			end(c, 0);
			return;
		}
		if (r == ACT_CHOOSE && c->count) {
			end(c, 1);
			return;
		}
		if (r == ACT_SUSPEND)
			term_suspend();
		if (r == ACT_REDRAW)
			term_resize();
		list_action(&c->list, r, id_of, c);
	}
	draw(c);
}

static void on_resize(void *arg)
{
	term_resize();
	draw(arg);
}

static void on_continue(void *arg)
{
	term_continued();
	draw(arg);
}

static void on_signal(void *arg)
{
	end(arg, 0);
}

static void keep(struct chooser *c, struct loop_source *s)
{
	c->sources[c->source_count++] = s;
}

int tui_choose(struct loop *loop, const struct tui_options *o, struct target *t)
{
	struct chooser c = { .loop = loop };
	struct err err = { 0 };

	keep(&c, loop_signal(loop, SIGINT, on_signal, &c));
	keep(&c, loop_signal(loop, SIGTERM, on_signal, &c));
	keep(&c, loop_signal(loop, SIGHUP, on_signal, &c));
	keep(&c, loop_signal(loop, SIGQUIT, on_signal, &c));
	keep(&c, loop_signal(loop, SIGCONT, on_continue, &c));
	keep(&c, loop_signal(loop, SIGWINCH, on_resize, &c));
	const struct config *own = config_get(NULL); /* the view reports its errors */
	if (theme_load(o->theme        ? o->theme
		       : own->theme[0] ? own->theme
				       : NULL,
		       &c.theme, &err) &&
	    o->theme) {
		c.result = -err.status;
	} else {
		if (err.text[0])
			theme_plain(&c.theme);
		err.text[0] = 0;
		theme_use(&c.theme);
		if (term_start(o->ascii || own->ascii, &err))
			c.result = -err.status;
	}
	if (c.result == 0) {
		draw_start();
		keep(&c, loop_fd(loop, STDIN_FILENO, LOOP_READ, on_input, &c));
		keep(&c, loop_timer(loop, LOOK_MS, true, look, &c));
		keep(&c, loop_timer(loop, DRAW_MS, true, redraw, &c));
		look(&c);
		loop_run(loop);
		if (c.result == 1)
			*t = c.rows[c.list.at].target;
	}
	term_stop();
	if (err.text[0])
		warn("%s", err.text);
	while (c.source_count)
		loop_remove(c.sources[--c.source_count]);
	for (size_t i = 0; i < c.count; i++)
		forget(&c.rows[i]);
	free(c.rows);
	return c.result;
}
