/* SPDX-License-Identifier: MIT
 *
 * stacks.c - the trie of stacks and the interned code locations.
 *
 * A code location is (pc, kind, module generation), an item of an insert-only set (base/set.h). A
 * node is (parent, code). Equal keys have equal numbers in all threads. Any thread may call
 * anything here, also from a signal handler; the server reads by number alone.
 *
 * Children. A node lists its first LISTED children: it has the newest one's number, and each of
 * them has the next older one's. Seven of ten nodes have one child, made by the walk that made the
 * node, so it lies beside its parent in memory. A hash of all nodes would miss the cache at each
 * step: some 400 ns in a program with 100,000 paths. Further children go to the set of nodes, by
 * hash; their link is the set's then, so both together take one word of a node. LISTED is 8: in a
 * compiler 60 % of the lookups end at the newest child, 95 % within the list, after 1.9 nodes on
 * average. With 4 it took longer; 16 gained nothing.
 *
 * A path of new nodes gets numbers in a row. Its thread fills them while nobody can see them, each
 * with the next as its only child, and then enters the outermost one: one exchange for all.
 *
 * Why this is safe without a lock:
 * - Entering is a compare-and-swap of the parent's xfirst, from the number h that was read to the
 *   new child's, whose xnext is h. (The other bits of that word never change: base/node.h.)
 * Children never leave, and xnext never changes once its node is in a list. So equal h means an
 * equal list: there is no ABA. Hence no code is entered twice, for the thread compared all from h
 * on, and no list gets longer than LISTED, for it counted them.
 * - Once a list is full, it never changes. Only then a child goes to the set, and only if it is not
 *   in the list. So a code is in one of the two, whoever looks, and whichever it asks first.
 * - The exchange is a release, and xfirst is loaded with acquire, so who finds a child sees it
 *   filled, and its whole path. An older sibling was entered before: its thread's release was
 *   acquired by the newer one's, which counted it. So xnext needs no ordering of its own. This
 *   holds on any processor.
 * - A loser of the race for a code takes the winner's node. Its own stay filled, and belong to
 *   nobody: 16 bytes each, in a race that each path can have but once.
 * - A fork copies a list before or after an exchange, never between. The child loses the numbers
 *   that another thread had reserved. A signal handler that enters a sibling makes the interrupted
 *   exchange fail, and that thread looks again.
 * - The server goes from a slot's node to the root by parent and code. Both were filled before the
 *   node was entered, and the slot is published later still (record/slots.c).
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
#include "unwind/stacks_fast.h"

#include <memtop/wire.h>

#define CODE_SHIFT 8u

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
/* Without contents in the file, so that only what is used of them takes memory. */
void *_Atomic mt_stacks_chunks[NODES_END >> NODE_SHIFT];
static void *_Atomic cell_chunks[CODES_END >> CODE_SHIFT];
static struct set nodes = SET_INIT(MTW_TRUNC_COUNT, mt_stacks_chunks);
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

	return hash_node(node_parent(n), node_code(n));
}

static bool node_same(const void *item, const void *key)
{
	const struct node *n = item;
	const struct node_key *k = key;

	return node_parent(n) == k->parent && node_code(n) == k->code;
}

static void node_fill_key(void *item, const void *key)
{
	const struct node_key *k = key;

	node_fill(item, k->parent, k->code, 0);
}

static _Atomic uint32_t *node_link(void *item)
{
	return &((struct node *)item)->xnext;
}

static const struct set_kind node_kind = {
	.bytes = sizeof(struct node),
	.chunk_shift = NODE_SHIFT,
	.limit = NODES_END,
	.need = NEED_CALL_SITES,
	.hash = node_hash,
	.same = node_same,
	.fill = node_fill_key,
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
	.limit = CODES_END,
	.need = NEED_CALL_SITES,
	.hash = cell_hash,
	.same = cell_same,
	.fill = cell_fill,
	.link = cell_link,
};

/* The truncations are filled, not linked, because no lookup is by key. An agent that is attached
 * again finds them filled, and with children. */
void mt_stacks_init(void)
{
	atomic_store_explicit(&mt_stacks_chunks[0], first_nodes, memory_order_relaxed);
	atomic_store_explicit(&cell_chunks[0], first_cells, memory_order_relaxed);
	for (unsigned reason = 1; reason < MTW_TRUNC_COUNT; reason++) {
		struct code_key key = { reason, NULL, UINT32_MAX, MTW_NODE_TRUNCATED };
		if (node_code(&first_nodes[reason]))
			break;
		cell_fill(&first_cells[reason], &key);
		node_fill(&first_nodes[reason], 0, reason, 0);
	}
}

node_id mt_stacks_truncated(unsigned reason)
{
	return reason < MTW_TRUNC_COUNT ? reason : MTW_TRUNC_BAD_CFI;
}

/* The last eighth of the numbers is for call sites, as memory's last part is. */
node_id mt_stacks_reserve(uint32_t n, enum need need)
{
	bool room = need == NEED_CALL_SITES ||
		    (mt_arena_has(need) && mt_stacks_count() < NODES_END / 8 * 7);

	return room ? set_reserve(&nodes, &node_kind, n) : 0;
}

node_id mt_stacks_enter(node_id id)
{
	struct node *n = stacks_node(id), *same;
	struct node_key key = { node_parent(n), node_code(n) };
	struct node *parent = stacks_node(key.parent);
	node_id head = node_first(parent);
	uint32_t count;

	do {
		node_id other = stacks_among(head, node_step(key.parent, key.code), &same, &count);
		if (unlikely(other))
			return other;
		if (unlikely(count >= LISTED))
			return set_intern(&nodes, &node_kind, hash_node(key.parent, key.code), &key,
					  id);
		atomic_store_explicit(&n->xnext, head, memory_order_relaxed);
	} while (!node_swap_first(parent, &head, id));
	return id;
}

node_id mt_stacks_hashed(node_id parent, code_id code)
{
	struct node_key key = { parent, code };

	return set_find(&nodes, &node_kind, hash_node(parent, code), &key);
}

node_id mt_stacks_child(node_id parent, code_id code, enum need need)
{
	struct node *child;
	uint32_t count;
	node_id id =
		code ? stacks_listed(stacks_node(parent), node_step(parent, code), &child, &count)
		     : 0;

	if (id || !code)
		return id;
	if (count >= LISTED) {
		id = mt_stacks_hashed(parent, code);
		if (id)
			return id;
	}
	id = mt_stacks_reserve(1, need);
	if (!id)
		return 0;
	stacks_fill(id, parent, code, 0);
	return mt_stacks_enter(id);
}

node_id mt_stacks_call_site(node_id id)
{
	const struct node *n = stacks_node(id);
	node_id top = mt_stacks_truncated(MTW_TRUNC_NODES);

	if (id < MTW_TRUNC_COUNT || node_parent(n) < MTW_TRUNC_COUNT)
		return id;
	if (mt_stacks_code_at(node_code(n))->pc == HEAP_PC)
		top = mt_stacks_call_site(node_parent(n));
	node_id site = mt_stacks_child(top, node_code(n), NEED_CALL_SITES);
	return site ? site : top;
}

struct node *mt_stacks_node(node_id id)
{
	return stacks_node(id);
}

uint32_t mt_stacks_count(void)
{
	return atomic_load_explicit(&nodes.xcount, memory_order_acquire);
}

/* The code in `m`, which the caller looked up; NULL = outside every module. */
code_id mt_stacks_code_in(uintptr_t pc, uint8_t kind, const struct module *m)
{
	struct code_key key = { pc, m, m ? m->id : UINT32_MAX, m ? kind : MTW_NODE_NOWHERE };

	return set_intern(&cells, &cell_kind, hash_code(pc, key.id, key.kind), &key, 0);
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

/* The node's list: its own children, each code once, and no longer than it may be. */
static bool check_list(node_id id, uint32_t *length)
{
	node_id child = node_first(stacks_node(id));

	for (*length = 0; child; child = atomic_load(&stacks_node(child)->xnext)) {
		const struct node *n = stacks_node(child);
		struct node *same;
		uint32_t older;
		if (++*length > LISTED || node_parent(n) != id || child <= id ||
		    stacks_among(atomic_load(&n->xnext), node_step(id, node_code(n)), &same,
				 &older))
			return false;
	}
	return true;
}

/* Is the child where a lookup finds it? A race's loser is nowhere, its winner is. */
static bool check_node(node_id id, uint32_t *found)
{
	const struct node *n = stacks_node(id);
	struct node *child;
	uint32_t length;
	node_id same = stacks_listed(stacks_node(node_parent(n)),
				     node_step(node_parent(n), node_code(n)), &child, &length);

	if (!same)
		same = length >= LISTED ? mt_stacks_hashed(node_parent(n), node_code(n)) : 0;
	*found += same == id;
	return node_parent(n) < id;
}

bool mt_stacks_check(void)
{
	uint32_t hashed, linked_cells, listed = 0, found = 0, codes = mt_stacks_code_count();

	if (!set_check(&nodes, &node_kind, &hashed) ||
	    !set_check(&cells, &cell_kind, &linked_cells))
		return false;
	for (node_id id = 0, end = mt_stacks_count(); id < end; id++) {
		code_id code = node_code(stacks_node(id));
		uint32_t length;
		if (!check_list(id, &length))
			return false;
		listed += length;
		if (code && (code >= codes || !check_node(id, &found)))
			return false;
	}
	return found == listed + hashed;
}
