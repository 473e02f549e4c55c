/* SPDX-License-Identifier: MIT
 *
 * trie.h - nodes and slots: the call paths. Main thread only.
 *
 * They lie in chunks (addresses never move), in order of arrival; idmap maps a wire id to that
 * dense index. A parent always precedes its children, so one pass over the dense indices downwards
 * is bottom-up.
 */
#ifndef MODEL_PATHS_TRIE_H
#define MODEL_PATHS_TRIE_H

#include "base/idmap.h"
#include "model/paths/types.h"
#include "model/paths/quota.h"

#define CHUNK 4096u

struct trie {
	struct idmap node_ids, slot_ids;
	struct node **nodes;
	struct slot **slots;
	size_t node_chunks, slot_chunks; /* room in chunks */
	uint32_t node_count, slot_count; /* dense */
	uint32_t *truncated;             /* ids of TRUNCATED nodes */
	size_t truncated_count, truncated_room;
	uint32_t *proven; /* ids of the outermost by_pointer nodes */
	size_t proven_count, proven_room;
};

static inline struct node *node_at(const struct trie *t, uint32_t index)
{
	return &t->nodes[index / CHUNK][index % CHUNK];
}

static inline struct slot *slot_at(const struct trie *t, uint32_t index)
{
	return &t->slots[index / CHUNK][index % CHUNK];
}

/* Prefetches a slot: slots lie anywhere in memory. */
static inline void expect_slot(const struct trie *t, uint32_t index)
{
	__builtin_prefetch(slot_at(t, index), 1);
}

static inline struct node *node_by_id(const struct trie *t, uint32_t id)
{
	uint32_t i = idmap_get(&t->node_ids, id);

	return i == NO_ID ? NULL : node_at(t, i);
}

static inline struct slot *slot_by_id(const struct trie *t, uint32_t id)
{
	uint32_t i = idmap_get(&t->slot_ids, id);

	return i == NO_ID ? NULL : slot_at(t, i);
}

static inline bool slot_is_estimate(const struct slot *s, const struct tally *now)
{
	return s->sampled && (now->alloc_blocks | now->alloc_bytes);
}

/* Makes a node for a new id; the caller links it. */
struct node *trie_new_node(struct trie *t, struct quota *q, uint32_t id);
struct slot *trie_new_slot(struct trie *t, struct quota *q, uint32_t id);
void trie_truncated(struct trie *t, uint32_t id); /* notes a TRUNCATED node */
/* Marks a node whose caller was found by a frame pointer. Enter outer ones first: an inner one
 * looks for them. */
void trie_proven(struct trie *t, struct node *n);
void trie_clear(struct trie *t, struct quota *q); /* keeps the lists' room */
void trie_release(struct trie *t);                /* after that */

#endif
