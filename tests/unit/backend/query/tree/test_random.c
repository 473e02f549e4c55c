/* SPDX-License-Identifier: MIT
 *
 * test_random.c - random sessions: rows updated from tick to tick equal rebuilt ones, also when a
 * rebuild runs in slices while the session goes on.
 */
#include "check.h"
#include "made_query.h"
#include "random.h"

struct line {
	char text[400];
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

/* All rows, opened, with the names of their parents; sorted. */
static size_t all_rows(struct query *q, struct line *lines, size_t max)
{
	const struct row *r;
	char path[64][64];

	/* A hit has a line, whatever it holds, and so has what stands for several and was opened.
	 */
	query_search(q, "");
	query_open_below(q, 0, false, SIZE_MAX);
	CHECK_EQ(query_open_below(q, 0, true, 1u << 30), 0);
	size_t n = query_rows(q, true, &r);
	CHECK(n < max);
	for (size_t i = 0; i < n; i++) {
		size_t at = 0;
		CHECK(r[i].depth < 64);
		snprintf(path[r[i].depth], 64, "%s", r[i].name);
		for (uint32_t d = 0; d <= r[i].depth; d++)
			at += (size_t)snprintf(lines[i].text + at, at < 300 ? 300 - at : 0, "%s/",
					       path[d]);
		at = strlen(lines[i].text);
		snprintf(lines[i].text + at, 400 - at, " %llu %llu %llu %lld %llu %u %d%d %x",
			 (unsigned long long)r[i].amounts.sum.alloc_bytes,
			 (unsigned long long)live_bytes(&r[i].amounts.sum),
			 (unsigned long long)live_bytes(&r[i].self),
			 (long long)(r[i].amounts.change.born_bytes -
				     r[i].amounts.change.gone_bytes),
			 (unsigned long long)r[i].amounts.rate.blocks, r[i].paths,
			 r[i].amounts.sampled, r[i].self_estimate,
			 r[i].flags & (ROW_OPEN | ROW_LEAF |
				       ROW_ZERO)); /* the others are of the heaviest, of which two
						      may be */
	}
	qsort(lines, n, sizeof *lines, by_text);
	return n;
}

/* direct: stacks of one site may have several owners, and which is the heaviest of some that are
 * alike is open. */
static size_t all_sites(struct query *q, bool direct, struct line *lines)
{
	const struct site *s;
	size_t n = query_sites(q, BY_LIVE, false, true, &s);

	for (size_t i = 0; i < n; i++)
		snprintf(lines[i].text, sizeof lines[i].text, "%s %llu %llu %u %lld %s %d %x",
			 s[i].name, (unsigned long long)live_bytes(&s[i].amounts.sum),
			 (unsigned long long)s[i].amounts.sum.alloc_bytes, s[i].stacks,
			 (long long)(s[i].amounts.change.born_bytes -
				     s[i].amounts.change.gone_bytes),
			 direct ? "" : s[i].owner->name, s[i].amounts.sampled, s[i].flags);
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

static void build(struct query *q)
{
	const struct row *r;
	const struct site *s;

	query_open_below(q, 0, true, 1u << 30);
	query_rows(q, true, &r);
	query_sites(q, BY_LIVE, false, true, &s);
}

/* Each has as much, and as many sampled stacks, however it came by them. */
static void same_owners(struct owners *kept, struct owners *anew)
{
	const struct owner *a, *b;
	size_t n = owners_update(kept, &a), sampled = 0;

	CHECK_EQ(n, owners_update(anew, &b));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			if (!strcmp(a[i].name, b[k].name)) {
				CHECK_EQ(a[i].amounts.sampled, b[k].amounts.sampled);
				CHECK(!memcmp(&a[i].amounts.sum, &b[k].amounts.sum,
					      sizeof a[i].amounts.sum));
				CHECK(!memcmp(&a[i].amounts.change, &b[k].amounts.change,
					      sizeof a[i].amounts.change));
				sampled++;
			}
	CHECK_EQ(sampled, n);
}

static void compare(struct session *x, const char *filter)
{
	static struct line kept[LINES], anew[LINES];
	struct owners *o = owners_new(x->m, &x->s);
	struct query *q = query_new(x->m, &x->s, o);
	struct err err;

	owners_direct(o, owners_direct(x->o, -1));
	CHECK_EQ(query_set_filter(q, filter, &err), 0);
	query_set_inverted(q, query_inverted(x->q));
	query_set_inlined(q, query_inlined(x->q));
	if (below(2))
		build(q);
	if (below(2))
		build(x->q);
	size_t n = all_rows(x->q, kept, LINES);
	same(kept, n, anew, all_rows(q, anew, LINES));
	bool direct = owners_direct(o, -1);
	n = all_sites(x->q, direct, kept);
	same(kept, n, anew, all_sites(q, direct, anew));
	same_owners(x->o, o);
	query_free(q);
	owners_free(o);
}

static void random_names(struct session *x, uint32_t nodes)
{
	static const char *const names[] = { "a",      "b",     "c",         "d", "a|b",
					     "malloc", "b|c|a", "std::less", "e", "f" };

	for (uint32_t n = below(4); n; n--) {
		const struct location *v = made_place(x->m, 1 + below(nodes));
		made_answer(&x->s, v->module, v->offset, below(3) ? SYMBOL_TABLE : SYMBOL_DWARF,
			    names[below(10)]);
	}
}

static void random_look(struct session *x)
{
	const struct row *r;
	const struct site *s;
	struct verdict v;
	size_t pending;

	size_t n = query_rows(x->q, below(2), &r);
	if (below(3) == 0)
		query_sites(x->q, BY_LIVE, false, true, &s);
	if (below(3) == 0)
		query_verdict(x->q, &v);
	if (below(5) == 0)
		query_search(x->q, below(2) ? "a" : "");
	query_hits(x->q, &pending);
	if (below(5) == 0 && n)
		query_open_heaviest(x->q, r[0].id);

	for (int i = 0; i < 3 && n; i++)
		query_open(x->q, r[below((uint32_t)n)].id, below(3) != 0);
	if (below(2))
		query_rows(x->q, below(2), &r);
}

static void random_session(uint64_t number)
{
	static const char *const filters[] = { "",         "",         "a",    "b a",
					       "size>300", "lib:tile", "grew", "malloc" };
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
			made_node(x.m, nodes, below(3) ? below(nodes) : 0, below(3),
				  16 * (1 + below(40)));
		}
		for (uint32_t n = below(12); nodes && n; n--) {
			uint32_t s = slots && (below(3) || slots == 299) ? 1 + below(slots) : 0;
			if (!s) {
				s = ++slots;
				made_slot(x.m, s, 1 + below(nodes), epoch);
				if (below(8) == 0)
					made_weighed(x.m, s, 4096);
			}
			struct tally has = made_now(x.m, s), *t = &has;
			if (below(3) && made_epoch(x.m, s) == epoch)
				grow(&x, s, 1, below(1000));
			else if (live_blocks(t))
				shrink(&x, s, 1,
				       live_blocks(t) == 1 ? live_bytes(t)
							   : below((uint32_t)live_bytes(t) + 1));
			tick(&x, SECOND / 50);
		}
		if (nodes)
			random_names(&x, nodes);
		if (below(3) == 0)
			random_look(&x);
		if (below(12) == 0)
			query_set_inverted(x.q, !query_inverted(x.q));
		if (below(12) == 0)
			query_set_inlined(x.q, !query_inlined(x.q));
		if (below(12) == 0)
			owners_direct(x.o, !owners_direct(x.o, -1));
		if (below(12) == 0) {
			filter = filters[below(8)];
			CHECK_EQ(query_set_filter(x.q, filter, &err), 0);
		}
		if (below(25) == 0 && marks < 5) {
			made_mark(x.m, ++marks, epoch++, x.now, 0, "m");
			for (uint32_t i = 1; i <= slots; i++)
				made_cell(x.m, marks, i, made_live_of(x.m, i).blocks,
					  made_live_of(x.m, i).bytes);
			made_cells_end(x.m, marks);
		}
		if (below(25) == 0)
			CHECK_EQ(model_set_interval(x.m, below(marks + 1), 0), 0);
		if (below(5) == 0)
			compare(&x, filter);
	}
	compare(&x, filter);
	end(&x);
}

TEST(random_sessions_equal_those_asked_anew)
{
	for (uint64_t number = 1; number <= 150; number++)
		random_session(number);
}
