/* SPDX-License-Identifier: MIT
 *
 * vertex.c - rings of vertices, and clipping them to the tile (Sutherland and Hodgman, one edge at
 * a time).
 */
#include "tile.h"

#include <stdbool.h>
#include <stdlib.h>

struct vertex_array *new_vertex_array(uint32_t room)
{
	struct vertex_array *v = malloc(sizeof *v + room * sizeof *v->at);

	if (v) {
		v->used = 0;
		v->room = room;
	}
	return v;
}

static void put(struct vertex_array *v, int x, int y)
{
	if (v->used < v->room)
		v->at[v->used++] = (struct vertex){ (int16_t)x, (int16_t)y };
}

/* Edges 0..3: left, right, top, bottom. */
static bool inside(const struct vertex *a, int edge)
{
	switch (edge) {
	case 0: return a->x >= 0;
	case 1: return a->x < TILE_SIDE;
	case 2: return a->y >= 0;
	default: return a->y < TILE_SIDE;
	}
}

static void put_crossing(struct vertex_array *to, const struct vertex *a, const struct vertex *b,
			 int edge)
{
	int limit = edge == 0 || edge == 2 ? 0 : TILE_SIDE - 1;

	if (edge < 2)
		put(to, limit, a->y + (b->y - a->y) * (limit - a->x) / (b->x - a->x));
	else
		put(to, a->x + (b->x - a->x) * (limit - a->y) / (b->y - a->y), limit);
}

/*
 * The part of the ring that lies in the tile. Takes the ring and returns one: the same when nothing
 * had to be cut off.
 */
struct vertex_array *clip_ring(struct vertex_array *ring)
{
	for (int edge = 0; edge < 4; edge++) {
		bool cut = false;

		for (uint32_t i = 0; i < ring->used; i++)
			cut = cut || !inside(&ring->at[i], edge);
		if (!cut)
			continue;
		struct vertex_array *to = new_vertex_array(ring->used * 2);
		for (uint32_t i = 0; to && i < ring->used; i++) {
			const struct vertex *a = &ring->at[i], *b = &ring->at[(i + 1) % ring->used];

			if (inside(a, edge))
				put(to, a->x, a->y);
			if (inside(a, edge) != inside(b, edge))
				put_crossing(to, a, b, edge);
		}
		ring = to;
		if (!ring)
			break;
	}
	return ring;
}
