/* SPDX-License-Identifier: MIT
 *
 * endings.c - how whole the stacks of a session are. Usage: endings SESSION
 * Prints: blocks N without N shorter N lost N agent N: blocks allocated, those without any frame,
 * those whose stack lacks frames at one end, those that no counter has, and the bytes that the
 * agent took.
 */
#include "model/model.h"
#include "model/quality.h"
#include "session/session.h"
#include "wire/decode.h"

#include <stdlib.h>

static void check(int failed, const struct err *err)
{
	if (!failed)
		return;
	fprintf(stderr, "endings: %s\n", err->text);
	exit(1);
}

static int apply(void *arg, const struct event *e, struct err *err)
{
	return model_apply(arg, e, err);
}

static void read_session(const char *path, struct model *m)
{
	struct err err = { 0 };
	struct session_reader *from = session_open(path, 0, &err);
	const uint8_t *payload;
	uint64_t time_ns, type;
	size_t len;
	int more;

	check(!from, &err);
	while ((more = session_next(from, &time_ns, &type, &payload, &len, &err)) > 0)
		check(wire_read(type, payload, len, apply, m, &err), &err);
	check(more < 0, &err);
	session_reader_free(from);
}

int main(int argc, char **argv)
{
	struct model *m = model_new();
	uint64_t without = 0, shorter = 0, lost = 0;
	struct cut *cuts;

	if (argc < 2)
		return 2;
	read_session(argv[1], m);
	for (size_t i = quality_cuts(m, &cuts); i-- > 0;)
		*(cuts[i].module == NO_ID ? &without : &shorter) += cuts[i].blocks;
	for (unsigned reason = 0; reason < MTW_LOSS_COUNT; reason++) {
		uint64_t events, bytes;

		model_loss(m, reason, &events, &bytes);
		lost += reason == MTW_LOSS_SHADOW ? events : 0;
	}
	printf("blocks %lu without %lu shorter %lu lost %lu agent %lu\n",
	       (unsigned long)model_totals(m)->sum.alloc_blocks, (unsigned long)without,
	       (unsigned long)shorter, (unsigned long)lost,
	       (unsigned long)model_totals(m)->agent_memory_bytes);
	free(cuts);
	model_free(m);
	return 0;
}
