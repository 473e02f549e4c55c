/* SPDX-License-Identifier: MIT
 *
 * made_query.h - a made session with queries on it, for the tests of the queries. Include it once,
 * after check.h.
 */
#ifndef MADE_QUERY_H
#define MADE_QUERY_H

#include "made.h"
#include "owners/expected.h"
#include "query/query.h"

#define SECOND 1000000000ull

#define MADE_SAMPLES 32u

/* What an agent samples (agent/collect/samples.c), with a distance between samples that tests may
 * choose. */
struct made_samples {
	struct sample_figures list[MADE_SAMPLES];
	size_t count;
	uint32_t serial;
	uint64_t interval_ns, next_ns, low, peak, fall;
	double phase; /* 0..1: where in each stratum; < 0: anywhere, as the agent does */
};

struct session {
	struct model *m;
	struct symbols s;
	struct owners *o;
	struct query *q;
	uint64_t now;
	struct tally sum;
	struct made_samples samples;
	struct stops stops;
	uint64_t stopped_ns;    /* so far: samples are taken by running time */
	struct expected *rules; /* none until the first */
};

static inline void begin(struct session *x)
{
	memset(x, 0, sizeof *x);
	x->m = model_new();
	x->s.m = x->m;
	made_module(x->m, 0, "/usr/bin/program", MTW_MODULE_MAIN);
	made_module(x->m, 1, "/lib/libtile.so.2", 0);
	made_module(x->m, 2, "/lib/libc.so.6", MTW_MODULE_LIBC);
	x->o = owners_new(x->m, &x->s);
	x->q = query_new(x->m, &x->s, x->o);
	x->samples.interval_ns = SECOND * 5 / 4;
	x->samples.phase = -1;
}

static inline void end(struct session *x)
{
	query_free(x->q);
	owners_free(x->o);
	model_free(x->m);
}

static inline void made_thin(struct made_samples *t)
{
	size_t n = 0, from = t->interval_ns < 20 * SECOND ? 0 : 4;

	for (size_t i = 0; i < t->count; i++) {
		bool goes = from ? i < from : i % 2 == 0;
		struct sample_figures *f = &t->list[i], *next = f + 1;
		if (goes) {
			next->low_bytes =
				f->low_bytes < next->low_bytes ? f->low_bytes : next->low_bytes;
			next->fall_bytes =
				f->fall_bytes > next->fall_bytes ? f->fall_bytes : next->fall_bytes;
		} else {
			t->list[n++] = *f;
		}
	}
	t->count = n;
	t->interval_ns *= from ? 1 : 2;
}

/* The slots of a sample, all of them: what repeats itself is allowed. */
static inline void made_sample_cells(struct session *x)
{
	struct event e = { .type = MTW_SAMPLE_LIVE };

	e.u.mark_live.mark = x->samples.serial;
	for (uint32_t id = 1; id < model_columns(x->m)->slots->ids.end; id++) {
		struct live is = made_live_of(x->m, id);
		if (!made_has_slot(x->m, id))
			continue;
		e.u.mark_live.slot = id;
		e.u.mark_live.blocks = is.blocks;
		e.u.mark_live.bytes = is.bytes;
		made_apply(x->m, &e);
	}
	e.u.mark_live.slot = 0;
	e.u.mark_live.end = true;
	made_apply(x->m, &e);
}

static inline void made_sample(struct session *x)
{
	struct made_samples *t = &x->samples;
	struct event e = { .type = MTW_SAMPLES };
	uint64_t rss, live = live_bytes(&x->sum);

	model_process(x->m, &rss, &(uint64_t){ 0 }, &(uint32_t){ 0 }, &(uint32_t){ 0 });
	if (t->count == MADE_SAMPLES)
		made_thin(t);
	t->list[t->count++] =
		(struct sample_figures){ ++t->serial, x->now, live, rss, t->low, t->fall };
	t->low = t->peak = live;
	t->fall = 0;
	e.u.samples.count = t->count;
	memcpy(e.u.samples.list, t->list, t->count * sizeof *t->list);
	made_apply(x->m, &e);
	made_sample_cells(x);
	double place = t->phase < 0 ? (double)(t->serial * 2654435761u % 1000) / 1000 : t->phase;
	t->next_ns = ((x->now - x->stopped_ns) / t->interval_ns + 1) * t->interval_ns +
		     (uint64_t)(place * (double)t->interval_ns);
}

/* Twice: what a sample says of slots is said of counters that took effect. */
static inline void tick(struct session *x, uint64_t ns)
{
	struct made_samples *t = &x->samples;
	uint64_t live = live_bytes(&x->sum);

	made_tick_whole(x->m, &x->sum, x->now += ns);
	t->low = live < t->low ? live : t->low;
	t->peak = live > t->peak ? live : t->peak;
	t->fall = t->peak - live > t->fall ? t->peak - live : t->fall;
	if (x->now - x->stopped_ns < t->next_ns)
		return;
	made_sample(x);
	made_tick_whole(x->m, &x->sum, x->now);
}

/* A program that is stopped, as its agent says it; 0: it continues. */
static inline void made_stop(struct session *x, uint32_t why)
{
	struct event e = { .type = MTW_STOPS };
	struct stop *p = &x->stops.list[x->stops.count];

	if (why) {
		*p = (struct stop){ x->now, UINT64_MAX, 0, 1, why, 0, "" };
		x->stops.count++;
	} else {
		p[-1].end_ns = x->now;
		p[-1].stopped_ns = x->now - p[-1].begin_ns;
	}
	e.u.stops = x->stops;
	made_apply(x->m, &e);
}

static inline void stop_for(struct session *x, uint32_t why, uint64_t ns, uint64_t step_ns)
{
	made_stop(x, why);
	for (uint64_t end = x->now + ns; x->now < end;) {
		x->stopped_ns += step_ns;
		tick(x, step_ns);
	}
}

/* More in a slot; it is made, for the node of its number, when it is new. */
static inline void grow(struct session *x, uint32_t slot, uint64_t blocks, uint64_t bytes)
{
	if (!made_has_slot(x->m, slot))
		made_slot(x->m, slot, slot, 0);
	struct tally t = made_now(x->m, slot);
	x->sum.alloc_blocks += blocks;
	x->sum.alloc_bytes += bytes;
	made_counts(x->m, slot, t.alloc_blocks + blocks, t.alloc_bytes + bytes, t.free_blocks,
		    t.free_bytes);
}

static inline void shrink(struct session *x, uint32_t slot, uint64_t blocks, uint64_t bytes)
{
	struct tally t = made_now(x->m, slot);

	x->sum.free_blocks += blocks;
	x->sum.free_bytes += bytes;
	made_counts(x->m, slot, t.alloc_blocks, t.alloc_bytes, t.free_blocks + blocks,
		    t.free_bytes + bytes);
}

static inline void node(struct session *x, uint32_t id, uint32_t parent, uint32_t module,
			const char *name)
{
	made_node(x->m, id, parent, module, id * 16);
	if (name)
		made_symbol(&x->s, module, id * 16, name);
}

/* "name live  name live ..." in the order of the screen, indented by dots. */
static inline const char *screen(struct session *x, bool resort)
{
	static char text[8192];
	const struct row *r;
	size_t n = query_rows(x->q, resort, &r), at = 0;

	text[0] = 0;
	for (size_t i = 0; i < n; i++) {
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s%s %llu", i ? "\n" : "",
				       (int)r[i].depth, "..........", r[i].name,
				       (unsigned long long)live_bytes(&r[i].amounts.sum));
		CHECK_EQ(query_index(x->q, r[i].id), i);
		CHECK(r[i].parent == 0 || query_index(x->q, r[i].parent) < i);
	}
	return text;
}

static inline row_id row(struct session *x, const char *name)
{
	const struct row *r;
	size_t n = query_rows(x->q, false, &r);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(r[i].name, name))
			return r[i].id;
	printf("  no row \"%s\" in:\n%s\n", name, screen(x, false));
	fflush(stdout);
	_exit(1);
}

static inline void open_row(struct session *x, const char *name)
{
	CHECK_EQ(query_open(x->q, row(x, name), true), 0);
}

/* One call path: its node, and the bytes of its one block. */
struct made_path {
	uint32_t id, parent, module;
	const char *name;
	uint64_t bytes; /* 0: no block */
};

static inline void begin_with(struct session *x, const struct made_path *paths, size_t count)
{
	begin(x);
	for (size_t i = 0; i < count; i++)
		node(x, paths[i].id, paths[i].parent, paths[i].module, paths[i].name);
	for (size_t i = 0; i < count; i++)
		if (paths[i].bytes)
			grow(x, paths[i].id, 1, paths[i].bytes);
	tick(x, SECOND);
}

#define BEGIN_WITH(x, paths) begin_with(x, paths, sizeof(paths) / sizeof *(paths))

/* main > serve at two lines (one function) > decode, draw; main > log */
static inline void family(struct session *x)
{
	static const struct made_path paths[] = {
		{ 1, 0, 0, "main", 0 },      { 2, 1, 0, "serve", 0 },    { 3, 1, 0, "serve", 0 },
		{ 4, 2, 1, "decode", 400 },  { 5, 3, 1, "decode", 300 }, { 6, 3, 1, "draw", 2000 },
		{ 7, 1, 0, "log_line", 50 },
	};

	BEGIN_WITH(x, paths);
}

/* The site is what the person expects, or no more. */
static inline void expect(struct session *x, uint32_t site, bool on)
{
	char key[EXPECTED_KEY_MAX], rule[2 * EXPECTED_KEY_MAX];

	if (!x->rules)
		x->rules = expected_new();
	query_expect(x->q, x->rules);
	CHECK(query_site_key(x->q, site, key));
	expected_rule_of(rule, key);
	CHECK_EQ(expected_set(x->rules, rule, on), 0);
}

#endif
