/* SPDX-License-Identifier: MIT
 *
 * keyed.c - copies a session with key frames, as memtop records it (make bench-session).
 *
 * Usage: keyed FROM TO
 */
#include "model/model.h"
#include "session/key.h"
#include "session/session.h"
#include "wire/decode.h"

#include <stdlib.h>
#include <string.h>

static struct model *model;
static struct session_writer *file;
static struct {
	uint64_t type;
	uint8_t *bytes;
	size_t len;
} * names; /* S_SYMBOL frames */
static size_t name_count, name_room;

static void check(int failed, const struct err *err)
{
	if (!failed)
		return;
	fprintf(stderr, "keyed: %s\n", err->text);
	exit(1);
}

static int apply(void *arg, const struct event *e, struct err *err)
{
	return model_apply(arg, e, err);
}

static void keep_name(uint64_t type, const uint8_t *payload, size_t len)
{
	if (type != MTW_S_SYMBOL && type != MTW_S_GENERATED)
		return;
	GROW(names, name_room, name_count + 1);
	names[name_count].type = type;
	names[name_count].bytes = xmalloc(len);
	names[name_count].len = len;
	memcpy(names[name_count++].bytes, payload, len);
}

static void put_key(uint64_t time_ns, bool ends)
{
	struct err err = { 0 };
	size_t len;

	if (!session_key_due(file, 0, ends) || !model_dumps(model))
		return;
	struct session_key_out *key =
		session_key_new(0, session_key_resume(file, 0), time_ns, model_ticks_read(model));
	model_dump(model, session_key_frame, key);
	for (size_t i = 0; i < name_count; i++)
		session_key_frame(key, names[i].type, names[i].bytes, names[i].len);
	model_dump_end(model, session_key_frame, key);
	uint8_t *blocks = session_key_end(key, &len);
	check(session_put_key(file, 0, blocks, len, &err), &err);
	free(blocks);
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	const uint8_t *payload;
	uint64_t time_ns = 0, type;
	size_t len;

	if (argc < 3)
		return 2;
	struct session_reader *from = session_open(argv[1], 0, &err);
	file = session_create(argv[2], 0, &err);
	check(!from || !file, &err);
	model = model_new();
	while (session_next(from, &time_ns, &type, &payload, &len, &err) > 0) {
		check(session_frame(file, 0, time_ns, type, payload, len, &err), &err);
		check(wire_read(type, payload, len, apply, model, &err), &err);
		keep_name(type, payload, len);
		if (type == MTW_TICK && model_ticks_read(model) % 10 == 0)
			check(session_flush(file, &err), &err);
		if (type == MTW_TICK)
			put_key(time_ns, false);
	}
	session_flush(file, &err);
	put_key(time_ns, true);
	check(session_close(file, &err), &err);
	return 0;
}
