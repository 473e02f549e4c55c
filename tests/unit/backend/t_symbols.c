/* SPDX-License-Identifier: MIT
 *
 * t_symbols.c - the main thread's book of names: whose answer it was.
 */
#include "check.h"
#include "symbols.h"

static void answer(struct symbols *s, uint64_t offset, uint8_t kind)
{
	struct symbol_frame f = { .function = "f", .name = "f" };

	symbols_put(s, 3, offset, kind, &(struct symbol){ SYMBOL_DWARF, 1, &f });
}

TEST(whose_answer_it_was)
{
	struct symbol_options none = { 0 };
	struct model *m = model_new();
	struct symbols *s = symbols_new(NULL, m, &none);
	struct symbol_place p;

	CHECK(!symbols_answered(s, symbols_generation(s), &p));
	answer(s, 100, MTW_NODE_CODE);
	uint64_t first = symbols_generation(s);
	answer(s, 200, MTW_NODE_SIGNAL);
	CHECK_EQ(symbols_generation(s), first + 1);
	CHECK(symbols_answered(s, first, &p));
	CHECK_EQ(p.module, 3);
	CHECK_EQ(p.offset, 100);
	CHECK_EQ(p.kind, MTW_NODE_CODE);
	CHECK(symbols_answered(s, first + 1, &p));
	CHECK_EQ(p.offset, 200);
	CHECK_EQ(p.kind, MTW_NODE_SIGNAL);
	CHECK(!symbols_answered(s, first + 2, &p));
	for (uint64_t i = 0; i < 100000; i++)
		answer(s, 1000 + i, MTW_NODE_CODE);
	CHECK(!symbols_answered(s, first, &p));
	CHECK(symbols_answered(s, symbols_generation(s), &p));
	CHECK_EQ(p.offset, 1000 + 99999);
	symbols_clear(s);
	CHECK(!symbols_answered(s, symbols_generation(s) - 1, &p));
	CHECK(!symbols_answered(s, symbols_generation(s), &p));
	symbols_free(s);
	model_free(m);
}
