/* SPDX-License-Identifier: MIT
 *
 * test_owner.c - the owner of memory: wrappers, late names, and sums that equal the totals.
 */
#include "check.h"
#include "made.h"
#include "model/columns.h"
#include "owners/owners_state.h"

enum { PROGRAM, LIBC, CXX, GLIB, AGENT, LOADER };

struct session {
	struct model *m;
	struct symbols s;
	struct owners *o;
	uint64_t now;
};

static void begin(struct session *x)
{
	memset(x, 0, sizeof *x);
	x->m = model_new();
	x->s.m = x->m;
	made_module(x->m, PROGRAM, "/usr/bin/program", MTW_MODULE_MAIN);
	made_module(x->m, LIBC, "/lib/libc.so.6", MTW_MODULE_LIBC);
	made_module(x->m, CXX, "/lib/libstdc++.so.6", MTW_MODULE_CXX);
	made_module(x->m, GLIB, "/lib/libglib-2.0.so.0", 0);
	made_module(x->m, AGENT, "/lib/libmemtop-agent.so", MTW_MODULE_AGENT);
	made_module(x->m, LOADER, "/lib/ld-linux-x86-64.so.2", MTW_MODULE_LIBC);
	x->o = owners_new(x->m, &x->s);
}

static void whole(const struct session *x)
{
	const struct owner *list;
	struct tally sum = { 0 };
	const struct tally incl = made_amounts(x->m, 0, true).sum, *all = &incl;
	uint64_t born = 0, rate = 0;

	size_t n = owners_update(x->o, &list);
	for (size_t i = 0; i < n; i++) {
		sum.alloc_blocks += list[i].amounts.sum.alloc_blocks;
		sum.alloc_bytes += list[i].amounts.sum.alloc_bytes;
		sum.free_blocks += list[i].amounts.sum.free_blocks;
		sum.free_bytes += list[i].amounts.sum.free_bytes;
		born += list[i].amounts.change.born_bytes;
		rate += list[i].amounts.rate.bytes;
	}
	CHECK(!memcmp(&sum, all, sizeof sum));
	CHECK_EQ(born, made_amounts(x->m, 0, true).change.born_bytes);
	CHECK_EQ(rate, made_amounts(x->m, 0, true).rate.bytes);
}

static void end(struct session *x)
{
	whole(x);
	owners_free(x->o);
	model_free(x->m);
}

static uint32_t stack_count;

/* A stack as "module function, ..." from the outermost; returns its leaf. Names are told when
 * `named`. */
struct place {
	uint32_t module;
	const char *name;
};

static uint32_t stack(struct session *x, const struct place *p, size_t count, bool named)
{
	uint32_t parent = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t id = ++stack_count;
		made_node(x->m, id, parent, p[i].module, id * 16);
		if (named && p[i].name)
			made_symbol(&x->s, p[i].module, id * 16, p[i].name);
		parent = id;
	}
	made_slot(x->m, parent, parent, 0);
	made_counts(x->m, parent, 1, 100, 0, 0);
	made_tick(x->m, x->now += 100000000, MTW_TICK_COMPLETE);
	return parent;
}

#define STACK(x, named, ...)                                                                       \
	stack(x, (struct place[]){ __VA_ARGS__ },                                                  \
	      sizeof(struct place[]){ __VA_ARGS__ } / sizeof(struct place), named)

static const char *owner(struct session *x, uint32_t leaf)
{
	return owners_of_node(x->o, leaf)->name;
}

/* The wire's id of a node's slot; 0: it has none. */
static uint32_t slot_of(const struct model *m, uint32_t node)
{
	const struct columns *c = model_columns(m);

	for (uint32_t id = 0; id < c->slots->ids.end; id++) {
		uint32_t stack = slots_stack(c->slots, id);
		if (stack != NO_ID && c->skeleton->id[c->skeleton->node_of_stack[stack]] == node)
			return id;
	}
	return 0;
}

static const char *site(struct session *x, uint32_t leaf)
{
	uint32_t frame, node = owners_site(x->o, leaf, &frame);
	const struct skeleton *s = model_columns(x->m)->skeleton;

	return symbols_of_location(&x->s, s->location[skeleton_find(s, node)])->frames[frame].name;
}

TEST(wrappers_pass_to_their_caller)
{
	struct session x;
	uint32_t leaf;

	begin(&x);
	leaf = STACK(&x, true, { PROGRAM, "main" }, { PROGRAM, "load" }, { LIBC, "__GI___strdup" });
	CHECK_STR(owner(&x, leaf), "program");
	CHECK_STR(site(&x, leaf), "load");
	leaf = STACK(&x, true, { PROGRAM, "main" }, { GLIB, "g_list_append" },
		     { GLIB, "g_malloc0" }, { LIBC, "calloc" });
	CHECK_STR(owner(&x, leaf), "libglib-2.0.so.0");
	CHECK_STR(site(&x, leaf), "g_list_append");
	leaf = STACK(&x, true, { PROGRAM, "main" },
		     { PROGRAM,
		       "std::vector<int, std::allocator<int> >::reserve(unsigned long)|fill(int)" },
		     { CXX, "operator new(unsigned long)" }, { AGENT, "malloc" });
	CHECK_STR(owner(&x, leaf), "program");
	CHECK_STR(site(&x, leaf), "fill(int)");
	leaf = STACK(&x, true, { PROGRAM, "main" },
		     { PROGRAM, "int make<std::string>(std::string const&)" },
		     { CXX, "std::string::_M_create(unsigned long&, unsigned long)" });
	CHECK_STR(site(&x, leaf), "int make<std::string>(std::string const&)");
	leaf = STACK(&x, true, { PROGRAM, "main" }, { LIBC, "__printf" },
		     { LIBC, "__GI__IO_file_doallocate" });
	CHECK_STR(owner(&x, leaf), "program");
	leaf = STACK(&x, true, { LIBC, "__libc_start_main" }, { LIBC, "qsort" },
		     { PROGRAM, "compare" });
	CHECK_STR(owner(&x, leaf), "program");
	end(&x);
}

TEST(nobody_owns_what_only_wrappers_did)
{
	struct session x;
	uint32_t leaf;

	begin(&x);
	/* libstdc++'s pool for exceptions: its static initialiser, run by the loader */
	leaf = STACK(&x, true, { LOADER, "_dl_start_user" }, { LOADER, "_dl_init" },
		     { LOADER, "call_init" }, { CXX, NULL });
	CHECK_STR(owner(&x, leaf), "[unknown]");
	CHECK_EQ(owners_of_node(x.o, leaf)->module, OWNER_UNKNOWN);
	uint32_t top = ++stack_count, id = ++stack_count;
	made_truncated(x.m, top, MTW_TRUNC_NO_CFI);
	made_node(x.m, id, top, LIBC, id * 16);
	made_slot(x.m, id, id, 0);
	made_counts(x.m, id, 3, 30, 0, 0);
	made_tick(x.m, x.now += 1000, MTW_TICK_COMPLETE);
	CHECK_STR(owner(&x, id), "[unknown]");
	/* Code of no module is nobody's library, and known. */
	struct event e = { .type = MTW_NODES };
	e.u.node.kind = MTW_NODE_NOWHERE;
	e.u.node.offset = 0x7f0012345678;
	e.u.node.id = leaf = ++stack_count;
	made_apply(x.m, &e);
	e = (struct event){ .type = MTW_NODES };
	e.u.node.id = id = ++stack_count;
	e.u.node.parent = leaf;
	e.u.node.module = CXX;
	e.u.node.offset = 16;
	made_symbol(&x.s, CXX, 16, "operator new(unsigned long)");
	made_apply(x.m, &e);
	made_slot(x.m, id, id, 0);
	made_counts(x.m, id, 5, 50, 0, 0);
	made_tick(x.m, x.now += 1000, MTW_TICK_COMPLETE);
	CHECK_STR(owner(&x, id), GENERATED_NAME);
	CHECK_EQ(owners_of_node(x.o, id)->module, OWNER_GENERATED);
	whole(&x);
	made_slot(x.m, 999, 0, 0); /* booked to the root: no node could be made */
	made_counts(x.m, 999, 2, 20, 0, 0);
	made_tick(x.m, x.now += 1000, MTW_TICK_COMPLETE);
	whole(&x);
	CHECK_EQ(model_set_interval(x.m, 0, 0), 0); /* all anew */
	end(&x);
}

TEST(the_direct_caller_owns)
{
	struct session x;

	begin(&x);
	uint32_t leaf =
		STACK(&x, true, { PROGRAM, "main" }, { LIBC, "strdup" }, { AGENT, "malloc" });
	CHECK_STR(owner(&x, leaf), "program");
	CHECK(owners_direct(x.o, 1));
	CHECK_STR(owner(&x, leaf), "libc.so.6");
	CHECK_STR(site(&x, leaf), "main");
	whole(&x);
	CHECK(!owners_direct(x.o, 0));
	CHECK_STR(owner(&x, leaf), "program");
	end(&x);
}

/* What it held, as the series of the rule in force has it at the newest point but `back`; -1 = not
 * known. */
static int64_t held_then(struct session *x, const char *name, size_t back)
{
	const struct owner *list;
	const struct point *points;
	size_t n = owners_update(x->o, &list), count = model_history(x->m, &points);

	if (!owners_known(x->o)[count - 1 - back])
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return (int64_t)list[i].series[count - 1 - back];
	return 0;
}

static int64_t libc_then(struct session *x, size_t back)
{
	return held_then(x, "libc.so.6", back);
}

static void grow(struct session *x, uint32_t leaf, uint64_t blocks)
{
	const struct tally sum = { .alloc_blocks = blocks, .alloc_bytes = 100 * blocks };
	const struct owner *list;

	made_counts(x->m, leaf, blocks, 100 * blocks, 0, 0);
	made_tick_whole(x->m, &sum, x->now += 1000000000);
	owners_update(x->o, &list);
}

TEST(history_is_of_the_rule_that_was_in_force)
{
	struct session x;

	begin(&x);
	uint32_t leaf =
		STACK(&x, true, { PROGRAM, "main" }, { LIBC, "strdup" }, { AGENT, "malloc" });
	grow(&x, leaf, 2);
	grow(&x, leaf, 3);
	owners_direct(x.o, 1);
	CHECK_EQ(libc_then(&x, 0), 300);
	CHECK_EQ(libc_then(&x, 1), -1);
	grow(&x, leaf, 4);
	CHECK_EQ(libc_then(&x, 0), 400);
	CHECK_EQ(libc_then(&x, 1), 300);
	CHECK_EQ(libc_then(&x, 2), -1);
	grow(&x, leaf, 5);
	owners_direct(x.o, 0);
	CHECK_EQ(libc_then(&x, 0), 0);
	CHECK_EQ(libc_then(&x, 1), -1); /* nobody counted by owner then, */
	CHECK_EQ(libc_then(&x, 3), 0);  /* but before */
	grow(&x, leaf, 6);
	owners_direct(x.o, 1);
	CHECK_EQ(libc_then(&x, 0), 600);
	CHECK_EQ(libc_then(&x, 1), 500); /* the instant of the switch is known by both */
	CHECK_EQ(libc_then(&x, 2), 400);
	end(&x);
}

/* Others take their place while an instant of the past is shown, and give it back. */
TEST(history_stays_with_whoever_inherits_it)
{
	struct session x;

	begin(&x);
	uint32_t leaf = STACK(&x, true, { PROGRAM, "main" });
	for (uint64_t i = 1; i <= 20; i++)
		grow(&x, leaf, i);
	CHECK_EQ(held_then(&x, "program", 19), 100);
	struct owners *first = x.o;
	x.o = owners_new(x.m, &x.s);
	owners_inherit(x.o, first);
	CHECK_EQ(held_then(&x, "program", 19), 100);
	grow(&x, leaf, 21);
	CHECK_EQ(held_then(&x, "program", 20), 100);
	owners_inherit(first, x.o);
	owners_free(x.o);
	x.o = first;
	for (size_t back = 0; back <= 20; back++)
		CHECK_EQ(held_then(&x, "program", back), 2100 - 100 * (int64_t)back);
	end(&x);
}

static void agent_said(struct model *m, uint64_t time_ns, bool first, uint64_t held)
{
	struct event e = { .type = MTW_HISTORY };

	e.u.history.interval_ns = 1000000000;
	e.u.history.owners[0] = PROGRAM;
	e.u.history.owner_count = 1;
	e.u.history.first = first;
	e.u.history.point.time_ns = time_ns;
	e.u.history.owner_bytes[0] = held;
	made_apply(m, &e);
}

/* Queries during the first state do not change the later history. */
TEST(history_has_nothing_of_a_state_that_was_still_coming)
{
	const struct tally sum = { .alloc_blocks = 5, .alloc_bytes = 500 };
	const struct owner *list;

	for (int looks = 0; looks < 2; looks++) {
		struct session x;

		begin(&x);
		agent_said(x.m, 1000000000, true, 300);
		agent_said(x.m, 2000000000, false, 500);
		made_totals(x.m, &sum);
		made_tick(x.m, 3000000000, 0);
		if (looks)
			owners_update(x.o, &list);
		made_node(x.m, 1, 0, PROGRAM, 16);
		made_slot(x.m, 1, 1, 0);
		made_counts(x.m, 1, 5, 500, 0, 0);
		made_tick_whole(x.m, &sum, 4000000000);
		CHECK_EQ(owners_update(x.o, &list), 1);
		for (size_t p = 0; p < 4; p++) {
			CHECK(owners_known(x.o)[p]);
			CHECK_EQ(list[0].series[p], p ? 500 : 300);
		}
		end(&x);
	}
}

TEST(several_loads_are_one_owner)
{
	struct session x;
	const struct owner *list;

	begin(&x);
	STACK(&x, true, { PROGRAM, "main" }, { GLIB, "first" });
	made_module(x.m, 9, "/lib/libglib-2.0.so.0", 0);
	STACK(&x, true, { PROGRAM, "main" }, { 9, "second" });
	CHECK_EQ(owners_update(x.o, &list), 1);
	CHECK_EQ(live_bytes(&list[0].amounts.sum), 200);
	CHECK_EQ(list[0].module, 9);
	CHECK_EQ(list[0].letter, 'A');
	end(&x);
}

/* Sums are whole at each step while names turn one location after the other. */
TEST(names_that_arrive_late)
{
	static const char *const names[] = { "main",
					     "g_malloc",
					     "std::string::assign(char const*)",
					     "xmalloc",
					     "work",
					     "std::map<int, int>::insert(int)|build",
					     "operator new(unsigned long)" };
	struct session x;
	uint64_t seed = 12345;

	for (int round = 0; round < 20; round++) {
		begin(&x);
		stack_count = 0;
		for (int i = 0; i < 25; i++) {
			struct place p[6];
			for (int k = 0; k < 6; k++) {
				seed = seed * 6364136223846793005ull + 1;
				p[k] = (struct place){ (uint32_t)(seed >> 40) % 6, NULL };
			}
			stack(&x, p, 2 + i % 5, false);
			whole(&x);
		}
		uint32_t nodes = stack_count;
		for (uint32_t i = 0; i < nodes * 3; i++) {
			seed = seed * 6364136223846793005ull + 1;
			uint32_t id = 1 + (uint32_t)(seed >> 33) % nodes;
			const struct location *at = made_place(x.m, id);
			uint32_t slot = slot_of(x.m, id);
			made_answer(&x.s, at->module, at->offset,
				    i % 2 ? SYMBOL_TABLE : SYMBOL_DWARF, names[(seed >> 20) % 7]);
			if (i % 4 == 0 && slot)
				made_counts(x.m, slot, i + 2, i * 100 + 200, 1, 50);
			if (i % 3 == 0)
				made_tick(x.m, x.now += 1000, MTW_TICK_COMPLETE);
			whole(&x);
		}
		/* The same as when all names had been there at first. */
		struct owners *fresh = owners_new(x.m, &x.s);
		for (uint32_t id = 1; id <= nodes; id++) {
			uint32_t a, b;
			CHECK_STR(owners_of_node(x.o, id)->name, owners_of_node(fresh, id)->name);
			CHECK_EQ(owners_site(x.o, id, &a), owners_site(fresh, id, &b));
			CHECK_EQ(a, b);
		}
		owners_free(fresh);
		end(&x);
	}
}

/* Ten thousand may wait for a large binary: an answer costs what it changes. */
TEST(an_answer_asks_for_one)
{
	struct session x;
	uint32_t last = 0;

	begin(&x);
	stack_count = 0;
	for (int i = 0; i < 500; i++)
		last = STACK(&x, false, { PROGRAM, NULL }, { GLIB, NULL });
	whole(&x);
	uint64_t before = x.s.asked;
	CHECK(before >= 500);
	made_answer(&x.s, GLIB, (uint64_t)last * 16, SYMBOL_TABLE, "g_malloc");
	whole(&x);
	CHECK(x.s.asked - before < 5);
	made_answer(&x.s, PROGRAM, (uint64_t)(last - 1) * 16, SYMBOL_DWARF, "work");
	CHECK_STR(site(&x, last), "work");
	end(&x);
}

/* As if the last snapshot had taken long, and long ago. */
static void be_due(struct owners *o)
{
	o->cost_ns = 1u << 30;
	o->made_ns = 0;
}

static void same_owners(const struct owner *a, size_t na, const struct owner *b, size_t nb)
{
	CHECK_EQ(na, nb);
	for (size_t i = 0; i < na && i < nb; i++) {
		CHECK_STR(a[i].name, b[i].name);
		CHECK(!memcmp(&a[i].amounts, &b[i].amounts, sizeof a[i].amounts));
	}
}

/* A large snapshot of a view is named by a thread: the last one stays, and the new one is equal to
 * one that is named at once. */
TEST(a_thread_names_the_same)
{
	const struct owner *list, *other;
	struct session x;

	begin(&x);
	stack_count = 0;
	model_set_paced(x.m, true);
	for (uint32_t round = 1; round <= 60; round++) {
		uint32_t leaf = STACK(&x, false, { PROGRAM, NULL }, { GLIB, NULL });
		if (round % 3 == 0)
			made_answer(&x.s, GLIB, (uint64_t)leaf * 16, SYMBOL_TABLE,
				    round % 2 ? "g_malloc" : "work");
		be_due(x.o);
		owners_heap(x.o); /* the thread begins */
		if (round % 4 == 0)
			continue; /* more comes meanwhile */
		do {
			be_due(x.o);
			owners_heap(x.o);
		} while (x.o->of != model_heap(x.m) || x.o->of_names != names_version(x.o->names));
		struct owners *fresh = owners_new(x.m, &x.s);
		size_t nf = owners_update(fresh, &other), n = owners_update(x.o, &list);
		same_owners(list, n, other, nf);
		owners_free(fresh);
	}
	CHECK(x.o->worker);
	STACK(&x, false, { PROGRAM, NULL }, { GLIB, NULL });
	be_due(x.o);
	owners_heap(x.o); /* ends with work under way */
	owners_free(x.o);
	model_free(x.m);
}
