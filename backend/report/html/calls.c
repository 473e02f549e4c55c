/* SPDX-License-Identifier: MIT */
#include "report/html/calls.h"

#include <stdlib.h>
#include <string.h>

/* --- building */

void calls_begin(struct calls *c)
{
	c->node_count = 1;
	GROW(c->nodes, c->node_room, 1);
}

void calls_release(struct calls *c)
{
	free(c->nodes);
	free(c->frames);
	free(c->order);
	map_release(&c->children);
	map_release(&c->frame_of);
}

uint32_t calls_frame(struct calls *c, uint64_t key, const struct call_frame *f)
{
	uint32_t number = map_get(&c->frame_of, key, NO_ID);

	if (number == NO_ID) {
		number = (uint32_t)c->frame_count++;
		GROW(c->frames, c->frame_room, c->frame_count);
		c->frames[number] = *f;
		map_set(&c->frame_of, key, number);
	}
	if (!c->frames[number].file)
		c->frames[number].file = f->file;
	return number;
}

uint32_t calls_child(struct calls *c, uint32_t parent, uint32_t frame, uint32_t line)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint32_t node = map_get(&c->children, key, 0);

	if (node) {
		if (c->nodes[node].line != line)
			c->nodes[node].line = CALLS_SEVERAL;
		return node;
	}
	node = (uint32_t)c->node_count++;
	GROW(c->nodes, c->node_room, c->node_count);
	c->nodes[node] = (struct call_node){ .parent = parent,
					     .frame = frame,
					     .line = line,
					     .next_sibling = c->nodes[parent].first_child };
	c->nodes[parent].first_child = node;
	map_set(&c->children, key, node);
	return node;
}

static uint32_t node_after(const struct calls *c, uint32_t node)
{
	if (c->nodes[node].first_child)
		return c->nodes[node].first_child;
	while (node && !c->nodes[node].next_sibling)
		node = c->nodes[node].parent;
	return c->nodes[node].next_sibling;
}

void calls_order(struct calls *c)
{
	uint32_t place = 0, node = 0;

	c->order = xcalloc(c->node_count, sizeof *c->order);
	do {
		c->nodes[node].place = place;
		c->order[place++] = node;
	} while ((node = node_after(c, node)));
}

/* --- writing */

static void list_begin(struct pack *out, const char *key)
{
	pack_key(out, key);
	pack_open(out, '[');
}

static void put_frame_names(const struct calls *c, struct pack *out)
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
static void put_frame_libraries(const struct calls *c, struct pack *out)
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

static void put_nodes(const struct calls *c, struct pack *out)
{
	uint32_t before = 0;

	pack_key(out, "nodes");
	pack_open(out, '{');
	list_begin(out, "up");
	for (size_t i = 1; i < c->node_count; i++) {
		int64_t up = 0;

		for (uint32_t a = before; a != c->nodes[c->order[i]].parent; up++)
			a = c->nodes[a].parent;
		pack_number(out, up);
		before = c->order[i];
	}
	pack_close(out, ']');
	list_begin(out, "frame");
	for (size_t i = 1; i < c->node_count; i++)
		pack_size(out, c->nodes[c->order[i]].frame);
	pack_close(out, ']');
	list_begin(out, "line"); /* 0: not known, or several */
	for (size_t i = 1; i < c->node_count; i++) {
		uint32_t line = c->nodes[c->order[i]].line;

		pack_size(out, line == CALLS_SEVERAL ? 0 : line);
	}
	pack_close(out, ']');
	pack_close(out, '}');
}

void calls_put(const struct calls *c, struct pack *out)
{
	pack_key(out, "frames");
	pack_open(out, '{');
	put_frame_names(c, out);
	put_frame_libraries(c, out);
	put_nodes(c, out);
}
