/* SPDX-License-Identifier: MIT
 *
 * query_verdict.c - is it growing, how fast, and where, in one line of words.
 *
 * Judged by the total live bytes over the last ten minutes, cut in six intervals of which the
 * first does not count when it begins with the program; named is the site that grew most.
 */
#include "query_sites.h"
#include "report.h"

#include <string.h>

#define NS 1000000000ull
#define WINDOW_NS (600 * NS)
#define NEEDED_NS (20 * NS)

/* Live bytes at a time, by the last point before it. */
static uint64_t live_at(const struct point *p, size_t count, uint64_t time_ns)
{
	size_t lo = 0, hi = count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (p[mid].time_ns <= time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? p[lo - 1].live_bytes : 0;
}

static void span(char out[24], uint64_t ns)
{
	if (ns < 120 * NS)
		snprintf(out, 24, "%u s", (unsigned)(ns / NS));
	else
		snprintf(out, 24, "%u min", (unsigned)(ns / NS / 60));
}

/* ".  94 % of it: f < g  lib" */
static void blame(struct query *q, struct verdict *v, int64_t net)
{
	const struct site *s = NULL;
	int64_t most;
	size_t len = strlen(v->text);

	v->site = sites_top_growing(q, &most, &s);
	if (!v->site || net <= 0)
		return;
	int share = most >= net ? 100 : (int)(most * 100 / net);
	snprintf(v->text + len, sizeof v->text - len, ".  %d %% of it: %.60s%s%.40s  %.40s", share, s->name,
		 s->caller ? " < " : "", s->caller ? s->caller : "", s->owner ? s->owner->name : "");
}

static void judge(struct query *q, struct verdict *v, const struct point *p, size_t count, uint64_t from, uint64_t now)
{
	int64_t net[SHAPE_INTERVALS], total = 0;
	uint64_t live = live_bytes(&model_totals(q->m)->sum);
	uint32_t grew;
	char rate[REPORT_NUMBER], time[24];

	for (size_t i = 0; i < SHAPE_INTERVALS; i++) {
		uint64_t a = from + (now - from) * i / SHAPE_INTERVALS, b = from + (now - from) * (i + 1) / SHAPE_INTERVALS;
		uint64_t end = i + 1 == SHAPE_INTERVALS ? live : live_at(p, count, b);
		net[i] = (int64_t)(end - live_at(p, count, a));
		total += net[i];
	}
	report_signed(rate, (int64_t)((double)total / ((double)(now - from) / (60.0 * (double)NS))));
	span(time, now - from);
	switch (shape_of(net, SHAPE_INTERVALS, live, &grew)) {
	case SHAPE_STEADY:
		v->kind = V_GROWING;
		snprintf(v->text, sizeof v->text, "GROWING %s/min for %s, steady", rate, time);
		break;
	case SHAPE_SLOWING:
		v->kind = V_FILLING;
		snprintf(v->text, sizeof v->text, "FILLING %s/min for %s, slowing (a cache?)", rate, time);
		break;
	case SHAPE_STEP:
		v->kind = V_STEP;
		snprintf(v->text, sizeof v->text, "STEP %s within the last %s", report_signed(rate, total), time);
		break;
	case SHAPE_SAWTOOTH:
		v->kind = total > 0 ? V_GROWING : V_FLAT;
		snprintf(v->text, sizeof v->text, "UP AND DOWN, %s/min over %s", rate, time);
		break;
	default:
		v->kind = total < 0 && (uint64_t)-total > live / 1000 + 4096 ? V_SHRINKING : V_FLAT;
		snprintf(v->text, sizeof v->text, "%s %s/min over %s", v->kind == V_FLAT ? "FLAT" : "SHRINKING", rate, time);
		return;
	}
	blame(q, v, total);
}

static void ended(struct query *q, struct verdict *v)
{
	int status;
	bool known;
	char bytes[REPORT_NUMBER], blocks[REPORT_NUMBER];
	uint32_t state = model_state(q->m, &status, &known);
	const struct tally *sum = &model_totals(q->m)->sum;
	const struct site *top;

	v->kind = V_ENDED;
	size_t n = query_sites(q, BY_LIVE, false, true, &top);
	int len = snprintf(v->text, sizeof v->text, "%s", state == MTW_SIGNALLED ? "KILLED" :
			   state == MTW_EXECED ? "REPLACED by another program" : state == MTW_EXITED ? "EXITED" :
			   "ENDED");
	if (known && (state == MTW_EXITED || state == MTW_SIGNALLED))
		len += snprintf(v->text + len, sizeof v->text - (size_t)len, " (%s %d)",
				state == MTW_EXITED ? "status" : "signal", status);
	len += snprintf(v->text + len, sizeof v->text - (size_t)len, ", %s alive at the end in %s blocks",
			report_bytes(bytes, live_bytes(sum)), report_count(blocks, live_blocks(sum)));
	if (n && live_bytes(&top[0].sum)) {
		uint64_t share = live_bytes(&top[0].sum) * 100 / live_bytes(sum);
		snprintf(v->text + len, sizeof v->text - (size_t)len, ".  %u %% of it: %.60s%s%.40s  %.40s",
			 (unsigned)share, top[0].name, top[0].caller ? " < " : "",
			 top[0].caller ? top[0].caller : "", top[0].owner ? top[0].owner->name : "");
		v->site = top[0].id;
	}
}

void query_verdict(struct query *q, struct verdict *v)
{
	const struct point *p;
	size_t count = model_history(q->m, &p);
	uint64_t now = model_time(q->m);

	*v = (struct verdict){ .kind = V_EMPTY };
	sites_table(q);
	if (model_final(q->m)) {
		ended(q, v);
		return;
	}
	if (!count || !model_totals(q->m)->sum.alloc_blocks) {
		snprintf(v->text, sizeof v->text, "waiting for the first allocation");
		return;
	}
	uint64_t from = now > WINDOW_NS ? now - WINDOW_NS : 0;
	if (from < p[0].time_ns)
		from = p[0].time_ns;
	/* A program that starts up grows: its first seconds say nothing. */
	if (from < 5 * NS)
		from = now < 5 * NS ? now : 5 * NS;
	if (now < from + NEEDED_NS) {
		v->kind = V_WATCHING;
		snprintf(v->text, sizeof v->text, "watching, %u s more needed",
			 (unsigned)((from + NEEDED_NS - now + NS - 1) / NS));
		return;
	}
	judge(q, v, p, count, from, now);
}
