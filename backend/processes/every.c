/* SPDX-License-Identifier: MIT */
#include "processes/every.h"

#include "processes/processes.h"

#include <memtop/amount.h>
#include <time.h>

#define NS 1000000000ull
#define LEAST_NS NS
#define MOST_NS (1000000 * NS) /* eleven days */
#define LEAST_BYTES 4096u
#define MOST_BYTES (1ull << 50)

bool every_time(struct every *e, const char *text)
{
	*e = (struct every){ 0 };
	return mtw_amount(text, MTW_AMOUNT_NS, &e->ns) && e->ns >= LEAST_NS && e->ns <= MOST_NS;
}

bool every_growth(struct every *e, const char *text)
{
	*e = (struct every){ 0 };
	return mtw_amount(text, MTW_AMOUNT_BYTES, &e->bytes) && e->bytes >= LEAST_BYTES &&
	       e->bytes <= MOST_BYTES;
}

/* Of the tree: another process may be shown by the time of the next mark. */
static uint64_t live_now(const struct processes *p, struct watch *w)
{
	struct processes_sum sum = { 0 };

	if (p)
		processes_total(p, &sum);
	return sum.lines > 1 ? sum.bytes.least : live_bytes(&model_totals(watch_now(w))->sum);
}

void every_begin(struct every *e, const struct processes *p, struct watch *w)
{
	e->live = live_now(p, w);
	e->next_ns = now_ns() + e->ns;
}

size_t every_mark(struct processes *p, struct watch *w, const char *name)
{
	char clock[32];
	time_t now = time(NULL);
	struct tm tm;

	if (!p)
		return !watch_mark(w, name);
	if (!*name && processes_running(p) > 1 && localtime_r(&now, &tm) &&
	    strftime(clock, sizeof clock, "%H:%M:%S", &tm))
		name = clock;
	return processes_mark(p, name);
}

void every_go_on(struct every *e, struct processes *p, struct watch *w)
{
	uint64_t now = now_ns(), live = e->bytes ? live_now(p, w) : 0;

	if (e->ns ? now < e->next_ns : !e->bytes || live < e->live + e->bytes)
		return;
	if (!every_mark(p, w, ""))
		return; /* tries again at the next call */
	/* Skips the times that passed without a link. */
	e->next_ns += e->ns ? (now - e->next_ns) / e->ns * e->ns + e->ns : 0;
	e->live = live;
}
