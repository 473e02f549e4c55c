/* SPDX-License-Identifier: MIT
 *
 * tile.c - decoding: count of features, then for each a key number, a value number, a count of
 * vertices and that many steps (two signed bytes) from the first one on.
 */
#include "tile.h"

#include <stdlib.h>
#include <string.h>

static const char *const keys[] = { "building", "highway",  "landuse",
				    "natural",  "waterway", "amenity" };
static const char *const values[] = { "residential", "primary",    "forest", "water",
				      "farmland",    "industrial", "cliff",  "school" };

struct reader {
	const uint8_t *at, *end;
};

static int next(struct reader *r)
{
	return r->at < r->end ? *r->at++ : 0;
}

static struct vertex_array *read_ring(struct reader *r)
{
	int n = next(r), x, y;
	struct vertex_array *v = new_vertex_array((uint32_t)n);

	x = next(r);
	y = next(r);
	for (int i = 0; v && i < n; i++) {
		v->at[v->used++] = (struct vertex){ (int16_t)x, (int16_t)y };
		x += (int8_t)next(r);
		y += (int8_t)next(r);
	}
	return v ? clip_ring(v) : NULL;
}

static void read_feature(struct reader *r, struct feature *f)
{
	f->key = strdup(keys[(size_t)next(r) % (sizeof keys / sizeof *keys)]);
	f->value = strdup(values[(size_t)next(r) % (sizeof values / sizeof *values)]);
	f->ring = read_ring(r);
}

struct tile *tile_decode(const uint8_t *bytes, size_t len)
{
	struct reader r = { bytes, bytes + len };
	struct tile *t = malloc(sizeof *t);

	if (!t)
		return NULL;
	t->feature_count = (uint32_t)next(&r);
	t->features = calloc(t->feature_count + 1, sizeof *t->features);
	for (uint32_t i = 0; t->features && i < t->feature_count; i++)
		read_feature(&r, &t->features[i]);
	return t;
}

void tile_free(struct tile *t)
{
	for (uint32_t i = 0; t->features && i < t->feature_count; i++) {
		free(t->features[i].key);
		free(t->features[i].value);
		free(t->features[i].ring);
	}
	free(t->features);
	free(t);
}
