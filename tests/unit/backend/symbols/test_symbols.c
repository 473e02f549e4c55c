/* SPDX-License-Identifier: MIT
 *
 * test_symbols.c - the main thread's table of names: matching answers to requests, and names of
 * generated code.
 */
#include "check.h"
#include "symbols/symbols.h"
#include "wire/decode.h"

static void answer(struct symbols *s, uint64_t offset, uint8_t kind)
{
	struct symbol_frame f = { .function = "f", .name = "f" };

	symbols_put(s, 3, offset, kind, &(struct symbol){ SYMBOL_DWARF, 1, &f });
}

TEST(whose_answer_it_was)
{
	struct symbol_options none = { 0 };
	struct model *m = model_new();
	struct symbols *s = symbols_new(NULL, m, &none, NULL);
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

TEST(generated_code_from_a_file)
{
	struct symbol_options none = { 0 };
	struct model *m = model_new();
	struct symbols *s = symbols_new(NULL, m, &none, NULL);
	struct symbol_frame f = { .function = "get (a) <b>", .file = "a.js", .line = 3 };
	struct symbol_place p;

	const struct symbol *x = symbols_get(s, NO_ID, 0x7f00, MTW_NODE_NOWHERE);
	CHECK_EQ(x->count, 1);
	CHECK(!x->frames[0].function);
	CHECK_STR(x->frames[0].name, GENERATED_NAME);
	symbols_put(s, NO_ID, 0x7f00, MTW_NODE_NOWHERE, &(struct symbol){ SYMBOL_TABLE, 1, &f });
	CHECK(symbols_answered(s, symbols_generation(s), &p));
	CHECK_EQ(p.module, NO_ID);
	CHECK_EQ(p.offset, 0x7f00);
	CHECK_EQ(p.kind, MTW_NODE_NOWHERE);
	x = symbols_get(s, NO_ID, 0x7f00, MTW_NODE_NOWHERE);
	CHECK_STR(x->frames[0].function, "get (a) <b>");
	/* brackets are no templates, blanks no return types */
	CHECK_STR(x->frames[0].name, "get (a) <b>");
	CHECK_STR(x->frames[0].file, "a.js");
	CHECK_EQ(x->frames[0].line, 3);
	symbols_free(s);
	model_free(m);
}

static void apply(struct model *m, const struct event *e)
{
	struct err err = { 0 };

	CHECK(!model_apply(m, e, &err));
}

static uint64_t first_file(void)
{
	unsigned long long start;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	do
		CHECK(f && fgets(line, sizeof line, f) && sscanf(line, "%llx-", &start) == 1);
	while (!strchr(line, '/'));
	fclose(f);
	return start;
}

/* Addresses missing in the map are requested again; a known name stays. The program is this
 * process. */
TEST(generated_code_of_a_program)
{
	struct event hello = { .type = MTW_HELLO }, module = { .type = MTW_MODULE };
	struct symbol_options none = { 0 };
	struct model *m = model_new();
	struct symbols *s = symbols_new(NULL, m, &none, NULL);
	uint64_t done, asked;
	char path[64];

	hello.u.hello.pid = (uint64_t)getpid();
	hello.u.hello.start_unix_ns = unix_now_ns();
	hello.u.hello.arch = hello.u.hello.exe = hello.u.hello.agent_version =
		hello.u.hello.options = (struct text){ "", 0 };
	apply(m, &hello);
	module.u.module.path = (struct text){ "/x", 2 };
	module.u.module.build_id = (struct text){ "", 0 };
	module.u.module.start = first_file();
	apply(m, &module);
	symbols_local(s, &(struct symbol_process){ 0 });
	for (uint64_t pc = 0x1010; pc < 0x9000; pc += 0x1000)
		CHECK(!symbols_get(s, NO_ID, pc, MTW_NODE_NOWHERE)->frames[0].function);
	symbols_wait(s);
	CHECK_EQ(symbols_get(s, NO_ID, 0x1010, MTW_NODE_NOWHERE)->source, SYMBOL_NONE);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	FILE *f = fopen(path, "w");
	CHECK(f);
	fputs("1000 20 one\n8000 20 eight\n", f);
	fflush(f);
	symbols_wait(s);
	CHECK_STR(symbols_get(s, NO_ID, 0x1010, MTW_NODE_NOWHERE)->frames[0].function, "one");
	CHECK_STR(symbols_get(s, NO_ID, 0x8010, MTW_NODE_NOWHERE)->frames[0].function, "eight");
	CHECK(!symbols_get(s, NO_ID, 0x2010, MTW_NODE_NOWHERE)->frames[0].function);
	fputs("1000 20 two\n2000 20 two\n", f);
	fclose(f);
	symbols_wait(s);
	CHECK_STR(symbols_get(s, NO_ID, 0x2010, MTW_NODE_NOWHERE)->frames[0].function, "two");
	CHECK_STR(symbols_get(s, NO_ID, 0x1010, MTW_NODE_NOWHERE)->frames[0].function, "one");
	symbols_progress(s, &done, &asked);
	CHECK_EQ(done, 8);
	CHECK_EQ(asked, 8);
	unlink(path);
	symbols_free(s);
	model_free(m);
}
