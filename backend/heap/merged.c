/* SPDX-License-Identifier: MIT
 *
 * merged.c - merges level by level: a group is a list of members, nodes that stand at one of their
 * frames; a member goes on to its next inner frame, or its children come in, and those of one name
 * are a group. Groups are made one parent after the other, so which group a name has below the
 * present parent is told by a column by name: nothing is searched, nothing is sorted.
 */
#include "heap/merged.h"

#include <stdlib.h>

struct group {
	uint32_t first, last; /* members */
	uint32_t parent, frame, line;
	uint32_t size; /* groups in it and below; then where the next child goes */
};

struct merging {
	const struct skeleton *s;
	const struct heap_names *n;
	const uint32_t *name;
	struct group *groups; /* parents first, siblings one behind the other */
	size_t count, room;
	/* by node, while it is a member: the group's next one; the frame that it stands at */
	uint32_t *next, *frame;
	uint32_t *group_of_name; /* the newest one: below the present parent, or not */
	uint32_t *of_node;       /* the group of its innermost frame */
};

static uint32_t enter_group(struct merging *m, uint32_t parent, uint32_t frame)
{
	uint32_t *group = &m->group_of_name[m->name[frame]];

	if (m->groups[*group].parent == parent)
		return *group;
	*group = (uint32_t)m->count++;
	GROW(m->groups, m->room, m->count);
	m->groups[*group] = (struct group){
		.first = NO_ID, .parent = parent, .frame = frame, .line = m->n->frames[frame].line
	};
	return *group;
}

static void enter(struct merging *m, uint32_t parent, uint32_t node, uint32_t frame)
{
	uint32_t number = enter_group(m, parent, frame); /* which may move the groups */
	struct group *g = &m->groups[number];

	if (g->line != m->n->frames[frame].line)
		g->line = MERGED_LINES;
	if (g->first == NO_ID)
		g->first = node;
	else
		m->next[g->last] = node;
	g->last = node;
	m->next[node] = NO_ID;
	m->frame[node] = frame;
}

static void enter_children(struct merging *m, uint32_t group, uint32_t node)
{
	const struct skeleton *s = m->s;

	m->of_node[node] = group;
	for (uint32_t c = node + 1; c < s->end[node]; c = s->end[c])
		enter(m, group, c, m->n->first[s->location[c] + 1] - 1);
}

static void enter_all(struct merging *m)
{
	m->count = 1;
	GROW(m->groups, m->room, 1);
	m->groups[0] = (struct group){ .parent = NO_ID, .frame = NO_ID };
	enter_children(m, 0, 0);
	for (uint32_t g = 1; g < m->count; g++) {
		uint32_t node = m->groups[g].first;

		while (node != NO_ID) {
			uint32_t next = m->next[node];

			if (m->frame[node] > m->n->first[m->s->location[node]])
				enter(m, g, node, m->frame[node] - 1);
			else
				enter_children(m, g, node);
			node = next;
		}
	}
}

/* By group: its number in depth-first order. */
static uint32_t *places(struct merging *m)
{
	uint32_t *place = xmalloc(m->count * sizeof *place);
	struct group *g = m->groups;

	for (size_t i = m->count; i-- > 1;)
		g[g[i].parent].size += ++g[i].size;
	place[0] = 0;
	g[0].size = 1;
	for (size_t i = 1; i < m->count; i++) {
		uint32_t size = g[i].size;

		place[i] = g[g[i].parent].size;
		g[g[i].parent].size += size;
		g[i].size = place[i] + 1;
	}
	return place;
}

static struct merged *take(const struct merging *m, const uint32_t *place)
{
	struct merged *to = xcalloc(1, sizeof *to);

	to->count = (uint32_t)m->count;
	to->parent = xmalloc(m->count * sizeof *to->parent);
	to->frame = xmalloc(m->count * sizeof *to->frame);
	to->line = xmalloc(m->count * sizeof *to->line);
	to->of_node = m->of_node;
	for (size_t i = 0; i < m->count; i++) {
		const struct group *g = &m->groups[i];

		to->parent[place[i]] = i ? place[g->parent] : NO_ID;
		to->frame[place[i]] = g->frame;
		to->line[place[i]] = g->line;
	}
	for (uint32_t n = 0; n < m->s->nodes; n++)
		to->of_node[n] = place[to->of_node[n]];
	return to;
}

struct merged *merged_new(const struct skeleton *s, const struct heap_names *n,
			  const uint32_t *name, uint32_t names_count)
{
	struct merging m = { .s = s, .n = n, .name = name };

	m.next = xmalloc(s->nodes * sizeof *m.next);
	m.frame = xmalloc(s->nodes * sizeof *m.frame);
	m.group_of_name = xcalloc(names_count + 1ul, sizeof *m.group_of_name);
	m.of_node = xmalloc(s->nodes * sizeof *m.of_node);
	enter_all(&m);
	uint32_t *place = places(&m);
	struct merged *to = take(&m, place);
	free(place);
	free(m.groups);
	free(m.next);
	free(m.frame);
	free(m.group_of_name);
	return to;
}

void merged_free(struct merged *m)
{
	if (!m)
		return;
	free(m->parent);
	free(m->frame);
	free(m->line);
	free(m->of_node);
	free(m);
}
