/* SPDX-License-Identifier: MIT */
#include "report/html/calls.h"

#include "base/map.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

static void list_begin(struct pack *out, const char *key)
{
	pack_key(out, key);
	pack_open(out, '[');
}

static void put_frame_names(const struct html_calls *c, struct pack *out)
{
	list_begin(out, "name");
	for (size_t i = 0; i < c->frame_count; i++)
		pack_text(out, c->frames[i].name);
	pack_close(out, ']');
	/* null: as the short name, or not known */
	list_begin(out, "full");
	for (size_t i = 0; i < c->frame_count; i++) {
		const struct call_frame *f = &c->frames[i];
		bool same = !f->full || !f->name || !strcmp(f->full, f->name);

		pack_text(out, same ? NULL : f->full);
	}
	pack_close(out, ']');
	list_begin(out, "file");
	for (size_t i = 0; i < c->frame_count; i++)
		pack_text(out, c->frames[i].file);
	pack_close(out, ']');
}

/* Libraries in the order of their first frame; a frame outside of every module has -1. */
static void put_frame_libraries(const struct html_calls *c, struct pack *out)
{
	struct map number_of = { 0 };
	const char **list = xcalloc(c->frame_count + 1, sizeof *list);
	uint32_t count = 0;

	list_begin(out, "library");
	for (size_t i = 0; i < c->frame_count; i++) {
		const char *lib = c->frames[i].library;
		uint32_t number = map_get(&number_of, (uint64_t)(uintptr_t)lib, NO_ID);

		if (lib && number == NO_ID) {
			map_set(&number_of, (uint64_t)(uintptr_t)lib, number = count);
			list[count++] = lib;
		}
		pack_number(out, number == NO_ID ? -1 : (int64_t)number);
	}
	pack_close(out, ']');
	pack_close(out, '}');
	list_begin(out, "libraries_of_frames");
	for (uint32_t i = 0; i < count; i++)
		pack_text(out, list[i]);
	pack_close(out, ']');
	map_release(&number_of);
	free(list);
}

static void put_nodes(const struct html_calls *c, struct pack *out)
{
	pack_key(out, "nodes");
	pack_open(out, '{');
	list_begin(out, "up");
	for (uint32_t i = 1; i < c->count; i++) {
		int64_t up = 0;

		for (uint32_t a = i - 1; a != c->parent[i]; up++)
			a = c->parent[a];
		pack_number(out, up);
	}
	pack_close(out, ']');
	list_begin(out, "frame");
	for (uint32_t i = 1; i < c->count; i++)
		pack_size(out, c->frame[i]);
	pack_close(out, ']');
	list_begin(out, "line"); /* 0: not known, or several */
	for (uint32_t i = 1; i < c->count; i++)
		pack_size(out, c->line[i] == CALLS_SEVERAL ? 0 : c->line[i]);
	pack_close(out, ']');
	pack_close(out, '}');
}

void html_calls_put(const struct html_calls *c, struct pack *out)
{
	pack_key(out, "frames");
	pack_open(out, '{');
	put_frame_names(c, out);
	put_frame_libraries(c, out);
	put_nodes(c, out);
}
