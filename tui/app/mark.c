/* SPDX-License-Identifier: MIT
 *
 * mark.c - marks. A key sets one in every process, `:mark NAME` in the shown one. `:every 60` and
 * `:every 5m` set them by the clock, `:every +10M` whenever the heap has grown by so much since the
 * last one, until `:every off`. This viewer sets them, so they stop when it ends.
 *
 * Commands to the agent return at once; the screen changes when the agent's frames arrive.
 */
#include "app/actions.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS 1000000000ull
#define LEAST_NS NS /* a mark costs the agent a pass over what changed */
#define LEAST_BYTES 4096u

/* Each agent numbers its own marks, so an unnamed mark gets the time of day as its name in all
 * processes. */
static size_t set(struct ui *ui, const char *name)
{
	char clock[32];
	time_t now = time(NULL);
	struct tm tm;

	if (!*name && others_watches(ui->processes) > 1 && localtime_r(&now, &tm) &&
	    strftime(clock, sizeof clock, "%H:%M:%S", &tm))
		name = clock;
	return processes_mark(ui->processes, name);
}

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
	size_t processes = set(ui, name);
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

/* --- by themselves */

/* Parses a number with an optional unit of `letters` (factors: `worth`; without a letter `plain`).
 * 0: invalid. */
static uint64_t amount(const char *text, const char *letters, const uint64_t *worth, uint64_t plain)
{
	char *end;
	double n = strtod(text, &end);
	const char *letter = *end ? strchr(letters, *end) : NULL;

	if (end == text || n <= 0 || (*end && (!letter || end[1])))
		return 0;
	n *= (double)(letter ? worth[letter - letters] : plain);
	return n < 1e15 ? (uint64_t)n : 0; /* eleven days in ns */
}

/* Of the tree: another process may be shown by the time of the next mark. */
static uint64_t live_now(const struct ui *ui)
{
	struct processes_sum sum;

	processes_total(ui->processes, &sum);
	return sum.lines > 1 ? sum.bytes.least
			     : live_bytes(&model_totals(watch_now(ui->shown.watch))->sum);
}

int mark_every(struct ui *ui, const char *text)
{
	static const uint64_t seconds[] = { NS, 60 * NS, 3600 * NS },
			      bytes[] = { 1u << 10, 1u << 20, 1u << 30 };
	struct every e = { .live = live_now(ui) };
	char size[32];

	if (!strcmp(text, "off")) {
		ui->every = (struct every){ 0 };
		status_say("automatic marks: off");
		return 0;
	}
	if (*text == '+')
		e.bytes = amount(text + 1, "KMG", bytes, 1);
	else
		e.ns = amount(text, "smh", seconds, NS);
	if (e.bytes < LEAST_BYTES && e.ns < LEAST_NS)
		return status_error(
			"every: write 60, 5m, 1h, +10M (when the heap grew by 10M) or off");
	if (!watch_live(ui->shown.watch))
		return status_error("every: no live link to the program");
	e.next_ns = now_ns() + e.ns;
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
	struct every *e = &ui->every;
	uint64_t now = now_ns(), live = e->bytes ? live_now(ui) : 0;

	if (e->ns ? now < e->next_ns : !e->bytes || live < e->live + e->bytes)
		return;
	if (!set(ui, ""))
		return; /* tries again at the next call */
	/* Skips the times that passed without a link. */
	e->next_ns += e->ns ? (now - e->next_ns) / e->ns * e->ns + e->ns : 0;
	e->live = live;
}
