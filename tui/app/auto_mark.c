/* SPDX-License-Identifier: MIT
 *
 * auto_mark.c - marks that set themselves: `:every 60`, `:every 5m`, `:every +10M`, `:every off`.
 * By the clock, or whenever the heap has grown by so much since the last one. By this viewer: they
 * end with it.
 */
#include "app/actions.h"

#include <stdlib.h>
#include <string.h>

#define NS 1000000000ull
#define LEAST_NS NS /* a mark costs the agent a pass over what changed */
#define LEAST_BYTES 4096u

/* A number and a letter of `letters`, each worth one of `worth`; without a letter one of `plain`.
 * 0: it is none. */
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
static uint64_t live_now(const struct app *a)
{
	struct processes_sum sum;

	processes_total(a->processes, &sum);
	return sum.lines > 1 ? sum.bytes.least
			     : live_bytes(&model_totals(watch_now(a->watch))->sum);
}

int action_every(struct app *a, const char *text)
{
	static const uint64_t seconds[] = { NS, 60 * NS, 3600 * NS },
			      bytes[] = { 1u << 10, 1u << 20, 1u << 30 };
	struct every e = { .live = live_now(a) };
	char size[32];

	if (!strcmp(text, "off")) {
		a->every = (struct every){ 0 };
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
	if (!watch_live(a->watch))
		return status_error("every: no live link to the program");
	e.next_ns = now_ns() + e.ns;
	a->every = e;
	if (e.ns)
		status_say("automatic marks: every %s; :every off stops them",
			   text_span(size, e.ns));
	else
		status_say("automatic marks: each time the heap grew by %s; :every off stops them",
			   text_bytes(size, e.bytes));
	return 0;
}

void auto_mark_go_on(struct app *a)
{
	struct every *e = &a->every;
	uint64_t now = now_ns(), live = e->bytes ? live_now(a) : 0;

	if (e->ns ? now < e->next_ns : !e->bytes || live < e->live + e->bytes)
		return;
	if (!action_mark(a, ""))
		return; /* when the link is back */
	/* Times that passed without a link are left out. */
	e->next_ns += e->ns ? (now - e->next_ns) / e->ns * e->ns + e->ns : 0;
	e->live = live;
}

void auto_mark_words(const struct app *a, char *out, size_t size)
{
	const struct every *e = &a->every;
	uint64_t now = now_ns();
	char one[32], two[32];

	*out = 0;
	if (e->ns)
		snprintf(out, size, "every %s, next in %s", text_span(one, e->ns),
			 text_span(two, e->next_ns > now ? e->next_ns - now : 0));
	else if (e->bytes)
		snprintf(out, size, "every +%s, next at %s", text_bytes(one, e->bytes),
			 text_bytes(two, e->live + e->bytes));
}
