/* SPDX-License-Identifier: MIT
 *
 * test_ingest.c - which program's end memtop saw, and which session it belongs to.
 */
#include "check.h"
#include "frames.h"
#include "link/ingest.h"
#include "base/loop.h"

static struct ingest in;

static void sent(unsigned type, const uint8_t *bytes, size_t len)
{
	struct err err = { 0 };

	if (ingest_frame(&in, type, bytes, len, &err))
		printf("  %s\n", err.text);
	CHECK_STR(err.text, "");
}

static uint32_t state(void)
{
	int status;
	bool known;

	return model_state(in.model, &status, &known);
}

/* A fork of the child listens at the child's address and is shown by then, because it runs. */
TEST(the_end_of_a_child_is_its_own)
{
	static const struct {
		unsigned shown, child;
		bool told;
	} cases[] = { { 100, 100, true }, { 200, 100, false }, { 200, 0, true } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct loop *loop = loop_new(NULL);
		const struct symbol_options none = { 0 };
		in = (struct ingest){ 0 };
		CHECK_EQ(ingest_init(&in, loop, "made", &none, NULL), 0);
		hello_frame(cases[i].shown, 1000);
		module_frame();
		CHECK_EQ(state(), MTW_RUNNING);
		CHECK_EQ(ingest_child_ended(&in, cases[i].child, MTW_EXITED, 7), cases[i].told);
		CHECK_EQ(state(), cases[i].told ? MTW_EXITED : MTW_RUNNING);
		ingest_release(&in);
		loop_free(loop);
	}
}
