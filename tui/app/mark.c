/* SPDX-License-Identifier: MIT
 *
 * mark.c - marks. A key sets one in every process, `:mark NAME` in the shown one. `:every 60` and
 * `:every 5m` set them by the clock, `:every +10M` whenever the heap has grown by so much since the
 * last one, until `:every off`; `:window` a pair around what the user does next. This viewer sets
 * them, so they stop when it ends.
 *
 * Commands to the agent return at once; the screen changes when the agent's frames arrive.
 */
#include "app/actions.h"

#include <memtop/memtop.h>

#include <string.h>

/* `then`: what the user can do next. */
static void say_set(const struct ui *ui, const char *where, const char *name, const char *then)
{
	const char *colon = *name ? ": " : "";

	if (watch_instant(ui->shown.watch))
		status_say("marking now%s, not the instant shown%s%s", where, colon, name);
	else
		status_say("setting a mark%s%s%s; %s", where, colon, name, then);
}

static int say_none(void)
{
	return status_error("no mark set: no live link to the program");
}

int mark_set(struct ui *ui, const char *name)
{
	size_t processes = every_mark(ui->processes, ui->shown.watch, name);
	char where[48] = "";

	if (!processes)
		return say_none();
	if (processes > 1)
		snprintf(where, sizeof where, " in %zu processes", processes);
	say_set(ui, where, name, "d compares with it");
	return 0;
}

int mark_set_shown(struct ui *ui, const char *name)
{
	if (ui_of_all(ui))
		return mark_set(ui, name);
	const struct process *list, *p;
	size_t count = processes_list(ui->processes, &list);
	char where[96] = "";

	if (watch_mark(ui->shown.watch, name))
		return say_none();
	p = others_watched(list, count, ui->shown.watch);
	if (p && others_watches(ui->processes) > 1)
		snprintf(where, sizeof where, " in %.63s [%d] alone", p->name, p->pid);
	say_set(ui, where, name, *where ? "S marks all processes" : "d compares with it");
	return 0;
}

/* A window is a pair of marks, NAME and NAME.end, as memtop_start() and memtop_stop() set them. */
int mark_window(struct ui *ui, const char *name)
{
	char mark[MTW_NAME_MAX + 1];
	bool begins = !*ui->window;

	if (begins)
		snprintf(ui->window, sizeof ui->window, "%.60s", *name ? name : "window");
	snprintf(mark, sizeof mark, "%.60s%s", ui->window, begins ? "" : MEMTOP_WINDOW_END);
	if (!every_mark(ui->processes, ui->shown.watch, mark)) {
		if (begins)
			*ui->window = '\0';
		return say_none();
	}
	if (begins) {
		status_say("window %s begins; :window ends it", ui->window);
		return 0;
	}
	status_say("window %s has ended; D compares %s and %s", ui->window, ui->window, mark);
	*ui->window = '\0';
	return 0;
}

int mark_every(struct ui *ui, const char *text)
{
	struct every e = { 0 };
	char size[32];

	if (!strcmp(text, "off")) {
		ui->every = e;
		status_say("automatic marks: off");
		return 0;
	}
	if (*text == '+' ? !every_growth(&e, text + 1) : !every_time(&e, text))
		return status_error(
			"every: write 60, 5m, 1h, +10M (when the heap grew by 10M) or off");
	if (!ui_linked(ui))
		return status_error("every: no live link to the program");
	every_begin(&e, ui->processes, ui->shown.watch);
	ui->every = e;
	if (e.ns)
		status_say("automatic marks: every %s; :every off stops them",
			   text_span(size, e.ns));
	else
		status_say("automatic marks: each time the heap grew by %s; :every off stops them",
			   text_bytes(size, e.bytes));
	return 0;
}

void mark_go_on(struct ui *ui)
{
	every_go_on(&ui->every, ui->processes, ui->shown.watch);
}
