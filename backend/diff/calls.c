/* SPDX-License-Identifier: MIT */
#include "diff/calls.h"

#include "model/model.h"

#include <stdlib.h>

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

void calls_put(const struct calls *c, struct pack *out)
{
	uint32_t *columns = xcalloc(3 * c->node_count, sizeof *columns);
	uint32_t *parent = columns, *frame = parent + c->node_count, *line = frame + c->node_count;

	for (size_t i = 0; i < c->node_count; i++) {
		const struct call_node *n = &c->nodes[c->order[i]];

		parent[i] = c->nodes[n->parent].place;
		frame[i] = n->frame;
		line[i] = n->line;
	}
	html_calls_put(&(struct html_calls){ (uint32_t)c->node_count, parent, frame, line,
					     c->frames, c->frame_count },
		       out);
	free(columns);
}
