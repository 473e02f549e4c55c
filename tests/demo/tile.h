/* SPDX-License-Identifier: MIT
 *
 * tile.h - libtile: vector tiles from their encoded form to pixels, part of the demonstration.
 *
 * A tile is a list of features; a feature has tags (key and value texts) and one ring of vertices.
 */
#ifndef TILE_H
#define TILE_H

#include <stddef.h>
#include <stdint.h>

#define TILE_SIDE 256 /* units of a tile's own coordinates */
#define TILE_PIXELS 32

struct vertex_array {
	uint32_t used, room;
	struct vertex {
		int16_t x, y;
	} at[];
};

struct feature {
	char *key, *value;
	struct vertex_array *ring;
};

struct tile {
	uint32_t feature_count;
	struct feature *features;
};

/* tile.c */
struct tile *tile_decode(const uint8_t *bytes, size_t len);
void tile_free(struct tile *t);
/* draw.c: runs of (count, shade); *len is their number of bytes. The caller frees. */
uint8_t *tile_draw(const struct tile *t, size_t *len);
/* vertex.c */
struct vertex_array *new_vertex_array(uint32_t room);
struct vertex_array *clip_ring(struct vertex_array *ring);

#endif
