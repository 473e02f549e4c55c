/* SPDX-License-Identifier: MIT */
#include "heap/room.h"

#include "base/base.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE (2ul << 20) /* a page */
#define LARGE (1u << 20) /* smaller ones malloc keeps itself */
#define KEPT 3u          /* sums, changes and rates of the snapshot before */
#define UNUSED 8u        /* after so many others came back nobody wants it */

static struct {
	pthread_mutex_t lock;
	void *kept[KEPT];
	uint32_t since[KEPT], given; /* since: when it came; given: how many did */
} rooms = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void in_huge_pages(void *p, size_t bytes)
{
	uintptr_t first = ((uintptr_t)p + HUGE - 1) / HUGE * HUGE,
		  end = ((uintptr_t)p + bytes) / HUGE * HUGE;

#ifdef MADV_HUGEPAGE
	if (first < end)
		madvise((void *)first, end - first, MADV_HUGEPAGE); /* or not */
#endif
}

void *room_large(size_t count, size_t size)
{
	void *p = xcalloc(count, size); /* fresh pages are clear */

	in_huge_pages(p, count * size);
	return p;
}

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
	return p ? p : room_large(1, bytes + (bytes >= LARGE ? bytes / 8 : 0));
}

/* Where one is kept: instead of what nobody wants, where there is none, or of the smallest. */
static size_t place_for(size_t *worth)
{
	size_t least = 0;

	*worth = SIZE_MAX;
	for (size_t i = 0; i < KEPT; i++) {
		size_t is = rooms.kept[i] ? malloc_usable_size(rooms.kept[i]) : 1;
		if (rooms.kept[i] && rooms.given - rooms.since[i] > UNUSED)
			is = 0;
		if (is >= *worth)
			continue;
		*worth = is;
		least = i;
	}
	return least;
}

void room_give(void *p)
{
	size_t worth;

	if (!p || malloc_usable_size(p) < LARGE) {
		free(p);
		return;
	}
	pthread_mutex_lock(&rooms.lock);
	size_t at = place_for(&worth);
	rooms.given++;
	if (worth < malloc_usable_size(p)) {
		void *out = rooms.kept[at];
		rooms.kept[at] = p;
		rooms.since[at] = rooms.given;
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
