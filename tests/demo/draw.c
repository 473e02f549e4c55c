/* SPDX-License-Identifier: MIT
 *
 * draw.c - draws features into a small grey picture, run-length encoded.
 */
#include "tile.h"

#include <stdlib.h>

static void draw_line(uint8_t *pixels, const struct vertex *a, const struct vertex *b,
		      uint8_t shade)
{
	for (int i = 0; i <= TILE_PIXELS; i++) {
		int x = (a->x + (b->x - a->x) * i / TILE_PIXELS) * TILE_PIXELS / TILE_SIDE;
		int y = (a->y + (b->y - a->y) * i / TILE_PIXELS) * TILE_PIXELS / TILE_SIDE;

		if (x >= 0 && x < TILE_PIXELS && y >= 0 && y < TILE_PIXELS)
			pixels[y * TILE_PIXELS + x] = shade;
	}
}

static uint8_t *pack(const uint8_t *pixels, size_t n, size_t *len)
{
	uint8_t *runs = malloc(2 * n);
	size_t used = 0;

	for (size_t i = 0; runs && i < n;) {
		size_t same = 1;

		while (i + same < n && same < 255 && pixels[i + same] == pixels[i])
			same++;
		runs[used++] = (uint8_t)same;
		runs[used++] = pixels[i];
		i += same;
	}
	*len = used;
	return runs ? realloc(runs, used ? used : 1) : NULL;
}

uint8_t *tile_draw(const struct tile *t, size_t *len)
{
	uint8_t *pixels = calloc(TILE_PIXELS, TILE_PIXELS), *runs;

	if (!pixels)
		return NULL;
	for (uint32_t i = 0; i < t->feature_count; i++) {
		const struct vertex_array *v = t->features[i].ring;

		for (uint32_t k = 0; v && k < v->used; k++)
			draw_line(pixels, &v->at[k], &v->at[(k + 1) % v->used], (uint8_t)(i + 1));
	}
	runs = pack(pixels, (size_t)TILE_PIXELS * TILE_PIXELS, len);
	free(pixels);
	return runs;
}
