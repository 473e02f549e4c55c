/* SPDX-License-Identifier: MIT */
#include "heap/room.h"

#include "base/base.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#define LARGE (1u << 20) /* smaller ones malloc keeps itself */
#define KEPT 3u          /* sums, changes and rates of the snapshot before */

static struct {
	pthread_mutex_t lock;
	void *kept[KEPT];
} rooms = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* One that fits, and is not much too large. */
void *room_take(size_t bytes)
{
	void *p = NULL;

	pthread_mutex_lock(&rooms.lock);
	for (size_t i = 0; i < KEPT && bytes >= LARGE && !p; i++) {
		size_t has = rooms.kept[i] ? malloc_usable_size(rooms.kept[i]) : 0;
		if (has < bytes || has / 2 > bytes)
			continue;
		p = rooms.kept[i];
		rooms.kept[i] = NULL;
	}
	pthread_mutex_unlock(&rooms.lock);
	return p ? p : xmalloc(bytes + (bytes >= LARGE ? bytes / 8 : 0));
}

/* The smallest of those that are kept makes room for it. */
void room_give(void *p)
{
	size_t least = 0;

	if (!p || malloc_usable_size(p) < LARGE) {
		free(p);
		return;
	}
	pthread_mutex_lock(&rooms.lock);
	for (size_t i = 1; i < KEPT; i++)
		if (malloc_usable_size(rooms.kept[i]) < malloc_usable_size(rooms.kept[least]))
			least = i; /* of none: 0 */
	if (malloc_usable_size(rooms.kept[least]) < malloc_usable_size(p)) {
		void *out = rooms.kept[least];
		rooms.kept[least] = p;
		p = out;
	}
	pthread_mutex_unlock(&rooms.lock);
	free(p);
}

void room_forked(void)
{
	pthread_mutex_init(&rooms.lock, NULL);
	for (size_t i = 0; i < KEPT; i++)
		rooms.kept[i] = NULL;
}
