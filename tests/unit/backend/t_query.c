/* SPDX-License-Identifier: MIT
 *
 * t_query.c - rows of the call tree, call sites, the verdict: by hand, and at random against the same
 * asked anew.
 */
#include "check.h"
#include "made.h"
#include "query.h"

#define SECOND 1000000000ull

struct session {
	struct model *m;
	struct symbols s;
	struct owners *o;
	struct query *q;
	uint64_t now;
	struct tally sum;
};

static void begin(struct session *x)
{
	memset(x, 0, sizeof *x);
	x->m = model_new();
	x->s.m = x->m;
	made_module(x->m, 0, "/usr/bin/program", MTW_MODULE_MAIN);
	made_module(x->m, 1, "/lib/libtile.so.2", 0);
	made_module(x->m, 2, "/lib/libc.so.6", MTW_MODULE_LIBC);
	x->o = owners_new(x->m, &x->s);
	x->q = query_new(x->m, &x->s, x->o);
}

static void end(struct session *x)
{
	query_free(x->q);
	owners_free(x->o);
	model_free(x->m);
}

static void tick(struct session *x, uint64_t ns)
{
	made_tick_whole(x->m, &x->sum, x->now += ns);
}

/* More in a slot; it is made, for the node of its number, when it is new. */
static void grow(struct session *x, uint32_t slot, uint64_t blocks, uint64_t bytes)
{
	const struct slot *s = model_slot(x->m, slot);

	if (!s || !s->known) {
		made_slot(x->m, slot, slot, 0);
		s = model_slot(x->m, slot);
	}
	struct tally t = s->now;
	x->sum.alloc_blocks += blocks;
	x->sum.alloc_bytes += bytes;
	made_counts(x->m, slot, t.alloc_blocks + blocks, t.alloc_bytes + bytes, t.free_blocks, t.free_bytes);
}

static void shrink(struct session *x, uint32_t slot, uint64_t blocks, uint64_t bytes)
{
	struct tally t = model_slot(x->m, slot)->now;

	x->sum.free_blocks += blocks;
	x->sum.free_bytes += bytes;
	made_counts(x->m, slot, t.alloc_blocks, t.alloc_bytes, t.free_blocks + blocks, t.free_bytes + bytes);
}

static void node(struct session *x, uint32_t id, uint32_t parent, uint32_t module, const char *name)
{
	made_node(x->m, id, parent, module, id * 16);
	if (name)
		made_symbol(&x->s, module, id * 16, name);
}

/* "name live  name live ..." in the order of the screen, indented by dots. */
static const char *screen(struct session *x, bool resort)
{
	static char text[8192];
	const struct row *r;
	size_t n = query_rows(x->q, resort, &r), at = 0;

	text[0] = 0;
	for (size_t i = 0; i < n; i++) {
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s%s %llu", i ? "\n" : "", (int)r[i].depth,
				       "..........", r[i].name, (unsigned long long)live_bytes(&r[i].incl));
		CHECK_EQ(query_index(x->q, r[i].id), i);
		CHECK(r[i].parent == 0 || query_index(x->q, r[i].parent) < i);
	}
	return text;
}

static row_id row(struct session *x, const char *name)
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

static void open_row(struct session *x, const char *name)
{
	CHECK_EQ(query_open(x->q, row(x, name), true), 0);
}

/* main > serve at two lines (one function) > decode, draw; main > log */
static void family(struct session *x)
{
	begin(x);
	node(x, 1, 0, 0, "main");
	node(x, 2, 1, 0, "serve");
	node(x, 3, 1, 0, "serve");
	node(x, 4, 2, 1, "decode");
	node(x, 5, 3, 1, "decode");
	node(x, 6, 3, 1, "draw");
	node(x, 7, 1, 0, "log_line");
	grow(x, 4, 1, 400);
	grow(x, 5, 1, 300);
	grow(x, 6, 1, 2000);
	grow(x, 7, 1, 50);
	tick(x, SECOND);
}

TEST(one_function_is_one_row)
{
	struct session x;

	family(&x);
	CHECK_STR(screen(&x, true), "main 2750");
	open_row(&x, "main");
	CHECK_STR(screen(&x, true), "main 2750\n.serve 2700\n.log_line 50");
	open_row(&x, "serve");
	CHECK_STR(screen(&x, true), "main 2750\n.serve 2700\n..draw 2000\n..decode 700\n.log_line 50");
	const struct row *r;
	query_rows(x.q, false, &r);
	CHECK_EQ(r[1].paths, 2);
	CHECK_EQ(r[3].paths, 2);
	CHECK_EQ(r[3].node, 4);
	CHECK_STR(r[3].owner->name, "libtile.so.2");
	CHECK_EQ(r[3].flags & (ROW_LEAF | ROW_OPEN), ROW_LEAF);
	CHECK_EQ(live_bytes(&r[1].self), 0);
	CHECK_EQ(live_bytes(&r[3].self), 700);
	end(&x);
}

TEST(inlined_frames_are_rows)
{
	struct session x;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	node(&x, 2, 1, 0, "push|grow|serve");
	node(&x, 3, 1, 0, "log_line");
	grow(&x, 2, 1, 100);
	grow(&x, 3, 1, 10);
	tick(&x, SECOND);
	open_row(&x, "main");
	CHECK_STR(screen(&x, true), "main 110\n.serve > grow > push 100\n.log_line 10");
	const struct row *r;
	query_rows(x.q, false, &r);
	CHECK_EQ(r[1].folded, 3);
	CHECK(r[1].flags & ROW_INLINED);
	query_unfold(x.q, r[1].id);
	CHECK_STR(screen(&x, true), "main 110\n.serve 100\n..grow > push 100\n.log_line 10");
	query_unfold(x.q, row(&x, "serve"));
	CHECK_STR(screen(&x, true), "main 110\n.serve > grow > push 100\n.log_line 10");
	end(&x);
}

TEST(rows_keep_their_numbers_and_places)
{
	struct session x;

	family(&x);
	open_row(&x, "main");
	row_id serve = row(&x, "serve"), logs = row(&x, "log_line");
	for (int i = 0; i < 10; i++) {
		const struct row *r;
		uint64_t live[2];
		query_rows(x.q, true, &r);
		live[0] = live_bytes(&r[query_index(x.q, serve)].incl);
		live[1] = live_bytes(&r[query_index(x.q, logs)].incl);
		bool before = query_index(x.q, serve) < query_index(x.q, logs);
		CHECK_EQ(before, live[0] > live[1]);
		if (before)
			grow(&x, 7, 1, live[0] - live[1] + 1000);
		else
			grow(&x, 4, 1, live[1] - live[0] + 1000);
		tick(&x, SECOND / 10);
		screen(&x, false);
		CHECK_EQ(row(&x, "serve"), serve);
		CHECK_EQ(query_index(x.q, serve) < query_index(x.q, logs), before); /* not sorted unless asked */
		screen(&x, true);
		CHECK_EQ(query_index(x.q, serve) < query_index(x.q, logs), !before);
	}
	end(&x);
}

TEST(open_rows_stay_open_when_names_come)
{
	struct session x;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	node(&x, 2, 1, 1, NULL);
	node(&x, 3, 1, 1, NULL);
	node(&x, 4, 2, 1, NULL);
	node(&x, 5, 2, 0, "other");
	node(&x, 6, 1, 0, "third");
	grow(&x, 4, 1, 100);
	grow(&x, 5, 1, 70);
	grow(&x, 3, 1, 30);
	grow(&x, 6, 1, 10);
	tick(&x, SECOND);
	open_row(&x, "main");
	open_row(&x, "libtile.so.2+0x20");
	CHECK_STR(screen(&x, true),
		  "main 210\n.libtile.so.2+0x20 170\n..libtile.so.2+0x40 100\n..other 70\n.libtile.so.2+0x30 30\n.third 10");
	row_id id = row(&x, "libtile.so.2+0x20");
	made_answer(&x.s, 1, 2 * 16, SYMBOL_TABLE, "serve");
	CHECK_STR(screen(&x, false), "main 210\n.serve 170\n..libtile.so.2+0x40 100\n..other 70\n.libtile.so.2+0x30 30\n.third 10");
	CHECK_EQ(row(&x, "serve"), id);
	made_symbol(&x.s, 1, 3 * 16, "serve"); /* two rows become one */
	CHECK_STR(screen(&x, false), "main 210\n.serve 200\n..libtile.so.2+0x40 100\n..other 70\n.third 10");
	CHECK_EQ(row(&x, "serve"), id);
	made_symbol(&x.s, 1, 2 * 16, "inner|middle|serve"); /* one row becomes a chain */
	CHECK_STR(screen(&x, false), "main 210\n.serve 200\n..middle > inner 170\n...libtile.so.2+0x40 100\n...other 70\n.third 10");
	CHECK_EQ(row(&x, "serve"), id);
	end(&x);
}

TEST(small_rows_fold)
{
	struct session x;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 0; i < 20; i++) {
		static char names[20][8];
		snprintf(names[i], 8, "f%02u", i);
		node(&x, 2 + i, 1, 0, names[i]);
		grow(&x, 2 + i, 1, i < 2 ? 1000001 - i : i);
	}
	tick(&x, SECOND);
	open_row(&x, "main");
	CHECK_STR(screen(&x, true), "main 2000190\n.f00 1000001\n.f01 1000000\n.... 18 more 189");
	const struct row *r;
	size_t n = query_rows(x.q, false, &r);
	CHECK(r[3].flags & ROW_REST);
	CHECK_EQ(r[3].paths, 18);
	grow(&x, 5, 1, 1);
	tick(&x, SECOND);
	CHECK_STR(screen(&x, false), "main 2000191\n.f00 1000001\n.f01 1000000\n.... 18 more 190");
	CHECK_EQ(query_open(x.q, r[3].id, true), 0);
	n = query_rows(x.q, true, &r);
	CHECK_EQ(n, 21);
	uint64_t sum = 0;
	for (size_t i = 1; i < n; i++)
		sum += live_bytes(&r[i].incl);
	CHECK_EQ(sum, 2000191);
	end(&x);
}

TEST(filter_keeps_matching_stacks)
{
	struct session x;
	struct err err;

	family(&x);
	open_row(&x, "main");
	open_row(&x, "serve");
	CHECK_EQ(query_set_filter(x.q, "decode", &err), 0);
	CHECK_STR(screen(&x, true), "main 700\n.serve 700\n..decode 700");
	CHECK_EQ(query_set_filter(x.q, "decode size>350", &err), 0);
	CHECK_STR(screen(&x, true), "main 400\n.serve 400\n..decode 400");
	grow(&x, 5, 1, 60); /* now above */
	tick(&x, SECOND);
	CHECK_STR(screen(&x, true), "main 760\n.serve 760\n..decode 760");
	CHECK_EQ(query_set_filter(x.q, "lib:tile DRAW", &err), 0);
	CHECK_STR(screen(&x, true), "main 2000\n.serve 2000\n..draw 2000");
	CHECK_EQ(query_set_filter(x.q, "no_such_name", &err), 0);
	CHECK_STR(screen(&x, true), "");
	CHECK_EQ(query_set_filter(x.q, "size>many", &err), -1);
	CHECK(strstr(err.text, "not a size"));
	CHECK_EQ(query_set_filter(x.q, "", &err), 0);
	CHECK_STR(screen(&x, true), "main 2810\n.serve 2760\n..draw 2000\n..decode 760\n.log_line 50");
	made_mark(x.m, 1, 0, x.now, 0, "m");
	for (uint32_t i = 4; i <= 7; i++)
		made_cell(x.m, 1, i, live_blocks(&model_slot(x.m, i)->now), live_bytes(&model_slot(x.m, i)->now));
	made_cells_end(x.m, 1);
	made_slot(x.m, 100, 7, 1);
	grow(&x, 100, 1, 9);
	tick(&x, SECOND);
	CHECK_EQ(model_set_base(x.m, 1), 0);
	CHECK_EQ(query_set_filter(x.q, "grew", &err), 0);
	CHECK_STR(screen(&x, true), "main 59\n.log_line 59");
	CHECK_EQ(query_set_filter(x.q, "new", &err), 0);
	CHECK_STR(screen(&x, true), "");
	end(&x);
}

TEST(zoom)
{
	struct session x;

	family(&x);
	open_row(&x, "main");
	CHECK_EQ(query_zoom(x.q, row(&x, "serve")), 0);
	CHECK_STR(screen(&x, true), "serve 2700\n.draw 2000\n.decode 700");
	CHECK_EQ(query_zoom(x.q, row(&x, "decode")), 0);
	CHECK_STR(screen(&x, true), "decode 700");
	CHECK_EQ(query_zoom(x.q, 0), 0);
	CHECK_EQ(query_zoom(x.q, 0), 0);
	CHECK_STR(screen(&x, true), "main 2750\n.serve 2700\n..draw 2000\n..decode 700\n.log_line 50");
	CHECK_EQ(query_zoom(x.q, 0), -1);
	CHECK_EQ(query_zoom_owner(x.q, 1), 0);
	CHECK_STR(screen(&x, true), "main 2700\n.serve 2700\n..draw 2000\n..decode 700");
	CHECK_EQ(query_zoom(x.q, 0), 0);
	end(&x);
}

TEST(search_opens_parents_of_hits)
{
	struct session x;
	size_t pending;

	family(&x);
	node(&x, 8, 6, 1, NULL);
	grow(&x, 8, 1, 5);
	tick(&x, SECOND);
	CHECK_EQ(query_search(x.q, "DECO", &pending), 2);
	CHECK_EQ(pending, 1);
	CHECK_STR(screen(&x, true), "main 2755\n.serve 2705\n..draw 2005\n..decode 700\n.log_line 50");
	row_id hit = query_search_next(x.q, row(&x, "main"), false);
	CHECK_EQ(hit, row(&x, "decode"));
	CHECK_EQ(query_search_next(x.q, hit, false), hit);
	CHECK_EQ(query_search(x.q, "", &pending), 0);
	screen(&x, false);
	CHECK_EQ(query_search_next(x.q, hit, true), 0);
	CHECK_EQ(query_open_node(x.q, 7), row(&x, "log_line"));
	end(&x);
}

TEST(heaviest_path_stops_at_a_fork)
{
	struct session x;

	family(&x);
	row_id last = query_open_heaviest(x.q, 0);
	CHECK_STR(screen(&x, true), "main 2750\n.serve 2700\n..draw 2000\n..decode 700\n.log_line 50");
	CHECK_EQ(last, row(&x, "draw"));
	end(&x);
}

TEST(inverted_sums_by_callers)
{
	struct session x;

	family(&x);
	query_set_inverted(x.q, true);
	CHECK_STR(screen(&x, true), "draw 2000\ndecode 700\nlog_line 50");
	node(&x, 8, 7, 1, "decode"); /* another caller */
	grow(&x, 8, 1, 33);
	tick(&x, SECOND);
	open_row(&x, "decode");
	CHECK_STR(screen(&x, true), "draw 2000\ndecode 733\n.serve < main 700\n.log_line < main 33\nlog_line 50");
	const struct row *r;
	query_rows(x.q, false, &r);
	CHECK_EQ(live_bytes(&r[1].self), 733);
	query_set_inverted(x.q, false);
	CHECK_STR(screen(&x, true), "main 2783");
	end(&x);
}

TEST(recursion_counts_once)
{
	struct session x;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 2; i <= 6; i++) {
		node(&x, i, i - 1, 0, "visit");
		grow(&x, i, 1, 10);
	}
	tick(&x, SECOND);
	CHECK_STR(screen(&x, true), "main > visit 50");
	query_open_below(x.q, 0, true, 100);
	CHECK_STR(screen(&x, true), "main > visit 50\n.visit 40\n..visit 30\n...visit 20\n....visit 10");
	query_set_inverted(x.q, true);
	CHECK_EQ(query_open_below(x.q, 0, false, 100), 0);
	CHECK_STR(screen(&x, true), "visit 50"); /* five stacks, one function: counted once */
	end(&x);
}

TEST(opening_all_has_a_limit)
{
	struct session x;

	begin(&x);
	node(&x, 1, 0, 0, "main");
	for (uint32_t i = 2; i < 200; i++) {
		static char names[200][8];
		snprintf(names[i], 8, "f%03u", i);
		node(&x, i, i / 3 ? i / 3 : 1, 0, names[i]);
		grow(&x, i, 1, i);
	}
	tick(&x, SECOND);
	CHECK(query_open_below(x.q, 0, true, 20) > 0);
	const struct row *r;
	size_t n = query_rows(x.q, true, &r);
	CHECK(n > 20 && n < 100);
	CHECK_EQ(query_open_below(x.q, 0, true, 100000), 0);
	query_open_below(x.q, 0, false, SIZE_MAX);
	CHECK_EQ(query_rows(x.q, true, &r), 1);
	end(&x);
}

TEST(truncated_and_dead_rows)
{
	struct session x;
	const struct row *r;

	begin(&x);
	made_truncated(x.m, 1, MTW_TRUNC_DEPTH);
	node(&x, 2, 1, 0, "lost");
	node(&x, 3, 1, 0, "gone");
	grow(&x, 2, 1, 10);
	grow(&x, 3, 1, 10);
	tick(&x, SECOND);
	shrink(&x, 3, 1, 10);
	tick(&x, SECOND);
	query_open_below(x.q, 0, true, 10);
	CHECK_EQ(query_rows(x.q, true, &r), 3);
	CHECK_STR(r[0].name, "[described]");
	CHECK(r[0].flags & ROW_TRUNCATED);
	CHECK(!(r[1].flags & ROW_ZERO));
	CHECK(r[2].flags & ROW_ZERO);
	end(&x);
}

/* --- call sites */

TEST(sites_join_stacks)
{
	struct session x;
	const struct site *s;

	family(&x);
	node(&x, 8, 4, 2, "malloc"); /* a wrapper: its caller is the site */
	grow(&x, 8, 1, 90);
	tick(&x, SECOND);
	size_t n = query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK_EQ(n, 3);
	CHECK_STR(s[0].name, "draw");
	CHECK_STR(s[1].name, "decode");
	CHECK_STR(s[1].caller, "serve");
	CHECK_EQ(s[1].stacks, 3);
	CHECK_EQ(live_bytes(&s[1].sum), 790);
	CHECK_EQ(s[1].leaf, 4);
	uint32_t id = s[1].id;
	grow(&x, 5, 1, 5000);
	tick(&x, SECOND);
	query_sites(x.q, BY_LIVE, false, false, &s);
	CHECK_EQ(s[1].id, id);
	CHECK_EQ(s[1].leaf, 5);
	query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK_EQ(s[0].id, id);
	shrink(&x, 5, 2, 5300);
	tick(&x, SECOND);
	query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK_EQ(s[1].leaf, 4);
	query_site_expect(x.q, id, true);
	query_sites(x.q, BY_LIVE, false, true, &s);
	CHECK(s[1].flags & ROW_EXPECTED);
	end(&x);
}

/* Each second for two minutes: live bytes of one site follow f. Names its shape. */
static enum shape shape_when(uint64_t (*f)(unsigned second), struct verdict *v)
{
	struct session x;
	const struct site *s;
	uint64_t live = 0;

	family(&x);
	for (unsigned i = 1; i <= 130; i++) {
		uint64_t want = f(i);
		if (want > live)
			grow(&x, 6, 1, want - live);
		else if (want < live)
			shrink(&x, 6, 0, live - want);
		live = want;
		tick(&x, SECOND);
		query_sites(x.q, BY_LIVE, false, true, &s); /* as a viewer does */
	}
	query_verdict(x.q, v);
	enum shape shape = s[0].shape;
	CHECK_STR(s[0].name, "draw");
	end(&x);
	return shape;
}

static uint64_t steady(unsigned i) { return i * 100000ull; }
static uint64_t slowing(unsigned i) { return 10000000ull - 10000000ull / (i + 1); }
static uint64_t a_step(unsigned i) { return i < 60 ? 5000000 : 25000000; }
static uint64_t saw(unsigned i) { return 5000000 + i % 35 * 300000ull; }
static uint64_t flat(unsigned i) { return 5000000 + i % 2 * 100; }
static uint64_t less(unsigned i) { return 20000000 - i * 100000ull; }

TEST(shapes_and_verdicts)
{
	static const struct { uint64_t (*f)(unsigned); enum shape shape; const char *words; } all[] = {
		{ steady, SHAPE_STEADY, "GROWING" }, { slowing, SHAPE_SLOWING, "FILLING" },
		{ a_step, SHAPE_STEP, "STEP" }, { saw, SHAPE_SAWTOOTH, "UP AND DOWN" },
		{ flat, SHAPE_FLAT, "FLAT" }, { less, SHAPE_SHRINKING, "SHRINKING" },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct verdict v;
		CHECK_EQ(shape_when(all[i].f, &v), all[i].shape);
		if (strncmp(v.text, all[i].words, strlen(all[i].words))) {
			printf("  \"%s\" should begin with %s\n", v.text, all[i].words);
			fflush(stdout);
			_exit(1);
		}
		if (i < 3)
			CHECK(strstr(v.text, "draw") && strstr(v.text, "libtile.so.2"));
	}
}

TEST(verdicts_of_beginning_and_end)
{
	struct session x;
	struct verdict v;

	begin(&x);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_EMPTY);
	end(&x);
	family(&x);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_WATCHING);
	model_set_state(x.m, MTW_EXITED, 3, true);
	made_tick(x.m, x.now += SECOND, MTW_TICK_COMPLETE | MTW_TICK_FINAL);
	query_verdict(x.q, &v);
	CHECK_EQ(v.kind, V_ENDED);
	CHECK(strstr(v.text, "EXITED (status 3)") && strstr(v.text, "draw"));
	end(&x);
}

TEST(intervals_between_marks)
{
	struct session x;
	const struct interval_row *rows;

	family(&x);
	for (uint32_t k = 1; k <= 3; k++) {
		made_mark(x.m, k, k - 1, x.now, 0, "m");
		for (uint32_t i = 4; i <= 7; i++)
			made_cell(x.m, k, i, live_blocks(&model_slot(x.m, i)->now), live_bytes(&model_slot(x.m, i)->now));
		for (uint32_t e = 1; e < k; e++)
			made_cell(x.m, k, 100 + e, 1, 10 * e);
		made_cells_end(x.m, k);
		made_slot(x.m, 100 + k, 4, k);
		grow(&x, 100 + k, 1, 10 * k);
		if (k == 2)
			shrink(&x, 6, 0, 1500);
		tick(&x, SECOND);
	}
	CHECK_EQ(query_intervals(x.q, 1, 0, &rows), 2);
	CHECK_STR(rows[0].site.name, "decode");
	CHECK_EQ(rows[0].count, 3);
	CHECK_EQ(rows[0].net[0], 10);
	CHECK_EQ(rows[0].net[1], 20);
	CHECK_EQ(rows[0].net[2], 30);
	CHECK_STR(rows[1].site.name, "draw");
	CHECK_EQ(rows[1].net[0], 0);
	CHECK_EQ(rows[1].net[1], -1500);
	CHECK_EQ(query_intervals(x.q, 1, 2, &rows), 1);
	CHECK_EQ(rows[0].net[0], 10);
	end(&x);
}

TEST(stack_for_reports)
{
	struct session x;
	struct frame_out f[8];

	begin(&x);
	node(&x, 1, 0, 0, "main");
	node(&x, 2, 1, 1, "push|serve");
	CHECK_EQ(query_stack(x.q, 2, f, 8), 3);
	CHECK_STR(f[0].function, "push");
	CHECK(f[0].inlined && !f[1].inlined);
	CHECK_STR(f[1].module, "libtile.so.2");
	CHECK_EQ(f[1].offset, 32);
	CHECK_STR(f[2].function, "main");
	CHECK_EQ(query_stack(x.q, 2, f, 2), 2);
	CHECK_EQ(query_stack(x.q, 77, f, 8), 0);
	end(&x);
}

/* --- random sessions: what is kept equals what is made anew */

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 24) % n;
}

struct line { char text[400]; };

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

/* All rows, opened, with the names of their parents; sorted. */
static size_t all_rows(struct query *q, struct line *lines, size_t max)
{
	const struct row *r;
	char path[64][64];

	CHECK_EQ(query_open_below(q, 0, true, 1u << 30), 0);
	size_t n = query_rows(q, true, &r);
	CHECK(n < max);
	for (size_t i = 0; i < n; i++) {
		size_t at = 0;
		CHECK(r[i].depth < 64);
		snprintf(path[r[i].depth], 64, "%s", r[i].name);
		for (uint32_t d = 0; d <= r[i].depth; d++)
			at += (size_t)snprintf(lines[i].text + at, at < 300 ? 300 - at : 0, "%s/", path[d]);
		at = strlen(lines[i].text);
		snprintf(lines[i].text + at, 400 - at, " %llu %llu %llu %lld %llu %u %x",
			 (unsigned long long)r[i].incl.alloc_bytes, (unsigned long long)live_bytes(&r[i].incl),
			 (unsigned long long)live_bytes(&r[i].self),
			 (long long)(r[i].change.born_bytes - r[i].change.gone_bytes),
			 (unsigned long long)r[i].rate_bytes, r[i].paths,
			 r[i].flags & (ROW_OPEN | ROW_LEAF | ROW_ZERO)); /* the others are of the heaviest, of which two may be */
	}
	qsort(lines, n, sizeof *lines, by_text);
	return n;
}

static size_t all_sites(struct query *q, struct line *lines)
{
	const struct site *s;
	size_t n = query_sites(q, BY_LIVE, false, true, &s);

	for (size_t i = 0; i < n; i++)
		snprintf(lines[i].text, sizeof lines[i].text, "%s %llu %llu %u %lld %s %x", s[i].name,
			 (unsigned long long)live_bytes(&s[i].sum), (unsigned long long)s[i].sum.alloc_bytes,
			 s[i].stacks, (long long)(s[i].change.born_bytes - s[i].change.gone_bytes), s[i].owner->name,
			 s[i].flags);
	qsort(lines, n, sizeof *lines, by_text);
	return n;
}

static void same(const struct line *a, size_t na, const struct line *b, size_t nb)
{
	for (size_t i = 0; i < na && i < nb; i++)
		CHECK_STR(a[i].text, b[i].text);
	CHECK_EQ(na, nb);
}

#define LINES 4000

static void compare(struct session *x, const char *filter)
{
	static struct line kept[LINES], anew[LINES];
	struct owners *o = owners_new(x->m, &x->s);
	struct query *q = query_new(x->m, &x->s, o);
	struct err err;

	CHECK_EQ(query_set_filter(q, filter, &err), 0);
	query_set_inverted(q, query_inverted(x->q));
	size_t n = all_rows(x->q, kept, LINES);
	same(kept, n, anew, all_rows(q, anew, LINES));
	n = all_sites(x->q, kept);
	same(kept, n, anew, all_sites(q, anew));
	query_free(q);
	owners_free(o);
}

static void random_names(struct session *x, uint32_t nodes)
{
	static const char *const names[] = { "a", "b", "c", "d", "a|b", "malloc", "b|c|a", "std::less", "e", "f" };

	for (uint32_t n = below(4); n; n--) {
		const struct node *v = model_node(x->m, 1 + below(nodes));
		made_answer(&x->s, v->module, v->offset, below(3) ? SYMBOL_TABLE : SYMBOL_DWARF, names[below(10)]);
	}
}

static void random_look(struct session *x)
{
	const struct row *r;
	size_t n = query_rows(x->q, below(2), &r);

	for (int i = 0; i < 3 && n; i++)
		query_open(x->q, r[below((uint32_t)n)].id, below(3) != 0);
	if (below(2))
		query_rows(x->q, below(2), &r);
}

static void random_session(uint64_t number)
{
	static const char *const filters[] = { "", "", "a", "b a", "size>300", "lib:tile", "grew", "malloc" };
	struct session x;
	uint32_t nodes = 0, slots = 0, epoch = 0, marks = 0;
	const char *filter = "";
	struct err err;

	seed = number * 2654435761u + 7;
	begin(&x);
	for (int step = 0; step < 150; step++) {
		for (uint32_t n = below(4); n && nodes < 150; n--) {
			/* Few locations, so that names join nodes. */
			nodes++;
			made_node(x.m, nodes, below(3) ? below(nodes) : 0, below(3), 16 * (1 + below(40)));
		}
		for (uint32_t n = below(12); nodes && n; n--) {
			uint32_t s = slots && (below(3) || slots == 299) ? 1 + below(slots) : 0;
			if (!s) {
				s = ++slots;
				made_slot(x.m, s, 1 + below(nodes), epoch);
			}
			const struct tally *t = &model_slot(x.m, s)->now;
			if (below(3) && model_slot(x.m, s)->epoch == epoch)
				grow(&x, s, 1, below(1000));
			else if (live_blocks(t))
				shrink(&x, s, 1, live_blocks(t) == 1 ? live_bytes(t) : below((uint32_t)live_bytes(t) + 1));
			tick(&x, SECOND / 50);
		}
		if (nodes)
			random_names(&x, nodes);
		if (below(3) == 0)
			random_look(&x);
		if (below(12) == 0)
			query_set_inverted(x.q, !query_inverted(x.q));
		if (below(12) == 0) {
			filter = filters[below(8)];
			CHECK_EQ(query_set_filter(x.q, filter, &err), 0);
		}
		if (below(25) == 0 && marks < 5) {
			made_mark(x.m, ++marks, epoch++, x.now, 0, "m");
			for (uint32_t i = 1; i <= slots; i++)
				made_cell(x.m, marks, i, live_blocks(&model_slot(x.m, i)->now), live_bytes(&model_slot(x.m, i)->now));
			made_cells_end(x.m, marks);
		}
		if (below(25) == 0)
			CHECK_EQ(model_set_base(x.m, below(marks + 1)), 0);
		if (below(5) == 0)
			compare(&x, filter);
	}
	compare(&x, filter);
	end(&x);
}

TEST(random_sessions_equal_those_asked_anew)
{
	for (uint64_t number = 1; number <= 60; number++)
		random_session(number);
}
