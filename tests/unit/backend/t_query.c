/* SPDX-License-Identifier: MIT
 *
 * t_query.c - rows of the call tree: grouping, folding, order, and what survives late names.
 */
#include "check.h"
#include "made.h"
#include "query.h"

#define PROG 1
#define SECOND 1000000000ull

struct world {
	struct symbols s;
	struct model *m;
	struct owners *o;
	struct query *q;
	const struct row *rows;
	size_t count;
	struct tally sum;
	uint64_t time_ns;
};

static void open_world(struct world *w)
{
	*w = (struct world){ .m = model_new(), .time_ns = SECOND };
	w->s.m = w->m;
	made_module(w->m, PROG, "/bin/prog", MTW_MODULE_MAIN);
	w->o = owners_new(w->m, &w->s);
	w->q = query_new(w->m, &w->s, w->o);
}

static void close_world(struct world *w)
{
	query_free(w->q);
	owners_free(w->o);
	model_free(w->m);
}

/* A node with its name; bytes > 0: with a slot of the same id. */
static void node(struct world *w, uint32_t id, uint32_t parent, const char *name, uint64_t bytes)
{
	made_node(w->m, id, parent, PROG, id * 16);
	if (name)
		made_symbol(&w->s, PROG, id * 16, name);
	if (!bytes)
		return;
	made_slot(w->m, id, id, 0);
	made_counts(w->m, id, 1, bytes, 0, 0);
	w->sum.alloc_blocks++;
	w->sum.alloc_bytes += bytes;
}

static void tick(struct world *w)
{
	made_tick_whole(w->m, &w->sum, w->time_ns += SECOND / 10);
}

static void look(struct world *w, bool resort)
{
	w->count = query_rows(w->q, resort, &w->rows);
	for (size_t i = 0; i < w->count; i++)
		CHECK_EQ(query_index(w->q, w->rows[i].id), i);
}

static const struct row *row_named(struct world *w, const char *part)
{
	for (size_t i = 0; i < w->count; i++)
		if (strstr(w->rows[i].name, part))
			return &w->rows[i];
	printf("  no row has %s\n", part);
	for (size_t i = 0; i < w->count; i++)
		printf("  %*s%s %" PRIu64 "\n", (int)w->rows[i].depth * 2, "", w->rows[i].name,
		       live_bytes(&w->rows[i].incl));
	fflush(stdout);
	_exit(1);
}

/* What the rows without a parent hold together. */
static uint64_t top_sum(const struct world *w)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < w->count; i++)
		sum += w->rows[i].parent ? 0 : live_bytes(&w->rows[i].incl);
	return sum;
}

static void open_all(struct world *w)
{
	look(w, true);
	for (size_t i = 0; i < w->count; i++)
		query_open_below(w->q, w->rows[i].id, true, 1000);
	look(w, true);
}

/* main > loop > { serve at two call sites > get, log } */
static void server(struct world *w, bool names)
{
	open_world(w);
	node(w, 1, 0, names ? "main" : NULL, 0);
	node(w, 2, 1, names ? "loop" : NULL, 0);
	node(w, 3, 2, names ? "serve" : NULL, 0);
	node(w, 4, 2, names ? "serve" : NULL, 0);
	node(w, 5, 3, names ? "get" : NULL, 3000);
	node(w, 6, 4, names ? "get" : NULL, 500);
	node(w, 7, 3, names ? "put" : NULL, 200);
	node(w, 8, 2, names ? "log" : NULL, 100);
	tick(w);
}

static void name_all(struct world *w)
{
	static const char *const names[] = { "main", "loop", "serve", "serve", "get", "get", "put", "log" };

	for (uint32_t id = 1; id <= 8; id++)
		made_symbol(&w->s, PROG, id * 16, names[id - 1]);
}

TEST(merges_by_function_and_folds_chains)
{
	struct world w;

	server(&w, true);
	open_all(&w);
	CHECK_EQ(top_sum(&w), 3800);
	const struct row *chain = row_named(&w, "main > loop");
	CHECK_EQ(chain->folded, 2);
	CHECK_EQ(live_bytes(&chain->incl), 3800);
	const struct row *serve = row_named(&w, "serve");
	CHECK_EQ(serve->paths, 2);
	CHECK_EQ(live_bytes(&serve->incl), 3700);
	CHECK_EQ(serve->parent, chain->id);
	const struct row *get = row_named(&w, "get");
	CHECK_EQ(live_bytes(&get->self), 3500);
	CHECK(get->flags & ROW_LEAF);
	CHECK(row_named(&w, "put") > get && row_named(&w, "log") > serve); /* heaviest first */
	CHECK_STR(get->owner->name, "prog");
	row_id id = chain->id;
	query_unfold(w.q, id);
	look(&w, true);
	CHECK_STR(w.rows[query_index(w.q, id)].name, "main");
	CHECK_STR(row_named(&w, "loop")->name, "loop");
	CHECK_EQ(top_sum(&w), 3800);
	close_world(&w);
}

TEST(values_follow_ticks_order_waits)
{
	struct world w;

	server(&w, true);
	open_all(&w);
	row_id serve = row_named(&w, "serve")->id, log = row_named(&w, "log")->id;
	made_counts(w.m, 8, 2, 9100, 0, 0);
	made_counts(w.m, 5, 1, 3000, 1, 3000);
	w.sum = (struct tally){ 5, 12800, 1, 3000 };
	tick(&w);
	look(&w, false);
	CHECK_EQ(live_bytes(&w.rows[query_index(w.q, log)].incl), 9100);
	CHECK_EQ(live_bytes(&w.rows[query_index(w.q, serve)].incl), 700);
	CHECK(query_index(w.q, serve) < query_index(w.q, log));
	look(&w, true);
	CHECK(query_index(w.q, serve) > query_index(w.q, log));
	CHECK_EQ(top_sum(&w), 9800);
	/* New below what is open, and freed to nothing: both are there. */
	node(&w, 9, 2, "fresh", 5000);
	made_counts(w.m, 8, 2, 9100, 2, 9100);
	w.sum.free_blocks += 2;
	w.sum.free_bytes += 9100;
	tick(&w);
	look(&w, false);
	CHECK_EQ(live_bytes(&row_named(&w, "fresh")->incl), 5000);
	CHECK(query_index(w.q, log) != SIZE_MAX);
	CHECK(w.rows[query_index(w.q, log)].flags & ROW_ZERO);
	CHECK_EQ(top_sum(&w), 5700);
	close_world(&w);
}

TEST(late_names_keep_rows_and_what_is_open)
{
	struct world w;

	server(&w, false);
	open_all(&w);
	CHECK_EQ(top_sum(&w), 3800);
	const struct row *r = row_named(&w, "prog+0x30");
	CHECK(r->flags & ROW_PENDING);
	CHECK(!(row_named(&w, "prog+0x50")->flags & ROW_OPEN));
	row_id serve = r->id, get = row_named(&w, "prog+0x50")->id, log = row_named(&w, "prog+0x80")->id;
	name_all(&w);
	look(&w, false);
	CHECK_EQ(top_sum(&w), 3800);
	CHECK_STR(w.rows[query_index(w.q, serve)].name, "serve");
	CHECK_EQ(live_bytes(&w.rows[query_index(w.q, serve)].incl), 3700);
	CHECK(w.rows[query_index(w.q, serve)].flags & ROW_OPEN);
	CHECK_STR(w.rows[query_index(w.q, get)].name, "get");
	CHECK_EQ(live_bytes(&w.rows[query_index(w.q, get)].incl), 3500);
	CHECK_STR(w.rows[query_index(w.q, log)].name, "log");
	CHECK(!(w.rows[query_index(w.q, log)].flags & ROW_PENDING));
	close_world(&w);
}

TEST(inlined_frames_are_rows)
{
	struct world w;

	open_world(&w);
	node(&w, 1, 0, "main", 0);
	node(&w, 2, 1, "inner<outer", 700);
	node(&w, 3, 1, "outer", 20);
	tick(&w);
	open_all(&w);
	const struct row *outer = row_named(&w, "outer");
	CHECK_EQ(live_bytes(&outer->incl), 720);
	CHECK_EQ(live_bytes(&outer->self), 20);
	const struct row *inner = row_named(&w, "inner");
	CHECK(inner->flags & ROW_INLINED);
	CHECK_EQ(inner->parent, outer->id);
	CHECK_EQ(live_bytes(&inner->self), 700);
	struct frame_out frames[8];
	CHECK_EQ(query_stack(w.q, 2, frames, 8), 3);
	CHECK_STR(frames[0].function, "inner");
	CHECK(frames[0].inlined && !frames[1].inlined);
	CHECK_STR(frames[1].function, "outer");
	CHECK_STR(frames[2].function, "main");
	CHECK_STR(frames[2].module, "prog");
	close_world(&w);
}

TEST(inverted_from_the_allocation_up)
{
	struct world w;

	server(&w, true);
	query_set_inverted(w.q, true);
	CHECK(query_inverted(w.q));
	look(&w, true);
	CHECK_EQ(top_sum(&w), 3800);
	CHECK(!strncmp(w.rows[0].name, "get", 3));
	CHECK_EQ(live_bytes(&w.rows[0].incl), 3500);
	open_all(&w);
	CHECK_EQ(top_sum(&w), 3800);
	made_counts(w.m, 7, 2, 99200, 0, 0);
	w.sum.alloc_blocks++;
	w.sum.alloc_bytes += 99000;
	tick(&w);
	look(&w, true);
	CHECK_EQ(top_sum(&w), 102800);
	CHECK(!strncmp(w.rows[0].name, "put", 3));
	query_set_inverted(w.q, false);
	look(&w, true);
	CHECK(!strncmp(w.rows[0].name, "main", 4));
	close_world(&w);
}

TEST(small_rows_fold_into_a_rest)
{
	struct world w;

	open_world(&w);
	node(&w, 1, 0, "main", 0);
	node(&w, 2, 1, "big", 10000000);
	for (uint32_t i = 0; i < 50; i++) {
		static char names[50][16];
		snprintf(names[i], sizeof names[i], "small_%u", i);
		node(&w, 3 + i, 1, names[i], 10);
	}
	tick(&w);
	look(&w, true);
	query_open(w.q, w.rows[0].id, true);
	look(&w, true);
	CHECK(w.count < 10);
	const struct row *rest = NULL;
	for (size_t i = 0; i < w.count; i++)
		if (w.rows[i].flags & ROW_REST)
			rest = &w.rows[i];
	CHECK(rest);
	CHECK_EQ(live_bytes(&rest->incl), 500);
	CHECK(strstr(rest->name, "50 more"));
	query_open(w.q, rest->id, true);
	look(&w, true);
	CHECK(w.count >= 52);
	row_named(&w, "small_49");
	close_world(&w);
}

TEST(filter_search_zoom)
{
	struct world w;
	struct err err;
	size_t pending;

	server(&w, true);
	look(&w, true);
	CHECK_EQ(query_search(w.q, "PUT", &pending), 1);
	CHECK_EQ(pending, 0);
	look(&w, false); /* opened down to the hits */
	row_id hit = query_search_next(w.q, 0, false);
	CHECK(hit && query_index(w.q, hit) != SIZE_MAX);
	CHECK(strstr(w.rows[query_index(w.q, hit)].name, "put"));
	CHECK(w.rows[query_index(w.q, hit)].flags & ROW_HIT);
	row_id serve = row_named(&w, "serve")->id;
	CHECK_EQ(query_zoom(w.q, serve), 0);
	look(&w, true);
	CHECK_EQ(top_sum(&w), 3700);
	CHECK_EQ(query_zoom(w.q, 0), 0);
	look(&w, true);
	CHECK_EQ(top_sum(&w), 3800);
	CHECK_EQ(query_set_filter(w.q, "log", &err), 0);
	look(&w, true);
	CHECK_EQ(top_sum(&w), 100);
	CHECK_EQ(query_set_filter(w.q, "size>banana", &err), -1);
	CHECK_EQ(query_set_filter(w.q, "", &err), 0);
	look(&w, true);
	CHECK_EQ(top_sum(&w), 3800);
	row_id node_row = query_open_node(w.q, 7);
	look(&w, false);
	CHECK(strstr(w.rows[query_index(w.q, node_row)].name, "put"));
	close_world(&w);
}

TEST(sites_add_up)
{
	struct world w;
	const struct site *sites;
	uint64_t sum = 0;

	server(&w, true);
	size_t n = query_sites(w.q, BY_LIVE, false, true, &sites);
	CHECK_EQ(n, 3);
	CHECK_STR(sites[0].name, "get");
	CHECK_STR(sites[0].caller, "serve");
	CHECK_EQ(sites[0].stacks, 2);
	CHECK_EQ(sites[0].line, 10);
	uint32_t get = sites[0].id;
	for (size_t i = 0; i < n; i++)
		sum += live_bytes(&sites[i].sum);
	CHECK_EQ(sum, 3800);
	made_counts(w.m, 8, 2, 70100, 0, 0);
	w.sum.alloc_blocks++;
	w.sum.alloc_bytes += 70000;
	tick(&w);
	n = query_sites(w.q, BY_LIVE, false, false, &sites);
	CHECK_EQ(sites[0].id, get); /* order waits, values do not */
	n = query_sites(w.q, BY_LIVE, false, true, &sites);
	CHECK_STR(sites[0].name, "log");
	CHECK_EQ(live_bytes(&sites[0].sum), 70100);
	query_site_expect(w.q, sites[0].id, true);
	n = query_sites(w.q, BY_LIVE, false, false, &sites);
	CHECK(sites[0].flags & ROW_EXPECTED);
	close_world(&w);
}
