/* SPDX-License-Identifier: MIT */
#include "base/string_pool.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_bytes(const char *s, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;

	while (len--)
		h = (h ^ (uint8_t)*s++) * 0x100000001b3u;
	return h ^ h >> 29;
}

static void grow(struct string_pool *s)
{
	size_t old_room = s->room;
	char **old = s->list;

	s->room = old_room ? old_room * 2 : 1024;
	s->list = xcalloc(s->room, sizeof *s->list);
	for (size_t i = 0; i < old_room; i++) {
		if (!old[i])
			continue;
		size_t at = hash_bytes(old[i], strlen(old[i])) & (s->room - 1);
		while (s->list[at])
			at = (at + 1) & (s->room - 1);
		s->list[at] = old[i];
	}
	free(old);
}

const char *string_pool_keep(struct string_pool *s, const char *text)
{
	if (!text)
		return NULL;
	if (s->used * 2 >= s->room)
		grow(s);
	size_t at = hash_bytes(text, strlen(text)) & (s->room - 1);
	while (s->list[at]) {
		if (!strcmp(s->list[at], text))
			return s->list[at];
		at = (at + 1) & (s->room - 1);
	}
	s->used++;
	return s->list[at] = xstrdup(text);
}

void string_pool_release(struct string_pool *s)
{
	for (size_t i = 0; i < s->room; i++)
		free(s->list[i]);
	free(s->list);
	*s = (struct string_pool){ 0 };
}
