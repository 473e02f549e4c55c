/* SPDX-License-Identifier: MIT
 *
 * rows.c - memtop's own cost of a tick and a key with many call paths.
 *
 * Usage: rows PATHS [CHANGED] (make bench-rows). A made-up session: PATHS stacks of 8 to 24 frames
 * under one main, of which CHANGED (a thousand) change per tick. Prints milliseconds: the median
 * and the worst of 15 rounds of each step.
 */
#include "base/base.h"
#include "query/query.h"
#include "wire/decode.h"

#include <stdlib.h>
#include <time.h>

#define FUNCTIONS 4000u
#define ROUNDS 15

/* Symbols that know everything at once. */
struct symbols {
	const struct model *m;
	struct symbol symbol[FUNCTIONS];
	struct symbol_frame frame[FUNCTIONS];
};

void symbols_progress(const struct symbols *s, uint64_t *done, uint64_t *asked)
{
	(void)s;
	*done = *asked = 0;
}

uint64_t symbols_generation(const struct symbols *s)
{
	return s->m != NULL;
}

bool symbols_answered(const struct symbols *s, uint64_t generation, struct symbol_place *p)
{
	(void)s, (void)generation, (void)p;
	return false;
}

const struct symbol *symbols_of_location(struct symbols *s, uint32_t number)
{
	return &s->symbol[model_location(s->m, number)->offset % FUNCTIONS];
}

const struct symbol *symbols_shown(struct symbols *s, uint32_t number)
{
	return symbols_of_location(s, number);
}

const struct debuginfod *symbols_debuginfod(const struct symbols *s)
{
	(void)s;
	return NULL;
}

static struct symbols *all_names(const struct model *m)
{
	struct symbols *s = xcalloc(1, sizeof *s);

	s->m = m;
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		char *name = xasprintf("function_%04u", i);
		s->frame[i] = (struct symbol_frame){ name, name, "made.c", i, false };
		s->symbol[i] = (struct symbol){ SYMBOL_DWARF, 1, &s->frame[i] };
	}
	return s;
}

static void apply(struct model *m, const struct event *e)
{
	struct err err;

	if (model_apply(m, e, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

static uint32_t random_below(uint32_t n)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % n;
}

static struct tally *counts, total;
static uint32_t changed = 1000;

static void grow(struct model *m, uint32_t slot)
{
	struct event e = { .type = MTW_COUNTS };
	struct tally *t = &counts[slot];
	uint64_t blocks = 1 + random_below(5), bytes = blocks * (16 + random_below(500));

	t->alloc_blocks += blocks;
	t->alloc_bytes += bytes;
	total.alloc_blocks += blocks;
	total.alloc_bytes += bytes;
	e.u.counts.slot = slot;
	e.u.counts.now = *t;
	apply(m, &e);
}

static void tick(struct model *m)
{
	static uint64_t now;
	struct event e = { .type = MTW_TOTALS };

	e.u.totals.sum = total;
	apply(m, &e);
	e = (struct event){ .type = MTW_TICK };
	e.u.tick.time_ns = now += 100000000;
	e.u.tick.flags = MTW_TICK_COMPLETE;
	apply(m, &e);
}

/* Each stack leaves a stack before it at a random height and goes its own way from there. */
static void make(struct model *m, uint32_t paths)
{
	struct event e = { .type = MTW_MODULE };
	uint32_t node = 0, path[32], depth = 0;

	e.u.module.path = (struct text){ "/bin/made", 9 };
	apply(m, &e);
	counts = xcalloc(paths + 1, sizeof *counts);
	for (uint32_t i = 1; i <= paths; i++) {
		uint32_t length = 8 + random_below(17), from = depth ? 1 + random_below(depth) : 0;
		if (from > 3 && random_below(8))
			from = depth - random_below(3);
		if (length <= from)
			length = from + 1;
		for (depth = from; depth < length && depth < 32; depth++) {
			e = (struct event){ .type = MTW_NODES };
			e.u.node.id = ++node;
			e.u.node.parent = depth ? path[depth - 1] : 0;
			e.u.node.offset = depth ? 1 + random_below(FUNCTIONS * 4) : 0;
			apply(m, &e);
			path[depth] = node;
		}
		e = (struct event){ .type = MTW_SLOTS };
		e.u.slot.id = i;
		e.u.slot.node = node;
		apply(m, &e);
		grow(m, i);
	}
	printf("%u stacks, %u nodes\n", paths, node);
}

static double spent[ROUNDS];

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say(const char *what)
{
	qsort(spent, ROUNDS, sizeof *spent, ascending);
	printf("%-44s median %8.2f ms, worst %8.2f ms\n", what, spent[ROUNDS / 2],
	       spent[ROUNDS - 1]);
}

/* Of this thread: others run beside it. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define MEASURE(round, ...)                                                                        \
	do {                                                                                       \
		uint64_t begin = cpu_ns();                                                         \
		__VA_ARGS__;                                                                       \
		spent[round] = (double)(cpu_ns() - begin) / 1e6;                                   \
	} while (0)

#define ONCE(what, ...)                                                                            \
	do {                                                                                       \
		MEASURE(0, __VA_ARGS__);                                                           \
		printf("%-44s %8.2f ms\n", what, spent[0]);                                        \
	} while (0)

/* Resident, beside the bench's own counters. */
static void say_memory(const char *when, uint32_t paths)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%*u %lu", &pages) == 1)
		printf("%-44s %8.0f bytes a path\n", when,
		       (double)pages * 4096 / paths - (double)sizeof *counts);
	if (f)
		fclose(f);
}

static void change(struct model *m, uint32_t paths)
{
	for (uint32_t i = 0; i < changed; i++)
		grow(m, 1 + random_below(paths));
}

int main(int argc, char **argv)
{
	uint32_t paths = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100000;
	changed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : changed;
	struct model *m = model_new();
	struct symbols *s = all_names(m);
	struct owners *o = owners_new(m, s);
	struct query *q = query_new(m, s, o);
	const struct owner *owners;
	const struct site *sites;
	const struct row *rows;
	struct verdict v;
	size_t n = 0, pending;
	struct err err;

	ONCE("events of the first state", make(m, paths));
	ONCE("first tick", tick(m));
	say_memory("memory", paths);
	ONCE("first owners", owners_update(o, &owners));
	ONCE("first rows of the tree", n = query_rows(q, true, &rows));
	ONCE("first call sites", query_sites(q, BY_LIVE, false, true, &sites));
	ONCE("first heaviest path, rows", query_open_heaviest(q, 0);
	     n = query_rows(q, true, &rows));
	printf("  %zu rows\n", n);
	say_memory("memory", paths);
	for (int mode = 0; mode < 4; mode++) {
		static const char *const title[] = { "tree", "inverted tree", "filtered tree",
						     "many open rows" };
		printf("%s\n", title[mode]);
		query_set_inverted(q, mode == 1);
		query_set_filter(q, mode == 2 ? "function_0001" : "", &err);
		if (mode == 3)
			query_open_below(q, 0, true, 5000);
		ONCE("  first rows", n = query_rows(q, true, &rows));
		ONCE("  open a row, rows", query_open(q, rows[0].id, true);
		     n = query_rows(q, true, &rows));
		printf("  %zu rows\n", n);
		for (int i = 0; i < ROUNDS; i++)
			MEASURE(i, query_rows(q, false, &rows));
		say("  key without change: rows");
		for (int i = 0; i < ROUNDS; i++)
			MEASURE(i, change(m, paths); tick(m));
		say("  tick with its changes: model");
		ONCE("  ... first rows and call sites after it", n = query_rows(q, true, &rows);
		     query_sites(q, BY_LIVE, false, true, &sites));
		for (int i = 0; i < ROUNDS; i++) {
			change(m, paths);
			tick(m);
			MEASURE(i, n = query_rows(q, true, &rows));
		}
		say("  ... rows");
		for (int i = 0; i < ROUNDS; i++) {
			change(m, paths);
			tick(m);
			MEASURE(i, owners_update(o, &owners));
		}
		say("  ... owners");
		for (int i = 0; i < ROUNDS; i++) {
			change(m, paths);
			tick(m);
			MEASURE(i, query_sites(q, BY_LIVE, false, true, &sites));
		}
		say("  ... call sites");
		for (int i = 0; i < ROUNDS; i++) {
			change(m, paths);
			tick(m);
			MEASURE(i, query_verdict(q, &v));
		}
		say("  ... verdict");
	}
	query_search(q, "function_0002");
	ONCE("search", query_hits(q, &pending));
	ONCE("rows of the search", n = query_rows(q, true, &rows));
	printf("  %zu rows\n", n);
	say_memory("memory, with a window of rates", paths);
	return 0;
}
