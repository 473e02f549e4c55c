/* SPDX-License-Identifier: MIT */
#include "model/paths/trie.h"

#include <stdlib.h>
#include <string.h>

#define PROVEN_STEPS 8192u /* frames of the deepest stack that an agent keeps */

/* There are millions of them. */
_Static_assert(sizeof(struct node) == 32 && sizeof(struct slot) == 64, "nodes and slots are small");

static void chunk_for(void ***chunks, size_t *count, uint32_t index, size_t size)
{
	GROW(*chunks, *count, (size_t)index / CHUNK + 1);
	if (!(*chunks)[index / CHUNK])
		(*chunks)[index / CHUNK] = xcalloc_lines(CHUNK, size);
}

static void free_chunks(void ***chunks, size_t *count)
{
	for (size_t i = 0; i < *count; i++)
		free((*chunks)[i]);
	free(*chunks);
	*chunks = NULL;
	*count = 0;
}

static void count_ids(const struct trie *t, struct quota *q)
{
	q->ids = t->node_ids.bytes + t->slot_ids.bytes;
}

struct node *trie_new_node(struct trie *t, struct quota *q, uint32_t id)
{
	uint32_t index = t->node_count++;

	chunk_for((void ***)&t->nodes, &t->node_chunks, index, sizeof(struct node));
	idmap_set(&t->node_ids, id, index);
	count_ids(t, q);
	struct node *n = node_at(t, index);
	*n = (struct node){ .parent = NO_ID,
			    .first_child = NO_ID,
			    .next_sibling = NO_ID,
			    .first_slot = NO_ID,
			    .location = NO_ID,
			    .known = true,
			    .id = id,
			    .index = index };
	return n;
}

struct slot *trie_new_slot(struct trie *t, struct quota *q, uint32_t id)
{
	uint32_t index = t->slot_count++;

	chunk_for((void ***)&t->slots, &t->slot_chunks, index, sizeof(struct slot));
	idmap_set(&t->slot_ids, id, index);
	count_ids(t, q);
	struct slot *s = slot_at(t, index);
	s->id = id;
	s->known = true;
	return s;
}

void trie_truncated(struct trie *t, uint32_t id)
{
	GROW(t->truncated, t->truncated_room, t->truncated_count + 1);
	t->truncated[t->truncated_count++] = id;
}

/* Is a node further out known as proven? A stream may be deeper than any stack: then the answer
 * is yes. */
static bool proven_outside(const struct trie *t, const struct node *n)
{
	for (unsigned steps = 0; n->index && steps < PROVEN_STEPS; steps++) {
		n = node_at(t, n->parent);
		if (n->by_pointer)
			return true;
	}
	return n->index != 0;
}

void trie_proven(struct trie *t, struct node *n)
{
	if (n->by_pointer)
		return;
	n->by_pointer = true;
	if (proven_outside(t, n))
		return;
	GROW(t->proven, t->proven_room, t->proven_count + 1);
	t->proven[t->proven_count++] = n->id;
}

void trie_clear(struct trie *t, struct quota *q)
{
	free_chunks((void ***)&t->nodes, &t->node_chunks);
	free_chunks((void ***)&t->slots, &t->slot_chunks);
	t->truncated_count = t->proven_count = 0;
	t->node_count = t->slot_count = 0;
	idmap_release(&t->node_ids);
	idmap_release(&t->slot_ids);
	q->ids = 0;
}

void trie_release(struct trie *t)
{
	free(t->truncated);
	free(t->proven);
}
