/* SPDX-License-Identifier: MIT
 *
 * others.c - see process/others.h.
 *
 * A first program may hold next to nothing: a shell that waits for a service, a compiler's driver.
 * The lines must then name the process that matters without a key press.
 */
#include "process/others.h"

#include "process/process_rows.h"
#include "screen/text.h"

#define HOLDS_MORE 4 /* a process that holds so many times as much is worth a look */
#define HOLDS_MOST 3 /* so many parts of HOLDS_OF of all */
#define HOLDS_OF 4
#define HOLDS_LEAST 0x10000u /* and at least so many bytes more */
#define GROWS_LEAST 0x10000u /* bytes a minute */
#define GROWS_PART 1000      /* of its live bytes: line 2 calls less than one part flat */

const struct process *others_watched(const struct process *list, size_t count,
				     const struct watch *w)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].watch == w && list[i].state != PROCESS_EXECED)
			return &list[i];
	return NULL;
}

size_t others_watches(const struct processes *p)
{
	const struct process *list;
	size_t n = processes_list(p, &list), live = 0;

	for (size_t i = 0; i < n; i++)
		live += list[i].watch && watch_live(list[i].watch);
	return live;
}

size_t others_marked(const struct processes *p, const char *name)
{
	const struct process *list;
	size_t n = processes_list(p, &list), marked = 0;

	for (size_t i = 0; i < n; i++)
		marked += list[i].watch && model_mark_find(watch_now(list[i].watch), name) > 0;
	return marked;
}

static uint64_t held(const struct process *p, bool now)
{
	return now ? p->live_bytes : p->peak_bytes;
}

/* The largest other process: among running ones by live memory, or, when `now` is false, among
 * those with a tree by peak. */
static const struct process *holds_most(const struct process *shown, const struct process *list,
					size_t count, bool now)
{
	const struct process *most = NULL;

	for (size_t i = 0; i < count; i++)
		if (&list[i] != shown && list[i].state != PROCESS_UNFOLLOWED &&
		    (now ? process_runs(&list[i]) : list[i].matters) &&
		    (!most || held(&list[i], now) > held(most, now)))
			most = &list[i];
	return most;
}

static bool much_more(const struct process *p, const struct process *shown, bool now)
{
	uint64_t mine = held(shown, now), other = held(p, now);

	return other >= mine + HOLDS_LEAST && other / HOLDS_MORE >= mine;
}

static bool grows_visibly(const struct process *p)
{
	return p->growth >= GROWS_LEAST && p->growth >= (double)p->live_bytes / GROWS_PART;
}

static void say(struct others *o, const struct process *p, const char *what, const char *figure)
{
	o->look = p->id;
	if (p->pid)
		snprintf(o->hint, sizeof o->hint, "%.63s [%d] %s%s", p->name, p->pid, what, figure);
	else
		snprintf(o->hint, sizeof o->hint, "%.63s %s%s", p->name, what, figure);
}

void others_judge(struct others *o, const struct process *shown, const struct process *grows,
		  const struct process *list, size_t count)
{
	bool now = o->running > 0;
	const struct process *most = holds_most(shown, list, count, now);
	char figure[48], size[32];

	if (grows && grows_visibly(grows)) {
		snprintf(figure, sizeof figure, "%s/min",
			 text_bytes_signed(size, (int64_t)grows->growth));
		say(o, grows, "grows more: ", figure);
	} else if (most && now && !o->shown_runs) {
		say(o, most, "runs on and holds ", text_bytes(size, most->live_bytes));
	} else if (most && much_more(most, shown, now)) {
		say(o, most,
		    now ? "holds more: " : "held more: ", text_bytes(size, held(most, now)));
	}
}

/* Without what it inherited, which another one has, too. */
static uint64_t own_bytes(const struct process *p)
{
	uint64_t inherited = process_inherited(p);

	return p->live_bytes > inherited ? p->live_bytes - inherited : 0;
}

/* The process that makes up most of all. */
static void judge_all(struct others *o, const struct process *all, const struct process *list,
		      size_t count)
{
	static const struct process none;
	const struct process *most = &none, *grows = &none;
	char figure[48], size[32];

	for (size_t i = 0; i < count; i++) {
		if (!process_runs(&list[i]))
			continue;
		grows = list[i].growth > grows->growth ? &list[i] : grows;
		most = own_bytes(&list[i]) > own_bytes(most) ? &list[i] : most;
	}
	if (grows_visibly(grows)) {
		snprintf(figure, sizeof figure, "%s/min",
			 text_bytes_signed(size, (int64_t)grows->growth));
		say(o, grows, "grows most: ", figure);
	} else if (own_bytes(most) >= HOLDS_LEAST &&
		   own_bytes(most) / HOLDS_MOST >= all->live_bytes / HOLDS_OF) {
		say(o, most, "holds most: ", text_bytes(size, own_bytes(most)));
	}
}

void others_take(struct others *o, const struct processes *p, const struct watch *w)
{
	const struct process *list;
	size_t count = processes_list(p, &list);
	const struct process *shown = others_watched(list, count, w);

	*o = (struct others){ 0 };
	if (!shown) {
		const struct process *all = processes_find(p, PROCESS_ALL);
		if (!all || !w || all->watch != w)
			return;
		*o = (struct others){ .shown = PROCESS_ALL, .shown_runs = process_runs(all) };
		judge_all(o, all, list, count);
		return;
	}
	o->shown = shown->id;
	o->shown_runs = process_runs(shown);
	for (size_t i = 0; i < count; i++) {
		const struct process *other = &list[i];
		/* An exec goes on as another line. */
		if (other == shown || other->state == PROCESS_EXECED)
			continue;
		o->running += process_runs(other);
		o->over += !process_runs(other);
	}
	others_judge(o, shown, processes_grows_more(p, shown->id), list, count);
}
