/* SPDX-License-Identifier: MIT */
#include "diff/formats/paths.h"

#include <stdlib.h>

static const char *piece_of(struct paths *p, const struct joined *e, uint32_t node, size_t *frames)
{
	const struct join *j = p->d->join;
	const struct side *s = j->sides[e->side];
	const struct side_stack *k = &s->stacks[e->stack];
	uint32_t location = side_location(s, node), site = node == k->site ? k->site_frame + 1 : 0;
	uint64_t key = (uint64_t)e->side << 59 | (uint64_t)location << 27 | site;
	uint32_t number = map_get(&p->of_location, key, 0);

	*frames += side_frames(s, location);
	if (number)
		return p->pieces[number - 1];
	if (!p->frames)
		p->frames = xcalloc(PATH_FRAMES, sizeof *p->frames);
	size_t n = join_location(j, e->side, location, p->frames, PATH_FRAMES);
	if (site && site <= n)
		p->frames[site - 1].site = true;
	GROW(p->pieces, p->room, p->count + 1);
	p->pieces[p->count++] = p->piece(p->arg, p->frames, n);
	map_set(&p->of_location, key, (uint32_t)p->count);
	return p->pieces[p->count - 1];
}

size_t paths_of(struct paths *p, uint32_t joined)
{
	const struct joined *e = &p->d->join->list[joined];
	const struct side *s = p->d->sides[e->side];
	const struct skeleton *tree = s->heap->skeleton;
	size_t count = 0, frames = 0;

	for (uint32_t n = side_node(s, e->stack); n && frames < PATH_FRAMES; n = tree->parent[n]) {
		GROW(p->path, p->path_room, count + 1);
		p->path[count++] = piece_of(p, e, n, &frames);
	}
	return count;
}

void paths_release(struct paths *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->pieces[i]);
	map_release(&p->of_location);
	free(p->pieces);
	free(p->path);
	free(p->frames);
}
