/* SPDX-License-Identifier: MIT
 *
 * test_between.c - BORN, GONE, NET between any two marks, on rows, sites and owners, against plain
 * sums.
 *
 * Random sessions with many marks, some dropped (their cells merge into the next) or reduced to
 * totals. The test records each slot's memory at every mark; each row must equal the sum of its
 * stacks, to the byte.
 */
#include "check.h"
#include "made_query.h"
#include "query/state.h"
#include "random.h"

#define NODES 60
#define SLOTS 400
#define MARKS 16

struct plain {
	struct session x;
	uint32_t nodes, slots, epoch, marks, newest; /* newest: of the marks whose live is known */
	char path[NODES + 1][400];                   /* names, outermost first: "/a/b/c/" */
	char up[NODES + 1][400];                     /* innermost first */
	uint32_t node_of[SLOTS + 1];
	uint64_t at[MARKS + 1][SLOTS + 1]; /* live bytes by mark; [0]: nothing */
	bool gone[MARKS + 1];
};

static void add_node(struct plain *p)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
	uint32_t id = ++p->nodes, parent = below(3) ? below(id) : 0;
	const char *name = names[below(6)];

	node(&p->x, id, parent, name[0] % 2, name); /* a function lies in one library */
	strcpy(p->path[id], parent ? p->path[parent] : "/");
	strcat(strcat(p->path[id], name), "/");
	strcat(strcpy(p->up[id], "/"), name);
	strcat(p->up[id], parent ? p->up[parent] : "/");
}

static void add_slot(struct plain *p)
{
	uint32_t s = ++p->slots;

	p->node_of[s] = 1 + below(p->nodes);
	made_slot(p->x.m, s, p->node_of[s], p->epoch);
}

static uint64_t now_of(const struct plain *p, uint32_t slot)
{
	return made_live_of(p->x.m, slot).bytes;
}

static void change_some(struct plain *p)
{
	for (uint32_t n = 1 + below(20); n; n--) {
		uint32_t s = 1 + below(p->slots);
		struct live has = made_live_of(p->x.m, s);
		if (made_epoch(p->x.m, s) == p->epoch)
			grow(&p->x, s, 1, 1 + below(5000));
		else if (has.blocks)
			shrink(&p->x, s, 1,
			       has.blocks == 1 ? has.bytes : below((uint32_t)has.bytes));
		tick(&p->x, SECOND / 10);
	}
}

/* Cells as the agent sends them: what differs from the chain's mark before. */
static void set_mark(struct plain *p)
{
	uint32_t id = ++p->marks;

	made_mark(p->x.m, id, p->epoch++, p->x.now, 0, "m");
	for (uint32_t s = 1; s <= p->slots; s++) {
		p->at[id][s] = now_of(p, s);
		if (p->at[id][s] != p->at[p->newest][s])
			made_cell(p->x.m, id, s, made_live_of(p->x.m, s).blocks, p->at[id][s]);
	}
	made_cells_end(p->x.m, id);
	p->newest = id;
}

static void drop_mark(struct plain *p)
{
	uint32_t id = 1 + below(p->marks);

	if (p->gone[id])
		return;
	p->gone[id] = true;
	made_mark(p->x.m, id, model_mark(p->x.m, id)->epoch, p->x.now,
		  below(2) ? MTW_MARK_DROPPED : MTW_MARK_TOTALS_ONLY, "m");
	for (p->newest = p->marks; p->newest && p->gone[p->newest];)
		p->newest--;
}

struct expected {
	uint64_t born, gone;
};

static void count_change(const struct plain *p, uint32_t from, uint32_t to, uint32_t s,
			 struct expected *e)
{
	uint64_t a = p->at[from][s], b = to ? p->at[to][s] : now_of(p, s);

	e->born += b > a ? b - a : 0;
	e->gone += a > b ? a - b : 0;
}

static void must_be(const struct change *c, const struct expected *e)
{
	CHECK_EQ(c->born_bytes, e->born);
	CHECK_EQ(c->gone_bytes, e->gone);
}

/* "a > b" of a folded chain becomes "a/b". */
static void add_names(char *path, size_t size, const char *name)
{
	for (const char *c = name; *c; c++)
		if (*c >= 'a' && *c <= 'f') {
			size_t n = strlen(path);
			snprintf(path + n, size - n, "%c/", *c);
		}
}

static void check_rows(struct plain *p, uint32_t from, uint32_t to, bool inverted)
{
	const struct row *r;
	char paths[64][400];
	int64_t net = 0, want = 0;

	query_set_inverted(p->x.q, inverted);
	CHECK_EQ(query_open_below(p->x.q, 0, true, 1u << 30), 0);
	size_t n = query_rows(p->x.q, true, &r);
	for (size_t i = 0; i < n; i++) {
		char *path = paths[r[i].depth];
		struct expected e = { 0 };
		if (!r[i].depth)
			net += (int64_t)(r[i].amounts.change.born_bytes -
					 r[i].amounts.change.gone_bytes);
		snprintf(path, 400, "%s", r[i].depth ? paths[r[i].depth - 1] : "/");
		if (r[i].flags & ROW_REST)
			continue;
		add_names(path, 400, r[i].name);
		for (uint32_t s = 1; s <= p->slots; s++) {
			uint32_t at = p->node_of[s];
			if (!strncmp(inverted ? p->up[at] : p->path[at], path, strlen(path)))
				count_change(p, from, to, s, &e);
		}
		must_be(&r[i].amounts.change, &e);
		CHECK_EQ(!!(r[i].flags & ROW_ZERO),
			 to ? !(e.born | e.gone) : !live_blocks(&r[i].amounts.sum));
	}
	for (uint32_t s = 1; s <= p->slots; s++)
		want += (int64_t)((to ? p->at[to][s] : now_of(p, s)) - p->at[from][s]);
	CHECK_EQ(net, want);
}

static void check_flat(struct plain *p, uint32_t from, uint32_t to)
{
	const struct site *sites;
	const struct owner *owners;
	struct expected all = { 0 }, by_site = { 0 }, by_owner = { 0 };

	for (uint32_t s = 1; s <= p->slots; s++)
		count_change(p, from, to, s, &all);
	size_t n = query_sites(p->x.q, BY_NET, false, true, &sites);
	size_t held = n - query_sites_empty(p->x.q);
	for (size_t i = 0; i < n; i++) {
		struct expected e = { 0 };
		bool nothing = from && !to;
		for (uint32_t s = 1; s <= p->slots; s++) {
			if (p->up[p->node_of[s]][1] != sites[i].name[0])
				continue;
			count_change(p, from, to, s, &e);
			nothing &= !p->at[from][s] && !now_of(p, s);
		}
		CHECK_EQ(i >= held, nothing);
		must_be(&sites[i].amounts.change, &e);
		by_site.born += sites[i].amounts.change.born_bytes;
		by_site.gone += sites[i].amounts.change.gone_bytes;
	}
	n = owners_update(p->x.o, &owners);
	for (size_t i = 0; i < n; i++) {
		by_owner.born += owners[i].amounts.change.born_bytes;
		by_owner.gone += owners[i].amounts.change.gone_bytes;
	}
	CHECK_EQ(by_site.born, all.born);
	CHECK_EQ(by_site.gone, all.gone);
	CHECK_EQ(by_owner.born, all.born);
	CHECK_EQ(by_owner.gone, all.gone);
	struct change c = made_amounts(p->x.m, 0, true).change;
	must_be(&c, &all);
}

static void check_interval(struct plain *p)
{
	uint32_t from = below(p->marks + 1), to = from + below(p->marks + 1 - from);

	to = to == from ? 0 : to;
	if ((from && p->gone[from]) || (to && p->gone[to])) {
		CHECK_EQ(model_set_interval(p->x.m, from, to), -1);
		return;
	}
	CHECK_EQ(model_set_interval(p->x.m, from, to), 0);
	for (int later = 0; later < 3; later++) {
		check_rows(p, from, to, false);
		check_rows(p, from, to, true);
		check_flat(p, from, to);
		change_some(p); /* moves what counts up to now, and nothing else */
	}
}

static void check_marked(const struct plain *p, uint32_t count, const struct change *list)
{
	for (uint32_t id = 1, before = 0; id < count; id++) {
		struct expected e = { 0 };
		if (p->gone[id])
			continue;
		for (uint32_t s = 1; s <= p->slots; s++)
			count_change(p, before, id, s, &e);
		must_be(&list[id], &e);
		before = id;
	}
}

static void check_marks(struct plain *p)
{
	struct query *q = p->x.q;
	const struct change *list;
	struct expected e = { 0 };
	struct change c;

	model_count_since(p->x.m, p->newest);
	CHECK_EQ(query_marks(q, &list), p->marks + 1);
	check_marked(p, p->marks + 1, list);
	CHECK_EQ(query_marks(q, &list), p->marks + 1);
	if (!p->newest)
		return;
	CHECK(query_since_mark(q, p->newest, &c));
	for (uint32_t s = 1; s <= p->slots; s++)
		count_change(p, p->newest, 0, s, &e);
	must_be(&c, &e);
}

static void random_session(uint64_t number)
{
	struct plain *p = calloc(1, sizeof *p);

	seed = number * 2654435761u + 99;
	begin(&p->x);
	add_node(p);
	for (int i = 0; i < 60; i++) {
		if (p->nodes < NODES)
			add_node(p);
		for (uint32_t n = 1 + below(4); n && p->slots < SLOTS; n--)
			add_slot(p);
		change_some(p);
		if (below(3) == 0 && p->marks < MARKS)
			set_mark(p);
		if (below(8) == 0 && p->marks)
			drop_mark(p);
		if (below(2) == 0)
			check_marks(p);
		if (below(3) == 0)
			check_interval(p);
	}
	CHECK(p->marks > 5);
	end(&p->x);
	free(p);
}

TEST(random_intervals_equal_plain_sums)
{
	for (uint64_t number = 1; number <= 40; number++)
		random_session(number);
}

/* After each mark k decode gets 10 k more; draw loses 1500 between the last two; log_line stands
 * still. */
static void set_marks(struct session *x, uint32_t count)
{
	family(x);
	for (uint32_t k = 1; k <= count; k++) {
		made_mark(x->m, k, k - 1, x->now, 0, "m");
		for (uint32_t i = 4; i <= 7; i++)
			made_cell(x->m, k, i, made_live_of(x->m, i).blocks,
				  made_live_of(x->m, i).bytes);
		for (uint32_t e = 1; e < k; e++)
			made_cell(x->m, k, 100 + e, 1, 10 * e);
		made_cells_end(x->m, k);
		made_slot(x->m, 100 + k, 4, k);
		grow(x, 100 + k, 1, 10 * k);
		if (k == 2)
			shrink(x, 6, 0, 1500);
		tick(x, SECOND);
	}
}

static void three_marks(struct session *x)
{
	set_marks(x, 3);
}

/* "name born gone ..." of open rows, in order. */
static const char *changes(struct session *x)
{
	static char text[4096];
	const struct row *r;
	size_t n = query_rows(x->q, true, &r), at = 0;

	text[0] = 0;
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s%s +%llu -%llu",
				       i ? "\n" : "", (int)r[i].depth, "......", r[i].name,
				       (unsigned long long)r[i].amounts.change.born_bytes,
				       (unsigned long long)r[i].amounts.change.gone_bytes);
	return text;
}

TEST(rows_between_marks_by_hand)
{
	struct session x;
	struct err err;

	three_marks(&x);
	query_set_sort(x.q, BY_NET, false);
	CHECK_EQ(model_set_interval(x.m, 1, 2), 0);
	query_open_below(x.q, 0, true, 100);
	CHECK_STR(changes(&x),
		  "main +10 -0\n.serve +10 -0\n..decode +10 -0\n..draw +0 -0\n.log_line +0 -0");
	CHECK_EQ(model_set_interval(x.m, 2, 3), 0);
	CHECK_STR(changes(&x), "main +20 -1500\n.log_line +0 -0\n.serve +20 -1500\n..decode +20 "
			       "-0\n..draw +0 -1500");
	grow(&x, 103, 1, 7);
	tick(&x, SECOND);
	CHECK_STR(changes(&x), "main +20 -1500\n.log_line +0 -0\n.serve +20 -1500\n..decode +20 "
			       "-0\n..draw +0 -1500");
	CHECK_EQ(query_set_filter(x.q, "grew", &err), 0);
	CHECK_STR(changes(&x), "main +20 -0\n.serve +20 -0\n..decode +20 -0");
	CHECK_EQ(query_set_filter(x.q, "new", &err), 0);
	CHECK_STR(changes(&x), "");
	CHECK_EQ(model_set_interval(x.m, 0, 1), 0);
	CHECK_STR(changes(&x), "main +2750 -0\n.serve +2700 -0\n..draw +2000 -0\n..decode +700 "
			       "-0\n.log_line +50 -0");
	CHECK_EQ(query_set_filter(x.q, "", &err), 0);
	/* back to now; a mark that goes takes the interval along */
	CHECK_EQ(model_set_interval(x.m, 1, 3), 0);
	CHECK(model_diffing(x.m));
	made_mark(x.m, 3, 2, x.now, MTW_MARK_DROPPED, "m");
	CHECK(!model_diffing(x.m));
	end(&x);
}

TEST(rows_without_change_fold)
{
	struct session x;

	three_marks(&x);
	for (uint32_t i = 20; i < 30; i++) { /* alive all the time, heavy */
		char name[16];
		snprintf(name, sizeof name, "still_%u", i);
		node(&x, i, 1, 0, name);
		made_slot(x.m, i, i, 0);
		grow(&x, i, 1, 100000);
	}
	node(&x, 30, 20, 0, "below_20");
	made_slot(x.m, 30, 30, 0);
	grow(&x, 30, 1, 100000);
	tick(&x, SECOND);
	made_mark(x.m, 4, 3, x.now, 0, "m");
	made_cell(x.m, 4, 103, 1, 30);
	for (uint32_t i = 20; i <= 30; i++)
		made_cell(x.m, 4, i, 1, 100000);
	made_cells_end(x.m, 4);
	made_mark(x.m, 5, 4, x.now, 0, "m");
	made_cell(x.m, 5, 7, 0, 0);
	made_cells_end(x.m, 5);
	query_set_sort(x.q, BY_NET, false);
	query_open(x.q, row(&x, "main"), true);
	query_open(x.q, row(&x, "still_20"), true);
	CHECK_EQ(model_set_interval(x.m, 4, 5), 0);
	CHECK_STR(changes(&x), "main +0 -50\n.log_line +0 -50\n.... 11 unchanged +0 -0");
	CHECK_EQ(model_set_interval(x.m, 4, 0), 0); /* to now: what is alive hides nothing */
	CHECK_STR(changes(&x), "main +0 -0\n.... 12 unchanged +0 -0");
	size_t pending;
	/* what is searched for has a line, and so what it lies in */
	query_search(x.q, "below_20");
	CHECK_EQ(query_hits(x.q, &pending), 1);
	CHECK_STR(changes(&x),
		  "main +0 -0\n.still_20 +0 -0\n..below_20 +0 -0\n.... 11 unchanged +0 -0");
	CHECK_EQ(query_index(x.q, query_search_next(x.q, 0, false)), 2);
	query_set_sort(x.q, BY_LIVE, false);
	/* 200,000 bytes, then by name */
	CHECK(strstr(changes(&x), ".still_20 +0 -0\n..below_20 +0 -0\n.still_21"));
	end(&x);
}

/* The heaviest path is that of the figure that rows are sorted by. */
TEST(heaviest_path_follows_the_change)
{
	struct session x;
	const struct row *r;

	three_marks(&x);
	CHECK_EQ(model_set_interval(x.m, 1, 2), 0);
	query_set_sort(x.q, BY_NET, false);
	query_rows(x.q, true, &r);
	row_id end_row = query_open_heaviest(x.q, r[0].id);
	query_rows(x.q, true, &r);
	CHECK_STR(r[query_index(x.q, end_row)].name, "decode");
	CHECK_EQ(model_set_interval(x.m, 0, 0), 0);
	query_set_sort(x.q, BY_LIVE, false);
	end_row = query_open_heaviest(x.q, r[0].id);
	query_rows(x.q, true, &r);
	CHECK_EQ(end_row, row(&x, "decode")); /* a fork: draw holds half of it */
	end(&x);
}

/* The first interval then takes in the older marks, and those shown keep their ends. */
TEST(more_marks_than_intervals_leave_the_newest)
{
	struct session x;
	struct intervals_kept kept = { 0 };
	int64_t sum = 0;

	set_marks(&x, 70);
	CHECK_EQ(query_intervals(x.q, 0, 0, &kept), 3);
	const struct interval_row *r = kept.list;
	for (size_t i = 0; i < 3; i++) {
		if (strcmp(r[i].site.name, "decode"))
			continue;
		CHECK_EQ(r[i].count, MTW_SAMPLES_MAX);
		for (uint32_t k = 0; k + 1 < r[i].count; k++)
			CHECK_EQ(r[i].net[r[i].count - 1 - k], 10 * (70 - k));
		for (size_t k = 0; k < r[i].count; k++)
			sum += r[i].net[k];
		CHECK_EQ(sum, live_bytes(&r[i].site.amounts.sum));
	}
	CHECK(sum > 0);
	intervals_kept_release(&kept);
	end(&x);
}

static void mark_with(struct model *m, uint32_t id, uint64_t bytes)
{
	made_mark(m, id, 0, id * 1000, 0, "x");
	made_cell(m, id, 1, 1, bytes);
	made_cells_end(m, id);
}

static void one_path(struct model *m)
{
	made_module(m, 0, "/usr/bin/program", MTW_MODULE_MAIN);
	made_node(m, 1, 0, 0, 16);
	made_slot(m, 1, 1, 0);
	made_counts(m, 1, 4, 400, 0, 0);
}

/* Of two instants, in each of which another mark was dropped. */
TEST(marks_of_another_instant_are_counted_anew)
{
	const struct tally sum = { 4, 400, 0, 0 };
	const struct change *list;
	struct session x;

	begin(&x);
	made_symbol(&x.s, 0, 16, "main");
	one_path(x.m);
	for (uint32_t id = 1; id <= 4; id++)
		mark_with(x.m, id, id * 100);
	made_mark(x.m, 2, 0, 2000, MTW_MARK_DROPPED, "x");
	made_tick_whole(x.m, &sum, 10000);
	CHECK_EQ(query_marks(x.q, &list), 5);
	CHECK_EQ(list[4].born_bytes, 100);

	struct model *other = model_new();
	one_path(other);
	mark_with(other, 1, 100);
	made_mark(other, 2, 0, 2000, MTW_MARK_DROPPED, "x");
	mark_with(other, 3, 300);
	mark_with(other, 4, 400);
	made_tick_whole(other, &sum, 20000);
	made_mark(other, 3, 0, 3000, MTW_MARK_DROPPED, "x");
	made_tick_whole(other, &sum, 30000);
	model_swap(x.m, other);
	CHECK_EQ(query_marks(x.q, &list), 5);
	CHECK_EQ(list[4].born_bytes, 300);
	model_free(other);
	end(&x);
}
