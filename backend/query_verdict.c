/* SPDX-License-Identifier: MIT
 *
 * query_verdict.c - is it growing, how fast, and where, in one line of words.
 *
 * Judged by the same intervals as every call site's shape (query_growth.c), so that the line and
 * the rows below it say the same. The call site that grew most is named, by file and line where
 * these are known. Where the heap does not grow but the process does, that is said. Only while these are too few, and the agent was there before us, its history of
 * the last ten minutes is judged; it knows libraries, not call sites, and the line says so.
 */
#include "query_sites.h"
#include "report.h"

#include <string.h>

#define NS 1000000000ull
#define WINDOW_NS (600 * NS)
#define HISTORY_NEEDED_NS (60 * NS)
#define START_UP_NS (5 * NS)
#define STILL_BYTES 4096 /* as for the shapes: less is flat */
#define OTHER_PART 20    /* of growth, less than one part in so many is little */
#define RSS_PART 20      /* of RSS, less than one part in so many is no growth worth a line */
#define RSS_LEAST (4u << 20)

static void say(struct verdict *v, const char *format, ...) PRINTF(2, 3);
static void say(struct verdict *v, const char *format, ...)
{
	size_t len = strlen(v->text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(v->text + len, sizeof v->text - len, format, ap);
	va_end(ap);
}

static void span(char out[24], uint64_t ns)
{
	uint64_t s = (ns + NS / 2) / NS;

	if (s < 120)
		snprintf(out, 24, "%u s", (unsigned)s);
	else
		snprintf(out, 24, "%u min", (unsigned)((s + 30) / 60));
}

/* "+2.4M" a minute, for "10 min". */
static void per_minute(const struct growth *g, int64_t total, char number[REPORT_NUMBER], char time[24])
{
	uint64_t length = g->at_ns[g->count] - g->at_ns[0];

	report_signed(number, length ? (int64_t)((double)total / ((double)length / (60.0 * (double)NS))) : 0);
	span(time, length);
}

/* How much of it, never more than all. */
static void say_share(struct verdict *v, uint64_t part, uint64_t whole)
{
	say(v, ".  %u %% of it: ",
	    whole && part < whole ? (unsigned)((double)part / (double)whole * 100) : 100);
}

static void say_site(struct verdict *v, const struct site *s)
{
	const char *slash = s->file ? strrchr(s->file, '/') : NULL;

	say(v, "%.60s", s->name);
	if (s->file && s->line)
		say(v, " %.40s:%u", slash ? slash + 1 : s->file, s->line);
	else if (s->caller)
		say(v, " < %.40s", s->caller);
	if (s->owner)
		say(v, "  %.40s", s->owner->name);
	v->site = s->id;
}

/*
 * It grew, and then no more: the newest intervals and what came after them hold nothing. Growth that
 * merely slows is no such thing, however little it has become.
 */
static bool stopped(struct verdict *v, const struct growth *g, uint64_t now)
{
	int64_t after = g->since, before = 0;
	size_t last = g->count;
	char number[REPORT_NUMBER], time[24], flat[24];

	while (last && g->net[last - 1] + (after > 0 ? after : 0) <= STILL_BYTES)
		after += g->net[--last];
	for (size_t i = 0; i < last; i++)
		before += g->net[i];
	if (!last || last == g->count || g->since > STILL_BYTES || before <= STILL_BYTES)
		return false;
	v->kind = V_FLAT;
	span(time, g->at_ns[last] - g->at_ns[0]);
	span(flat, now - g->at_ns[last]);
	say(v, "GREW %s in %s, then not for %s", report_signed(number, before), time, flat);
	return true;
}

static void say_kind(struct verdict *v, enum shape shape, const struct growth *g, int64_t total,
		     int64_t steady, uint64_t now)
{
	char number[REPORT_NUMBER], time[24];
	int64_t shrunk = 0;
	size_t largest = 0;

	per_minute(g, total, number, time);
	for (size_t i = 0; i < g->count; i++) {
		largest = g->net[i] > g->net[largest] ? i : largest;
		shrunk -= g->net[i] < 0 ? g->net[i] : 0;
	}
	switch (shape) {
	case SHAPE_STEADY:
		v->kind = V_GROWING;
		say(v, "GROWING %s/min for %s, steady", number, time);
		return;
	case SHAPE_SLOWING:
		/* A leak beside what fills up, or beside a vector that doubles ever more rarely. */
		if (steady >= total / 2) {
			v->kind = V_GROWING;
			say(v, "GROWING %s/min for %s, mostly steady", number, time);
			return;
		}
		if (stopped(v, g, now))
			return;
		v->kind = V_FILLING;
		say(v, "FILLING %s/min for %s, slowing (a cache?)", number, time);
		return;
	case SHAPE_STEP:
		v->kind = V_STEP;
		uint64_t s = g->at_ns[largest + 1] / NS;
		say(v, "STEP %s before %u:%02u:%02u", report_signed(number, g->net[largest]),
		    (unsigned)(s / 3600), (unsigned)(s / 60 % 60), (unsigned)(s % 60));
		return;
	case SHAPE_SAWTOOTH:
		v->kind = total > shrunk ? V_GROWING : V_FLAT; /* the last swing leaves something */
		say(v, "UP AND DOWN, %s/min over %s", number, time);
		return;
	default:
		v->kind = shape == SHAPE_SHRINKING ? V_SHRINKING : V_FLAT;
		say(v, "%s %s/min over %s", shape == SHAPE_SHRINKING ? "SHRINKING" : "FLAT", number,
		    time);
	}
}

/* steady: how much of it came from call sites that grow steadily, 0 when they are not known. */
static int64_t judge(struct query *q, struct verdict *v, const struct growth *g, int64_t steady)
{
	int64_t total = 0;
	uint32_t grew;

	for (size_t i = 0; i < g->count; i++)
		total += g->net[i];
	enum shape shape =
		shape_of(g->net, g->ns, g->count, live_bytes(&model_totals(q->m)->sum), &grew);
	say_kind(v, shape, g, total, steady, model_time(q->m));
	return shape == SHAPE_FLAT ? 0 : total;
}

/* The last point not after a time; 0 when all are. */
static size_t point_at(const struct point *p, size_t count, uint64_t time_ns)
{
	size_t lo = 0, hi = count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (p[mid].time_ns <= time_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

/*
 * The process grows, by far more than the heap and than what the agent has could account for: the heap does not
 * grow, or no third as much. What else does, only the memory view knows.
 */
static void look_at_rss(struct query *q, struct verdict *v, const struct growth *g, int64_t heap)
{
	int64_t net[MARK_INTERVALS], total = 0, agent = (int64_t)(model_totals(q->m)->agent_memory_bytes & INT64_MAX);
	char number[REPORT_NUMBER], time[24];
	const struct point *p;
	size_t count = model_history(q->m, &p), from = count ? point_at(p, count, g->at_ns[0]) : 0, at = from;
	uint32_t grew;

	if (!count || !p[from].rss_bytes || g->at_ns[g->count] == g->at_ns[0])
		return;
	for (size_t i = 0; i < g->count; i++) {
		size_t next = point_at(p, count, g->at_ns[i + 1]);
		net[i] = net_clamped((int64_t)(p[next].rss_bytes - p[at].rss_bytes));
		total += net[i];
		at = next;
	}
	uint64_t rss = p[at].rss_bytes, least = rss / RSS_PART > RSS_LEAST ? rss / RSS_PART : RSS_LEAST;
	int64_t known = heap > 0 ? heap : 0, rest = total - known - agent;
	if (rest < (int64_t)least || rest / 2 <= known || shape_of(net, g->ns, g->count, rss, &grew) != SHAPE_STEADY)
		return;
	*v = (struct verdict){ .kind = V_RSS_GROWING };
	per_minute(g, total, number, time);
	say(v, "RSS GROWS %s/min for %s, the heap %s: Memory (7) says what%s does", number, time,
	    known ? "by far less" : "does not", known ? " else" : "");
}

/* Beside it nothing grows steadily, and all else comes to little. */
static bool only_expected(struct query *q, int64_t total, int64_t expected)
{
	int64_t little = total / OTHER_PART > STILL_BYTES ? total / OTHER_PART : STILL_BYTES;

	return sites_steady(q->sites) <= STILL_BYTES && total - expected <= little;
}

static void by_sites(struct query *q, struct verdict *v)
{
	const struct site *s = NULL;
	int64_t total = judge(q, v, &q->sites->growth, sites_steady(q->sites)), most;
	int64_t expected = sites_expected(q->sites);

	look_at_rss(q, v, &q->sites->growth, total);
	if (total <= 0 || v->kind == V_RSS_GROWING)
		return;
	if (expected > 0 && v->kind != V_FLAT && only_expected(q, total, expected)) {
		char number[REPORT_NUMBER], time[24];
		per_minute(&q->sites->growth, total, number, time);
		*v = (struct verdict){ .kind = V_FLAT };
		say(v, "AS EXPECTED %s/min for %s", number, time);
	}
	if (sites_top_growing(q->sites, &most, &s) && most >= expected) {
		say_share(v, (uint64_t)most, (uint64_t)total);
		say_site(v, s);
	} else if (expected > 0) {
		say_share(v, (uint64_t)expected, (uint64_t)total);
		say(v, "what is marked as expected");
	}
}

/* --- what the agent saw before we came */

static void say_owner(struct query *q, struct verdict *v, size_t from, size_t to, int64_t total)
{
	const struct owner *list, *best = NULL;
	size_t n = owners_update(q->o, &list);
	const bool *known = owners_known(q->o);
	int64_t most = 0;

	if (!known[from] || !known[to])
		return;
	for (size_t i = 0; i < n; i++) {
		int64_t net =
			list[i].series ? (int64_t)(list[i].series[to] - list[i].series[from]) : 0;
		if (net > most) {
			most = net;
			best = &list[i];
		}
	}
	if (!best)
		return;
	say_share(v, (uint64_t)most, (uint64_t)total);
	say(v, "%.40s", best->name);
}

/* False: it does not reach back far enough to say anything. */
static bool by_history(struct query *q, struct verdict *v)
{
	struct growth g = { .count = SHAPE_INTERVALS };
	const struct point *p;
	size_t count = model_history(q->m, &p), at[SHAPE_INTERVALS + 1];
	uint64_t now = model_time(q->m), from = now > WINDOW_NS ? now - WINDOW_NS : 0;

	if (!count)
		return false;
	from = from < p[0].time_ns ? p[0].time_ns : from;
	from = from < START_UP_NS ? START_UP_NS : from;
	if (now < from + HISTORY_NEEDED_NS)
		return false;
	for (size_t i = 0; i <= SHAPE_INTERVALS; i++) {
		g.at_ns[i] = from + (now - from) * i / SHAPE_INTERVALS;
		at[i] = point_at(p, count, g.at_ns[i]);
	}
	for (size_t i = 0; i < SHAPE_INTERVALS; i++) {
		g.ns[i] = g.at_ns[i + 1] - g.at_ns[i];
		g.net[i] = net_clamped((int64_t)(p[at[i + 1]].live_bytes - p[at[i]].live_bytes));
	}
	int64_t total = judge(q, v, &g, 0);
	if (total > 0)
		say_owner(q, v, at[0], at[SHAPE_INTERVALS], total);
	say(v, "; call sites in %u s", (unsigned)(q->sites->growth.needed_ns / NS + 1));
	return true;
}

/* --- */

static void ended(struct query *q, struct verdict *v, bool with_site)
{
	int status;
	bool known;
	char bytes[REPORT_NUMBER], blocks[REPORT_NUMBER];
	uint32_t state = model_state(q->m, &status, &known);
	const struct tally *sum = &model_totals(q->m)->sum;
	const struct site *top = NULL;

	v->kind = V_ENDED;
	for (size_t i = 0; with_site && i < q->sites->count; i++) {
		const struct site *s = &q->sites->sites[i]->pub;
		if (s->stacks && live_bytes(&s->sum) &&
		    (!top || live_bytes(&s->sum) > live_bytes(&top->sum)))
			top = s;
	}
	say(v, "%s",
	    state == MTW_SIGNALLED ? "KILLED"
	    : state == MTW_EXECED  ? "REPLACED by another program"
	    : state == MTW_EXITED && known ? "EXITED"
	    : state == MTW_CUT	   ? "CUT OFF"
	    : state == MTW_DETACHED ? "DETACHED"
				   : "ENDED");
	if (known && (state == MTW_EXITED || state == MTW_SIGNALLED))
		say(v, " (%s %d)", state == MTW_EXITED ? "status" : "signal", status);
	say(v, ", %s alive %s in %s block%s", report_bytes(bytes, live_bytes(sum)),
	    state == MTW_CUT ? "where it was cut" : state == MTW_DETACHED ? "when the agent was taken out" : "at the end",
	    report_count(blocks, live_blocks(sum)), live_blocks(sum) == 1 ? "" : "s");
	if (top) {
		say_share(v, live_bytes(&top->sum), live_bytes(sum));
		say_site(v, top);
	}
}

void query_verdict(struct query *q, struct verdict *v)
{
	bool whole = sites_table(q) != NULL;
	struct site_table *t = q->sites;

	*v = (struct verdict){ .kind = V_EMPTY };
	if (model_final(q->m) || model_state(q->m, NULL, NULL) == MTW_CUT) {
		ended(q, v, whole);
	} else if (!model_totals(q->m)->sum.alloc_blocks) {
		say(v, "waiting for the first allocation");
		if (t->growth.count >= 3)
			look_at_rss(q, v, &t->growth, 0);
	} else if (!whole && t->verdict.text[0]) {
		*v = t->verdict;
	} else if (t->growth.count >= 3) {
		by_sites(q, v);
	} else if (!by_history(q, v)) {
		v->kind = V_WATCHING;
		say(v, "a verdict on growth needs %u s more of watching", (unsigned)(t->growth.needed_ns / NS + 1));
	}
	if (whole)
		t->verdict = *v;
}
