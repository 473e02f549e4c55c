/* SPDX-License-Identifier: MIT
 *
 * test_random.c - the session's sums under random sessions, against plain arrays.
 */
#include "check.h"
#include "made.h"
#include "random.h"

#include "model/interval.h"

#define TICK 100000000ull
#define NODES 60u
#define SLOTS 400u
#define MARKS 12u

struct plain {
	struct model *m;
	uint32_t nodes, slots, marks, parent[NODES + 1];
	uint64_t epoch, time;
	struct {
		uint32_t node;
		uint64_t epoch;
		struct tally t;
		bool dirty;
	} slot[SLOTS + 1];
	struct {
		bool gone;
		uint64_t epoch;
		uint64_t blocks[SLOTS + 1], bytes[SLOTS + 1];
	} mark[MARKS + 1];
	struct tally total;
};

static uint32_t slot_of(struct plain *p, uint32_t node)
{
	for (uint32_t i = 1; i <= p->slots; i++)
		if (p->slot[i].node == node && p->slot[i].epoch == p->epoch)
			return i;
	if (p->slots == SLOTS)
		return 0;
	uint32_t id = ++p->slots;
	p->slot[id].node = node;
	p->slot[id].epoch = p->epoch;
	made_slot(p->m, id, node, p->epoch);
	return id;
}

static void allocate(struct plain *p)
{
	uint32_t s = slot_of(p, 1 + below(p->nodes));
	uint64_t bytes = below(1000);

	if (!s)
		return;
	p->slot[s].t.alloc_blocks++;
	p->slot[s].t.alloc_bytes += bytes;
	p->total.alloc_blocks++;
	p->total.alloc_bytes += bytes;
	p->slot[s].dirty = true;
}

static void release(struct plain *p)
{
	uint32_t s = p->slots ? 1 + below(p->slots) : 0;
	struct tally *t = &p->slot[s].t;

	if (!s || !live_blocks(t))
		return;
	uint64_t bytes = live_blocks(t) == 1 ? live_bytes(t) : below((uint32_t)live_bytes(t) + 1);
	t->free_blocks++;
	t->free_bytes += bytes;
	p->total.free_blocks++;
	p->total.free_bytes += bytes;
	p->slot[s].dirty = true;
}

static void step(struct plain *p)
{
	if (p->nodes < NODES && below(3) == 0) {
		uint32_t id = ++p->nodes;
		p->parent[id] = below(id);
		made_node(p->m, id, p->parent[id], 0, id * 16);
	}
	for (uint32_t n = below(40); p->nodes && n; n--)
		below(5) < 3 ? allocate(p) : release(p);
	for (uint32_t i = 1; i <= p->slots; i++)
		if (p->slot[i].dirty) {
			const struct tally *t = &p->slot[i].t;
			made_counts(p->m, i, t->alloc_blocks, t->alloc_bytes, t->free_blocks,
				    t->free_bytes);
			p->slot[i].dirty = false;
		}
	made_tick_whole(p->m, &p->total, p->time += TICK);
}

/* As the agent sends one: what differs from the newest mark that is left. */
static void set_mark(struct plain *p)
{
	if (p->marks == MARKS)
		return;
	uint32_t id = ++p->marks, before = 0;

	for (uint32_t i = 1; i < id; i++)
		before = p->mark[i].gone ? before : i;
	p->mark[id].epoch = p->epoch;
	made_mark(p->m, id, p->epoch++, p->time, 0, "mark");
	for (uint32_t i = 1; i <= p->slots; i++) {
		uint64_t blocks = live_blocks(&p->slot[i].t), bytes = live_bytes(&p->slot[i].t);
		p->mark[id].blocks[i] = blocks;
		p->mark[id].bytes[i] = bytes;
		bool same = before ? p->mark[before].blocks[i] == blocks &&
					     p->mark[before].bytes[i] == bytes
				   : !blocks && !bytes;
		if (!same || below(10) == 0)
			made_cell(p->m, id, i, blocks, bytes);
	}
	made_cells_end(p->m, id);
}

static void drop_mark(struct plain *p)
{
	uint32_t id = p->marks ? 1 + below(p->marks) : 0;

	if (!id || p->mark[id].gone)
		return;
	p->mark[id].gone = true;
	made_mark(p->m, id, p->mark[id].epoch, p->time,
		  below(2) ? MTW_MARK_DROPPED : MTW_MARK_TOTALS_ONLY, "mark");
}

static struct change seen[SLOTS + 1];

/* By the wire's ids. False: one of both marks has no amounts by slot. */
static bool changes_between(const struct plain *p, uint32_t from, uint32_t to)
{
	const struct columns *c = model_columns(p->m);
	struct live *was = model_held_at(p->m, c->slots, from);
	struct live *is = to ? model_held_at(p->m, c->slots, to) : NULL;

	memset(seen, 0, sizeof seen);
	for (uint32_t i = 1; was && i <= p->slots; i++) {
		uint32_t slot = slots_find(c->slots, i);
		struct tally all = columns_now(c, slot);
		struct live now = is ? is[slot] : live_of(&all);
		seen[i] = change_between(was[slot].blocks, was[slot].bytes, now.blocks, now.bytes);
	}
	bool says = was && (is || !to);
	free(was);
	free(is);
	return says;
}

static void live_at(const struct plain *p, uint32_t mark, bool now, uint32_t slot, uint64_t *blocks,
		    uint64_t *bytes)
{
	*blocks = now ? live_blocks(&p->slot[slot].t) : mark ? p->mark[mark].blocks[slot] : 0;
	*bytes = now ? live_bytes(&p->slot[slot].t) : mark ? p->mark[mark].bytes[slot] : 0;
}

static void compare_between(const struct plain *p, uint32_t from, uint32_t to)
{
	uint64_t a, b, x, y;

	CHECK(changes_between(p, from, to));
	for (uint32_t i = 1; i <= p->slots; i++) {
		live_at(p, from, false, i, &a, &x);
		live_at(p, to, to == 0, i, &b, &y);
		CHECK_EQ(seen[i].born_blocks - seen[i].gone_blocks, b - a);
		CHECK_EQ(seen[i].born_bytes - seen[i].gone_bytes, y - x);
		CHECK(!seen[i].born_bytes || !seen[i].gone_bytes);
		/* What existed at the mark can only go, what did not can only come. */
		if (from && p->slot[i].epoch <= p->mark[from].epoch)
			CHECK(!seen[i].born_blocks && !seen[i].born_bytes);
		if (from && p->slot[i].epoch > p->mark[from].epoch)
			CHECK(!seen[i].gone_blocks && !seen[i].gone_bytes);
	}
}

static void compare_nodes(const struct plain *p, uint32_t from, uint32_t to)
{
	int64_t net[NODES + 1] = { 0 };
	uint64_t live[NODES + 1] = { 0 }, a, b, x, y, born = 0, gone = 0;

	CHECK_EQ(model_set_interval(p->m, from, to), 0);
	must_hold(p->m);
	for (uint32_t i = 1; i <= p->slots; i++) {
		live_at(p, from, false, i, &a, &x);
		live_at(p, to, to == 0, i, &b, &y);
		live[p->slot[i].node] += live_bytes(&p->slot[i].t);
		net[p->slot[i].node] += (int64_t)(y - x);
		born += !from || p->slot[i].epoch > p->mark[from].epoch ? y : 0;
		gone += from && p->slot[i].epoch <= p->mark[from].epoch ? x - y : 0;
	}
	for (uint32_t n = p->nodes; n > 0; n--) {
		CHECK_EQ(made_live(p->m, n).bytes, live[n]);
		struct change c = made_amounts(p->m, n, true).change;
		CHECK_EQ(c.born_bytes - c.gone_bytes, net[n]);
		live[p->parent[n]] += live[n];
		net[p->parent[n]] += net[n];
	}
	CHECK_EQ(made_live(p->m, 0).bytes, live_bytes(&p->total));
	CHECK_EQ(all_change(p->m).born_bytes, born);
	CHECK_EQ(all_change(p->m).gone_bytes, gone);
}

static void compare(const struct plain *p)
{
	for (uint32_t from = 0; from <= p->marks; from++) {
		if (from && p->mark[from].gone) {
			CHECK(!changes_between(p, from, 0));
			continue;
		}
		compare_between(p, from, 0);
		compare_nodes(p, from, 0);
		for (uint32_t to = from + 1; to <= p->marks; to++)
			if (!p->mark[to].gone) {
				compare_between(p, from, to);
				compare_nodes(p, from, to);
			}
	}
}

/* What changes from then on must not move it. */
static void random_interval(const struct plain *p)
{
	uint32_t from = below(p->marks + 1), to = below(p->marks + 1);

	if (!(from && p->mark[from].gone) && !(to && p->mark[to].gone) && (!to || from <= to))
		CHECK_EQ(model_set_interval(p->m, from, to), 0);
}

static void random_session(uint64_t number)
{
	struct plain *p = calloc(1, sizeof *p);

	seed = number * 2654435761u + 1;
	p->m = model_new();
	made_module(p->m, 0, "/bin/random", MTW_MODULE_MAIN);
	for (int i = 0; i < 120; i++) {
		step(p);
		must_hold(p->m);
		if (below(10) == 0)
			set_mark(p);
		if (below(40) == 0)
			drop_mark(p);
		if (i % 30 == 29)
			compare(p);
		if (below(10) == 0 && p->marks && !p->mark[p->marks].gone)
			CHECK_EQ(model_set_interval(p->m, p->marks, 0), 0);
		if (below(10) == 0)
			random_interval(p);
		must_hold(p->m);
	}
	CHECK(p->marks > 2);
	model_free(p->m);
	free(p);
}

TEST(random_sessions_keep_all_sums)
{
	for (uint64_t number = 1; number <= 40; number++) {
		random_session(number);
	}
}
