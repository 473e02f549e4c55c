/* SPDX-License-Identifier: MIT
 *
 * stacks.c - the trie of stacks and the interned code locations.
 *
 * A code location is (pc, kind, module generation); a node is (parent, code). Both are items of an
 * insert-only set (base/set.h) and are found by hash, so equal stacks have equal numbers in all
 * threads. Any thread may call anything here, also from a signal handler; the server reads by
 * number alone.
 *
 * A location also carries the unwinder's rule for it. The rule belongs to the same (pc, module) and
 * lives as long, so this is the unwinder's shared cache and needs no flushing. 0 = not made yet.
 *
 * Numbers 1 .. MTW_TRUNC_COUNT-1 of both are the truncations, child nodes of the root. They exist
 * from the start, so that a stack can be booked when no node can be made. Node 0 is the root.
 */
#include "unwind/stacks.h"
#include "base/set.h"
#include "modules/maps.h"

#include <memtop/wire.h>

#define NODE_SHIFT 10u
#define CODE_SHIFT 8u
#define CODES_MAX (1u << 24)

struct cell {
	struct code code;
	_Atomic uint32_t xnext;
	_Atomic uint64_t xrule;
};

struct code_key {
	uintptr_t pc;
	const struct module *module;
	uint32_t id; /* the module's, UINT32_MAX = none */
	uint8_t kind;
};

struct node_key {
	node_id parent;
	code_id code;
};

static struct node first_nodes[1u << NODE_SHIFT];
static struct cell first_cells[1u << CODE_SHIFT];
static void *_Atomic node_chunks[MTW_NODES_MAX >> NODE_SHIFT] = { first_nodes };
static void *_Atomic cell_chunks[CODES_MAX >> CODE_SHIFT] = { first_cells };
static struct set nodes = SET_INIT(MTW_TRUNC_COUNT, node_chunks);
static struct set cells = SET_INIT(MTW_TRUNC_COUNT, cell_chunks);

static uint32_t mix(uint64_t v)
{
	v *= 0x9e3779b97f4a7c15u;
	v ^= v >> 32;
	v *= 0xd6e8feb86659fd93u;
	return (uint32_t)(v >> 32);
}

static uint32_t hash_node(node_id parent, code_id code)
{
	return mix((uint64_t)parent << 32 | code);
}

static uint32_t hash_code(uintptr_t pc, uint32_t module, uint8_t kind)
{
	return mix(pc ^ (uint64_t)module << 47 ^ (uint64_t)kind << 62);
}

static uint32_t node_hash(const void *item)
{
	const struct node *n = item;

	return hash_node(n->parent, n->code);
}

static bool node_same(const void *item, const void *key)
{
	const struct node *n = item;
	const struct node_key *k = key;

	return n->parent == k->parent && n->code == k->code;
}

static void node_fill(void *item, const void *key)
{
	struct node *n = item;
	const struct node_key *k = key;

	n->parent = k->parent;
	/* The server takes a node with a code for whole. */
	__atomic_store_n(&n->code, k->code, __ATOMIC_RELEASE);
}

static _Atomic uint32_t *node_link(void *item)
{
	return &((struct node *)item)->xnext;
}

static const struct set_kind node_kind = {
	.bytes = sizeof(struct node),
	.chunk_shift = NODE_SHIFT,
	.limit = MTW_NODES_MAX,
	.hash = node_hash,
	.same = node_same,
	.fill = node_fill,
	.link = node_link,
};

static uint32_t cell_hash(const void *item)
{
	const struct code *c = &((const struct cell *)item)->code;

	return hash_code(c->pc, c->module, c->kind);
}

static bool cell_same(const void *item, const void *key)
{
	const struct code *c = &((const struct cell *)item)->code;
	const struct code_key *k = key;

	return c->pc == k->pc && c->module == k->id && c->kind == k->kind;
}

static void cell_fill(void *item, const void *key)
{
	struct code *c = &((struct cell *)item)->code;
	const struct code_key *k = key;

	c->pc = k->pc;
	c->module = k->id;
	c->kind = k->kind;
	c->offset = k->module ? k->pc - k->module->bias : k->pc;
}

static _Atomic uint32_t *cell_link(void *item)
{
	return &((struct cell *)item)->xnext;
}

static const struct set_kind cell_kind = {
	.bytes = sizeof(struct cell),
	.chunk_shift = CODE_SHIFT,
	.limit = CODES_MAX,
	.hash = cell_hash,
	.same = cell_same,
	.fill = cell_fill,
	.link = cell_link,
};

/* The truncations are filled, not linked, because no lookup is by key. Idempotent. */
void mt_stacks_init(void)
{
	for (unsigned reason = 1; reason < MTW_TRUNC_COUNT; reason++) {
		struct code_key key = { reason, NULL, UINT32_MAX, MTW_NODE_TRUNCATED };
		struct node_key node = { 0, reason };
		cell_fill(&first_cells[reason], &key);
		node_fill(&first_nodes[reason], &node);
	}
}

node_id mt_stacks_truncated(unsigned reason)
{
	return reason < MTW_TRUNC_COUNT ? reason : MTW_TRUNC_BAD_CFI;
}

node_id mt_stacks_child(node_id parent, code_id code)
{
	struct node_key key = { parent, code };

	return code ? set_intern(&nodes, &node_kind, hash_node(parent, code), &key) : 0;
}

struct node *mt_stacks_node(node_id id)
{
	return set_item(&nodes, &node_kind, id);
}

uint32_t mt_stacks_count(void)
{
	return atomic_load_explicit(&nodes.xcount, memory_order_acquire);
}

/* The code in `m`, which the caller looked up; NULL = outside every module. */
code_id mt_stacks_code_in(uintptr_t pc, uint8_t kind, const struct module *m)
{
	struct code_key key = { pc, m, m ? m->id : UINT32_MAX, m ? kind : MTW_NODE_NOWHERE };

	return set_intern(&cells, &cell_kind, hash_code(pc, key.id, key.kind), &key);
}

code_id mt_stacks_code(uintptr_t pc, uint8_t kind)
{
	if (kind == MTW_NODE_TRUNCATED)
		return mt_stacks_truncated((unsigned)pc);
	return mt_stacks_code_in(pc, kind, mt_maps_find(kind == MTW_NODE_SIGNAL ? pc : pc - 1));
}

const struct code *mt_stacks_code_at(code_id id)
{
	return &((struct cell *)set_item(&cells, &cell_kind, id))->code;
}

uint32_t mt_stacks_code_count(void)
{
	return atomic_load_explicit(&cells.xcount, memory_order_acquire);
}

_Atomic uint64_t *mt_stacks_rule(code_id id)
{
	return &((struct cell *)set_item(&cells, &cell_kind, id))->xrule;
}

bool mt_stacks_check(void)
{
	uint32_t linked_nodes, linked_cells;

	if (!set_check(&nodes, &node_kind, &linked_nodes) ||
	    !set_check(&cells, &cell_kind, &linked_cells))
		return false;
	uint32_t codes = mt_stacks_code_count();
	for (node_id id = 1, end = mt_stacks_count(); id < end; id++) {
		const struct node *n = mt_stacks_node(id);
		code_id code = __atomic_load_n(&n->code, __ATOMIC_ACQUIRE);
		if (code && (n->parent >= id || code >= codes))
			return false;
	}
	return true;
}
