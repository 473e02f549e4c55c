/* SPDX-License-Identifier: MIT
 *
 * names.c - names that came since: a copy of the old ones, with these in their places.
 */
#include "heap/names.h"

#include <stdlib.h>
#include <string.h>

static int by_location(const void *a, const void *b)
{
	uint32_t x = ((const struct heap_renamed *)a)->location,
		 y = ((const struct heap_renamed *)b)->location;

	return x < y ? -1 : x > y;
}

static uint32_t frames_of(const struct heap_names *n)
{
	return n ? n->first[n->locations] : 0;
}

static struct heap_names *new_of(uint32_t locations, uint32_t frames, uint32_t functions)
{
	struct heap_names *to = xcalloc(1, sizeof *to);

	atomic_init(&to->users, 1);
	to->locations = locations;
	to->functions = functions;
	to->first = xmalloc((locations + 1ul) * sizeof *to->first);
	to->site_frame = xmalloc((locations + 1ul) * sizeof *to->site_frame);
	to->place = xmalloc((locations + 1ul) * sizeof *to->place);
	to->frames = xmalloc((frames + 1ul) * sizeof *to->frames);
	to->function = xmalloc((functions + 1ul) * sizeof *to->function);
	return to;
}

static void put(struct heap_names *to, uint32_t location, uint32_t at, uint32_t count,
		uint32_t site, const struct heap_place *place, const struct heap_frame *frames)
{
	to->first[location] = at;
	to->site_frame[location] = site == NO_ID ? NO_ID : at + site;
	to->place[location] = *place;
	memcpy(&to->frames[at], frames, count * sizeof *frames);
}

static void put_same(struct heap_names *to, uint32_t location, uint32_t at,
		     const struct heap_names *from)
{
	uint32_t first = from->first[location], site = from->site_frame[location];

	put(to, location, at, heap_frames(from, location), site == NO_ID ? NO_ID : site - first,
	    &from->place[location], &from->frames[first]);
}

static void put_locations(struct heap_names *to, const struct heap_names *from,
			  const struct heap_news *news)
{
	uint32_t at = 0;
	size_t i = 0;

	for (uint32_t l = 0; l < news->locations; l++) {
		const struct heap_renamed *x = &news->list[i];

		if (i < news->count && x->location == l) {
			put(to, l, at, x->count, x->site, &x->place, &news->frames[x->frames]);
			at += x->count;
			i++;
		} else {
			put_same(to, l, at, from);
			at += heap_frames(from, l);
		}
	}
	to->first[news->locations] = at;
}

struct heap_names *heap_names_new(const struct heap_names *from, struct heap_news *news)
{
	struct heap_names *to =
		new_of(news->locations, frames_of(from) + (uint32_t)news->frame_count,
		       news->first_function + (uint32_t)news->function_count);

	if (news->count)
		qsort(news->list, news->count, sizeof *news->list, by_location);
	put_locations(to, from, news);
	if (from)
		memcpy(to->function, from->function, news->first_function * sizeof *to->function);
	if (news->function_count)
		memcpy(&to->function[news->first_function], news->functions,
		       news->function_count * sizeof *to->function);
	to->libs = news->libs;
	return to;
}

void heap_news_release(struct heap_news *news)
{
	free(news->list);
	free(news->frames);
	free(news->functions);
	*news = (struct heap_news){ 0 };
}
