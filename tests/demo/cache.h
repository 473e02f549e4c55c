/* SPDX-License-Identifier: MIT
 *
 * cache.h - drawn tiles by number; evicts the least recently used ones. Any thread.
 */
#ifndef CACHE_H
#define CACHE_H

#include <stddef.h>
#include <stdint.h>

#define CACHE_TILES 3000

/* A copy of the tile's bytes, or NULL. The caller frees. */
uint8_t *tile_cache_get(uint32_t tile, size_t *len);
/* Keeps a copy. */
void tile_cache_put(uint32_t tile, const uint8_t *bytes, size_t len);
size_t tile_cache_count(void);

#endif
