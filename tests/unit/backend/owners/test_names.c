/* SPDX-License-Identifier: MIT
 *
 * test_names.c - names for snapshots: those that came since are put among the old ones, and the
 * result is what all of them together are.
 */
#include "check.h"
#include "made.h"
#include "owners/names.h"

enum { PROGRAM, LATE, STEPS = 400 };

static uint32_t seed = 7;

static uint32_t below(uint32_t end)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 8) % end;
}

static void alike(const struct heap_names *a, const struct heap_names *b)
{
	CHECK_EQ(a->locations, b->locations);
	CHECK_EQ(a->functions, b->functions);
	CHECK_EQ(a->libs, b->libs);
	for (uint32_t l = 0; l < a->locations; l++) {
		const struct heap_place *x = &a->place[l], *y = &b->place[l];

		CHECK_EQ(a->first[l], b->first[l]);
		CHECK_EQ(a->site_frame[l], b->site_frame[l]);
		CHECK(x->module == y->module && x->lib == y->lib && x->kind == y->kind &&
		      x->asked == y->asked && x->pending == y->pending && x->agent == y->agent);
	}
	CHECK_EQ(a->first[a->locations], b->first[b->locations]);
	for (uint32_t i = 0; i < a->first[a->locations]; i++) {
		const struct heap_frame *x = &a->frames[i], *y = &b->frames[i];

		CHECK(x->function == y->function && x->line == y->line && x->file == y->file &&
		      x->inlined == y->inlined);
	}
	for (uint32_t i = 0; i < a->functions; i++)
		CHECK(a->function[i].name == b->function[i].name &&
		      a->function[i].lib == b->function[i].lib &&
		      a->function[i].wrapper == b->function[i].wrapper &&
		      a->function[i].tells == b->function[i].tells);
}

static void taken_is_whole(struct names *n)
{
	struct heap_names *taken = names_taken(n), *whole = names_take(n);

	alike(taken, whole);
	CHECK(names_taken(n) == taken);
	heap_names_drop(whole);
}

struct made {
	struct model *m;
	struct symbols s;
	struct names *n;
	uint32_t nodes;
};

static void begin(struct made *x)
{
	*x = (struct made){ .m = model_new() };
	x->s.m = x->m;
	made_module(x->m, PROGRAM, "/usr/bin/program", MTW_MODULE_MAIN);
	made_module(x->m, LATE, "/lib/liblate.so", 0);
	x->n = names_new(x->m, &x->s);
}

static void end(struct made *x)
{
	names_free(x->n);
	model_free(x->m);
	free(x->s.names);
}

static void new_place(struct made *x)
{
	x->nodes++;
	made_node(x->m, x->nodes, below(x->nodes), below(2), 0x10ul * x->nodes);
}

static void answer(struct made *x)
{
	static const char *const frames[] = { "f", "operator new(unsigned long)", "in|on|out",
					      "std::vector<int>::push_back(int&&)|g" };

	made_answer(&x->s, below(2), 0x10ul * (1 + below(x->nodes)),
		    below(2) ? SYMBOL_DWARF : SYMBOL_TABLE, frames[below(4)]);
}

static void step(struct made *x)
{
	switch (below(5)) {
	case 0: new_place(x); return;
	case 1: answer(x); return;
	case 2: names_loc(x->n, below(model_location_count(x->m))); return;
	case 3: made_module(x->m, LATE, "/lib/liblate.so", below(2) ? MTW_MODULE_LIBC : 0); return;
	default: new_place(x); taken_is_whole(x->n);
	}
}

TEST(news_are_put_among_the_old_names)
{
	struct made x;

	begin(&x);
	new_place(&x);
	names_refresh(x.n);
	for (int i = 0; i < STEPS; i++) {
		step(&x);
		names_refresh(x.n);
	}
	names_ask_all(x.n, UINT32_MAX);
	taken_is_whole(x.n);
	end(&x);
}

/* A thread makes them; meanwhile more come, or another program does. */
TEST(what_comes_while_a_thread_makes_them)
{
	struct names_copy copy = { 0 };
	struct made x;

	begin(&x);
	new_place(&x);
	heap_names_drop(heap_names_hold(names_taken(x.n)));
	new_place(&x);
	names_copy_begin(x.n, &copy);
	new_place(&x);
	names_loc(x.n, 1);
	names_copy_make(&copy);
	CHECK_EQ(copy.made->locations, model_location_count(x.m) - 1);
	names_copy_end(x.n, &copy);
	taken_is_whole(x.n);

	new_place(&x);
	names_copy_begin(x.n, &copy);
	names_forked(x.n); /* as if the child had it */
	names_copy_make(&copy);
	names_copy_end(x.n, &copy);
	taken_is_whole(x.n);
	end(&x);
}
