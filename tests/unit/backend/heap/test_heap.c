/* SPDX-License-Identifier: MIT
 *
 * test_heap.c - snapshots of trees that grow at random, against sums that are added up node by node
 * in the order of arrival.
 */
#include "check.h"
#include "random.h"

#include "heap/heap.h"
#include "heap/take.h"

#define NODES 600u
#define SLOTS 400u

/* What came, as it came: the plain way to know every amount. */
struct plain {
	uint32_t parent[NODES], location[NODES], nodes;
	bool by_pointer[NODES];
	uint32_t node_of[SLOTS], slots;
	struct tally now[SLOTS];
	bool weighed[SLOTS];
	struct live base[SLOTS]; /* by arrival */
};

static void grow(struct plain *p, struct columns *c, unsigned nodes, unsigned slots)
{
	for (; nodes-- && p->nodes < NODES; p->nodes++) {
		uint32_t n = p->nodes;

		/* chains and bushes: near the newest node, or anywhere */
		p->parent[n] = n - 1 - below(below(2) ? 2 : n) % n;
		p->location[n] = below(50);
		p->by_pointer[n] = below(5) == 0;
		CHECK_EQ(columns_add_node(c, p->parent[n], p->location[n], n * 3, p->by_pointer[n]),
			 n);
	}
	for (; slots-- && p->slots < SLOTS; p->slots++) {
		p->node_of[p->slots] = below(p->nodes);
		CHECK_EQ(columns_add_slot(c, p->node_of[p->slots], 1, p->slots + 1), p->slots);
	}
}

static void set(struct columns *c, uint32_t slot, const struct tally *now, bool weighed)
{
	columns_put(c, slot, now);
	if (weighed)
		columns_weigh(c, slot);
}

static void count(struct plain *p, struct columns *c, unsigned changes)
{
	while (p->slots && changes--) {
		uint32_t s = below(p->slots);
		struct tally *t = &p->now[s];

		t->alloc_blocks += below(10);
		t->alloc_bytes += below(1000);
		t->free_blocks += below((uint32_t)live_blocks(t) + 1);
		t->free_bytes += below((uint32_t)live_bytes(t) + 1);
		p->weighed[s] = p->weighed[s] || below(20) == 0;
		set(c, s, t, p->weighed[s]);
	}
}

/* Is `node` at `above`, or below it? By order of arrival. */
static bool is_below(const struct plain *p, uint32_t node, uint32_t above)
{
	while (node > above)
		node = p->parent[node];
	return node == above;
}

static void change_of(struct change *sum, const struct live *was, const struct tally *t)
{
	uint64_t blocks = live_blocks(t), bytes = live_bytes(t);

	sum->born_blocks += blocks > was->blocks ? blocks - was->blocks : 0;
	sum->born_bytes += bytes > was->bytes ? bytes - was->bytes : 0;
	sum->gone_blocks += was->blocks > blocks ? was->blocks - blocks : 0;
	sum->gone_bytes += was->bytes > bytes ? was->bytes - bytes : 0;
}

static void check_node(const struct plain *p, const struct heap *h, uint32_t a)
{
	const struct skeleton *s = h->skeleton;
	struct tally incl = { 0 }, self = { 0 }, got;
	struct change change = { 0 }, changed = heap_amounts(h, s->node_of[a]).change;
	bool estimates[NODES] = { false }, held = false;
	uint32_t n = s->node_of[a], estimated = 0;

	for (uint32_t i = 0; i < p->slots; i++) {
		if (!is_below(p, p->node_of[i], a))
			continue;
		tally_add(&incl, &p->now[i]);
		change_of(&change, &p->base[i], &p->now[i]);
		if (p->weighed[i])
			estimates[p->node_of[i]] = true;
		if (p->node_of[i] != a)
			continue;
		tally_add(&self, &p->now[i]);
		held = held || p->base[i].blocks || p->base[i].bytes;
	}
	for (uint32_t i = 0; i < p->nodes; i++)
		estimated += estimates[i];
	got = heap_incl(h, n);
	CHECK(!memcmp(&got, &incl, sizeof got));
	got = heap_self(h, n);
	CHECK(!memcmp(&got, &self, sizeof got));
	CHECK(!memcmp(&changed, &change, sizeof change));
	CHECK_EQ(heap_amounts(h, n).sampled, estimated);
	CHECK_EQ(heap_held_at_base(h, n), held);
}

static void check_skeleton(const struct plain *p, const struct skeleton *s)
{
	CHECK_EQ(s->nodes, p->nodes);
	CHECK_EQ(s->parent[0], NO_ID);
	CHECK_EQ(s->end[0], s->nodes);
	for (uint32_t a = 1; a < p->nodes; a++) {
		uint32_t n = s->node_of[a], up = s->node_of[p->parent[a]];

		CHECK_EQ(s->parent[n], up);
		CHECK_EQ(s->location[n], p->location[a]);
		CHECK_EQ(s->id[n], a * 3);
		CHECK_EQ(bit_of(s->by_pointer_bits, n), p->by_pointer[a]);
		CHECK(n > up && s->end[n] <= s->end[up] && s->end[n] > n);
	}
	for (uint32_t k = 0; k < s->stacks; k++)
		CHECK_EQ(skeleton_first(s, s->node_of_stack[k]), k);
}

/* A base for which every second slot was there, in the columns' order. */
static struct live_list base_of(struct plain *p, const struct columns *c)
{
	struct live_list by_place = { .list = calloc(p->slots + 1, sizeof *by_place.list) };

	for (uint32_t i = 0; i < p->slots; i++) {
		p->base[i] = (struct live){ 0 };
		if (below(2))
			p->base[i] = (struct live){ below(20), below(2000) << below(20) };
		live_list_put(&by_place, c->place_of[i], p->base[i]);
	}
	return by_place;
}

static void check_all(struct plain *p, const struct columns *c)
{
	struct base base = { .from = base_of(p, c) };
	struct heap *h = heap_new(c, &base);

	check_skeleton(p, h->skeleton);
	for (uint32_t a = 0; a < p->nodes; a++)
		check_node(p, h, a);
	heap_drop(h);
	live_list_release(&base.from);
}

TEST(every_amount_equals_the_sum_over_its_slots)
{
	seed = 1;
	for (int round = 0; round < 20; round++) {
		struct plain p = { .nodes = 1, .parent = { NO_ID } };
		struct columns c;

		columns_init(&c);
		check_all(&p, &c);
		for (int step = 0; step < 6; step++) {
			grow(&p, &c, below(100), below(60));
			columns_settle(&c);
			count(&p, &c, 200);
			check_all(&p, &c);
		}
		columns_release(&c);
	}
}

/* Siblings by rank; every amount as before. */
TEST(siblings_may_be_ranked)
{
	struct plain p = { .nodes = 1, .parent = { NO_ID } };
	struct columns c;
	uint32_t rank[50];

	seed = 3;
	columns_init(&c);
	grow(&p, &c, 500, 300);
	columns_settle(&c);
	count(&p, &c, 1000);
	for (uint32_t i = 0; i < 50; i++)
		rank[i] = below(30);
	columns_rank(&c, rank, 30);
	const struct skeleton *s = c.skeleton;
	for (uint32_t n = 0; n < s->nodes; n++)
		for (uint32_t child = n + 1; child < s->end[n]; child = s->end[child]) {
			uint32_t next = s->end[child];
			CHECK(next == s->end[n] ||
			      rank[s->location[child]] <= rank[s->location[next]]);
		}
	check_all(&p, &c);
	grow(&p, &c, 50, 50);
	columns_settle(&c);
	count(&p, &c, 100);
	check_all(&p, &c);
	columns_release(&c);
}

static void check_stacks(const struct skeleton *s, const struct skeleton *in)
{
	uint32_t *list = skeleton_stacks_in(s, in);

	for (uint32_t k = 0; k < s->stacks; k++) {
		uint32_t id = s->id[s->node_of_stack[k]], is = NO_ID;

		for (uint32_t j = 0; j < in->stacks; j++)
			if (in->id[in->node_of_stack[j]] == id)
				is = j;
		CHECK_EQ(list[k], is);
	}
	free(list);
}

/* The older one, and the newer; and a ranked one, whose order is another. */
TEST(a_stack_is_found_in_another_skeleton)
{
	struct plain p = { .nodes = 1 };
	struct columns c;
	uint32_t rank[50], *moved;

	columns_init(&c);
	for (uint32_t i = 0; i < 50; i++)
		rank[i] = (i * 7) % 50;
	for (int i = 0; i < 12; i++) {
		struct skeleton *was = skeleton_hold(c.skeleton);

		grow(&p, &c, 40, 30);
		columns_settle(&c);
		struct skeleton *ranked = skeleton_ranked(c.skeleton, rank, 50, &moved);
		check_stacks(was, c.skeleton);
		check_stacks(c.skeleton, was);
		check_stacks(c.skeleton, c.skeleton);
		check_stacks(ranked, was);
		check_stacks(was, ranked);
		free(moved);
		skeleton_drop(ranked);
		skeleton_drop(was);
	}
	columns_release(&c);
}

TEST(a_snapshot_stays_as_it_was)
{
	seed = 2;
	struct plain p = { .nodes = 1, .parent = { NO_ID } };
	struct columns c;

	columns_init(&c);
	grow(&p, &c, 100, 50);
	columns_settle(&c);
	count(&p, &c, 200);
	struct heap *h = heap_hold(heap_new(&c, NULL));
	struct plain then = p;
	grow(&p, &c, 100, 50);
	CHECK(columns_settle(&c));
	CHECK(c.skeleton != h->skeleton);
	count(&p, &c, 200);
	check_skeleton(&then, h->skeleton);
	for (uint32_t a = 0; a < then.nodes; a++)
		check_node(&then, h, a);
	heap_drop(h);
	columns_release(&c);
	CHECK_EQ(h->users, 1);
	heap_drop(h);
}

TEST(only_new_stacks_make_another_skeleton)
{
	struct columns c;

	columns_init(&c);
	CHECK(!columns_settle(&c));
	CHECK_EQ(columns_add_slot(&c, 0, 1, 1), 0); /* blocks without a frame */
	CHECK(columns_settle(&c));
	CHECK_EQ(columns_add_slot(&c, 0, 2, 2), 1);
	CHECK(!columns_settle(&c));
	CHECK_EQ(c.slots->count, 2);
	set(&c, 1, &(struct tally){ 1, 10, 0, 0 }, false);
	struct heap *h = heap_new(&c, NULL);
	CHECK_EQ(heap_incl(h, 0).alloc_bytes, 10);
	heap_drop(h);
	columns_release(&c);
}

TEST(a_chain_as_deep_as_the_wire_allows)
{
	struct columns c;
	uint32_t depth = 200000, n = 0;

	columns_init(&c);
	for (uint32_t i = 0; i < depth; i++)
		n = columns_add_node(&c, n, 1, i + 1, false);
	columns_add_slot(&c, n, 1, 1);
	columns_settle(&c);
	set(&c, 0, &(struct tally){ 1, 8, 0, 0 }, false);
	struct heap *h = heap_new(&c, NULL);
	CHECK_EQ(heap_incl(h, 0).alloc_bytes, 8);
	CHECK_EQ(heap_incl(h, h->skeleton->node_of[n]).alloc_bytes, 8);
	heap_drop(h);
	columns_release(&c);
}

TEST(stacks_are_ordered_by_live_bytes)
{
	seed = 2;
	struct plain p = { .nodes = 1, .parent = { NO_ID } };
	struct columns c;
	uint32_t order[SLOTS];

	columns_init(&c);
	grow(&p, &c, 500, 300);
	columns_settle(&c);
	for (uint32_t s = 0; s < p.slots; s++) { /* of all sizes; some equal */
		p.now[s].alloc_bytes =
			((uint64_t)below(1u << 31) << 33 | below(1u << 31)) >> below(64);
		if (below(3) == 0)
			p.now[s].alloc_bytes = 7;
		set(&c, s, &p.now[s], false);
	}
	struct heap *h = heap_new(&c, NULL);
	heap_order(h, order);
	for (uint32_t i = 1; i < h->sums->stacks; i++) {
		struct tally a = heap_of_stack(h, order[i - 1]), b = heap_of_stack(h, order[i]);

		CHECK(live_bytes(&a) > live_bytes(&b) ||
		      (live_bytes(&a) == live_bytes(&b) && order[i - 1] < order[i]));
	}
	heap_drop(h);
	columns_release(&c);
}

/* A first state comes at once, and has millions of them. */
TEST(what_came_at_once_is_given_back)
{
	enum { MANY = 100000 };
	struct heap_batch b = { 0 };
	struct columns c;
	struct err err;

	columns_init(&c);
	for (uint32_t i = 1; i <= MANY; i++) {
		heap_put(&b, &(struct heap_event){ .type = HEAP_NODE, .id = i, .number = 1 });
		heap_put(&b, &(struct heap_event){ .type = HEAP_SLOT, .id = i, .of = i });
		heap_put(&b,
			 &(struct heap_event){ .type = HEAP_COUNTS, .id = i, .t = { 1, 8, 0, 0 } });
	}
	heap_put(&b, &(struct heap_event){ .type = HEAP_TICK });
	CHECK_EQ(columns_take(&c, &b, &err), 0);
	columns_settle(&c);
	columns_rest(&c);
	CHECK_EQ(b.room + c.node_room + c.slot_room + c.grown_room, 0);
	struct heap *h = heap_new(&c, NULL);
	CHECK_EQ(heap_incl(h, 0).alloc_bytes, 8 * MANY);
	heap_drop(h);
	columns_release(&c);
}

static int put(struct columns *c, const struct heap_event *e)
{
	struct heap_batch b = { 0 };
	struct err err;

	heap_put(&b, e);
	int rc = columns_take(c, &b, &err);
	heap_batch_release(&b);
	return rc;
}

#define PUT(c, ...) put(c, &(struct heap_event){ __VA_ARGS__ })

static uint64_t held(struct columns *c)
{
	columns_settle(c);
	columns_rest(c);
	struct heap *h = heap_new(c, NULL);
	uint64_t bytes = heap_incl(h, 0).alloc_bytes;

	heap_drop(h);
	return bytes;
}

/* Somebody looks between any two events: at the last tick. */
TEST(counters_wait_for_the_tick)
{
	struct columns c;

	columns_init(&c);
	CHECK_EQ(PUT(&c, .type = HEAP_NODE, .id = 1, .number = 1), 0);
	CHECK_EQ(PUT(&c, .type = HEAP_SLOT, .id = 1, .of = 1), 0);
	CHECK_EQ(PUT(&c, .type = HEAP_COUNTS, .id = 1, .t = { 1, 10, 0, 0 }), 0);
	CHECK_EQ(held(&c), 0);
	CHECK_EQ(PUT(&c, .type = HEAP_COUNTS, .id = 1, .t = { 2, 30, 0, 0 }), 0); /* twice */
	CHECK_EQ(held(&c), 0);
	CHECK_EQ(PUT(&c, .type = HEAP_COUNTS, .id = 1, .t = { 1, 20, 0, 0 }), -1);
	CHECK_EQ(PUT(&c, .type = HEAP_TICK), 0);
	CHECK_EQ(held(&c), 30);
	CHECK_EQ(PUT(&c, .type = HEAP_SLOT, .id = 7, .of = 1, .number = 1), 0);
	CHECK_EQ(PUT(&c, .type = HEAP_COUNTS, .id = 7, .t = { 1, 5, 0, 0 }), 0);
	CHECK_EQ(PUT(&c, .type = HEAP_COUNTS, .id = 1, .t = { 3, 40, 0, 0 }), 0);
	CHECK_EQ(held(&c), 30); /* and the new slot went into place meanwhile */
	CHECK_EQ(PUT(&c, .type = HEAP_TICK), 0);
	CHECK_EQ(held(&c), 45);
	columns_release(&c);
}

/* Also beyond 32 bits, through moves, in the window of rates, and back. */
TEST(numbers_of_any_size_are_kept)
{
	enum { MANY = 300 };
	const uint64_t large = 5000000000u;
	struct tally now[MANY];
	struct columns c;
	uint32_t leaf = 0;

	seed = 5;
	columns_init(&c);
	for (uint32_t i = 0; i < MANY; i++) {
		leaf = columns_add_node(&c, below(i + 1), 1, i + 1, false);
		columns_add_slot(&c, leaf, 1, i + 1);
		now[i] = (struct tally){ (uint64_t)below(1u << 31) << 33 >> below(64),
					 UINT32_MAX + (uint64_t)below(2), below(9), UINT64_MAX };
		columns_put(&c, i, &now[i]);
		if (i % 50 == 49)
			columns_settle(&c);
	}
	for (uint32_t i = 0; i < MANY; i += 2) {
		now[i] = (struct tally){ UINT32_MAX - below(2), below(9), below(9), below(9) };
		columns_put(&c, i, &now[i]);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		struct tally is = columns_now(&c, i);
		CHECK(!memcmp(&is, &now[i], sizeof is));
	}
	columns_release(&c);
	columns_init(&c);
	PUT(&c, .type = HEAP_NODE, .id = 1);
	PUT(&c, .type = HEAP_SLOT, .id = 1, .of = 1);
	for (uint64_t i = 1; i <= 3; i++) { /* three parts, of which two end */
		PUT(&c, .type = HEAP_PART);
		PUT(&c, .type = HEAP_COUNTS, .id = 1, .t = { i, i * large, 0, 0 });
		PUT(&c, .type = HEAP_TICK, .on = true);
		if (i > 1)
			PUT(&c, .type = HEAP_PART_ENDS);
		columns_settle(&c);
		struct heap *h = heap_new(&c, NULL);
		CHECK_EQ(heap_amounts(h, 1).rate.bytes, large);
		CHECK_EQ(heap_amounts(h, 1).rate.blocks, 1);
		heap_drop(h);
	}
	PUT(&c, .type = HEAP_PART_ENDS);
	CHECK_EQ(c.rated + c.rate_wide.count, 0);
	columns_release(&c);
}

/* The past of a program: its own counters in the call tree of now. */
TEST(another_instant_has_the_same_places)
{
	struct plain p = { .nodes = 1, .parent = { NO_ID } }, then;
	struct columns now, past, other;

	seed = 4;
	columns_init(&now);
	columns_init(&past);
	grow(&p, &past, 200, 100);
	columns_settle(&past);
	count(&p, &past, 500);
	then = p;
	for (uint32_t n = 1; n < p.nodes; n++)
		columns_add_node(&now, p.parent[n], p.location[n], n * 3, p.by_pointer[n]);
	for (uint32_t s = 0; s < p.slots; s++)
		columns_add_slot(&now, p.node_of[s], 1, s + 1);
	columns_settle(&now);
	grow(&p, &now, 200, 100);
	columns_settle(&now);
	CHECK(columns_adopt(&past, &now));
	CHECK(past.skeleton == now.skeleton && past.slots == now.slots);
	for (uint32_t s = 0; s < p.slots; s++) {
		struct tally none = { 0 };
		p.now[s] = columns_now(&past, s);
		CHECK(!memcmp(&p.now[s], s < then.slots ? &then.now[s] : &none, sizeof none));
		p.weighed[s] = s < then.slots && then.weighed[s];
	}
	check_all(&p, &past);
	grow(&p, &past, 50, 50); /* and it goes on from there */
	columns_settle(&past);
	check_all(&p, &past);
	struct columns none, begun; /* a program that has not allocated yet */
	columns_init(&none);
	columns_init(&begun);
	columns_settle(&none);
	columns_settle(&begun);
	CHECK(columns_adopt(&begun, &none));
	CHECK(begun.slots->count == 0 && begun.skeleton == none.skeleton);
	columns_release(&begun);
	columns_release(&none);
	columns_init(&other);
	columns_add_node(&other, 0, 1, 77, false);
	columns_settle(&other);
	CHECK(!columns_adopt(&other, &now));
	columns_release(&other);
	columns_release(&past);
	columns_release(&now);
}
