/* SPDX-License-Identifier: MIT
 *
 * cache.c - a chained hash table, and a list ordered by last use.
 */
#include "cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 512

struct entry {
	struct entry *chain, *newer, *older;
	uint32_t tile;
	size_t len;
	uint8_t bytes[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *buckets[BUCKETS], *newest, *oldest;
static size_t count;

static struct entry **find(uint32_t tile)
{
	struct entry **e = &buckets[tile % BUCKETS];

	while (*e && (*e)->tile != tile)
		e = &(*e)->chain;
	return e;
}

static void unlink_use(struct entry *e)
{
	*(e->newer ? &e->newer->older : &newest) = e->older;
	*(e->older ? &e->older->newer : &oldest) = e->newer;
}

static void link_newest(struct entry *e)
{
	e->newer = NULL;
	e->older = newest;
	*(newest ? &newest->newer : &oldest) = e;
	newest = e;
}

static void drop(struct entry *e)
{
	*find(e->tile) = e->chain;
	unlink_use(e);
	free(e);
	count--;
}

uint8_t *tile_cache_get(uint32_t tile, size_t *len)
{
	uint8_t *copy = NULL;

	pthread_mutex_lock(&lock);
	struct entry *e = *find(tile);
	if (e && (copy = malloc(e->len ? e->len : 1))) {
		memcpy(copy, e->bytes, e->len);
		*len = e->len;
		unlink_use(e);
		link_newest(e);
	}
	pthread_mutex_unlock(&lock);
	return copy;
}

void tile_cache_put(uint32_t tile, const uint8_t *bytes, size_t len)
{
	struct entry *e = malloc(sizeof *e + len);

	if (!e)
		return;
	*e = (struct entry){ .tile = tile, .len = len };
	memcpy(e->bytes, bytes, len);
	pthread_mutex_lock(&lock);
	if (*find(tile))
		drop(*find(tile));
	while (count >= CACHE_TILES)
		drop(oldest);
	*find(tile) = e;
	link_newest(e);
	count++;
	pthread_mutex_unlock(&lock);
}

size_t tile_cache_count(void)
{
	pthread_mutex_lock(&lock);
	size_t n = count;
	pthread_mutex_unlock(&lock);
	return n;
}
