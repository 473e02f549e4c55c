/* SPDX-License-Identifier: MIT */
#include "report/paths.h"

#include <stdlib.h>

static uint32_t new_path(struct paths *t, uint32_t parent, const struct shown_frame *f)
{
	uint32_t index = (uint32_t)t->count;

	GROW(t->list, t->room, t->count + 1);
	t->list[t->count++] = (struct path){
		.name = f ? f->name : NO_ID,
		.location = f ? f->location : NO_ID,
		.parent = parent,
		.first = NO_ID,
		.next = NO_ID,
		.depth = parent == NO_ID ? 0 : t->list[parent].depth + 1,
	};
	return index;
}

static uint32_t child(struct paths *t, struct map *children, uint32_t parent,
		      const struct shown_frame *f)
{
	uint64_t key = (uint64_t)parent << 32 | f->name;
	uint32_t found = map_get(children, key, NO_ID);

	if (found != NO_ID)
		return found;
	found = new_path(t, parent, f);
	map_set(children, key, found);
	t->list[found].next = t->list[parent].first;
	t->list[parent].first = found;
	return found;
}

static void add_stack(struct paths *t, struct map *children, struct shown *x,
		      const struct report_stack *s, bool outermost)
{
	int64_t value = shown_bytes(x, s);
	uint32_t at = 0;

	if (value <= 0)
		return;
	size_t n = shown_frames(x, s);
	t->list[0].value += (uint64_t)value;
	for (size_t i = 0; i < n; i++) {
		at = child(t, children, at, &x->frames[outermost ? n - 1 - i : i]);
		t->list[at].value += (uint64_t)value;
	}
}

static int by_value(const void *a, const void *b, void *list)
{
	const struct path *all = list, *x = &all[*(const uint32_t *)a],
			  *y = &all[*(const uint32_t *)b];

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

static void sort_children(struct paths *t, uint32_t parent, uint32_t **sorted, size_t *room)
{
	size_t n = 0;

	for (uint32_t i = t->list[parent].first; i != NO_ID; i = t->list[i].next) {
		GROW(*sorted, *room, n + 1);
		(*sorted)[n++] = i;
	}
	if (n < 2)
		return;
	qsort_r(*sorted, n, sizeof **sorted, by_value, t->list);
	t->list[parent].first = (*sorted)[0];
	for (size_t i = 0; i < n; i++)
		t->list[(*sorted)[i]].next = i + 1 < n ? (*sorted)[i + 1] : NO_ID;
}

void paths_make(struct paths *t, struct shown *x, bool outermost)
{
	struct map children = { 0 };
	uint32_t *sorted = NULL;
	size_t room = 0;

	*t = (struct paths){ 0 };
	new_path(t, NO_ID, NULL);
	for (size_t i = 0; i < x->count; i++)
		add_stack(t, &children, x, &x->stacks[i], outermost);
	for (uint32_t i = 0; i < t->count; i++)
		sort_children(t, i, &sorted, &room);
	free(sorted);
	map_release(&children);
}

void paths_release(struct paths *t)
{
	free(t->list);
	*t = (struct paths){ 0 };
}
