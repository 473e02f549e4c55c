/* SPDX-License-Identifier: MIT
 *
 * program.c - the made-up program: its code, its call paths, what they hold.
 *
 * A path shares all but its last few frames with the previous one, as in a real program, so most
 * nodes are shared. A code location determines the called function, except for indirect calls.
 */
#include "agent.h"

#include <stdio.h>

#define DEPTH_MIN 10u
#define CALLS 4u    /* places in a function that call the next */
#define SITES 2000u /* functions that allocate, of all modules */

struct function {
	uint32_t module, size;
	uint64_t offset;
};

struct module modules[MODULES_MAX];
struct node *nodes;
struct slot *slots;
uint32_t *slot_of_path;
uint32_t module_count, node_count, slot_count, path_count, paths_max, epoch;
uint64_t total[4];
static struct function *functions;
static uint32_t function_count;

void *grown(void *p, size_t count, size_t size)
{
	p = realloc(p, (count ? count : 1) * size);
	if (!p)
		exit(3);
	return p;
}

uint32_t mixed(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull;

	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(h >> 32);
}

uint32_t random_below(uint32_t n)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % n;
}

/* 1, 2, 3, ... each half as often. */
static uint32_t few(void)
{
	return 1 + (uint32_t)__builtin_ctz(random_below(1u << 20) | 1u << 20);
}

void read_places(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[2048], id[2 * MTW_BUILD_ID_MAX + 1];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long offset, size;
		if (sscanf(line, "module %1023s %128s", modules[module_count].path, id) == 2) {
			for (char *at = id; at[0] && at[1] && module_count < MODULES_MAX - 1;
			     at += 2)
				sscanf(at, "%2hhx",
				       &modules[module_count].id[modules[module_count].id_len++]);
			module_count += module_count < MODULES_MAX - 1;
		} else if (module_count && sscanf(line, "%llx %llx", &offset, &size) == 2 &&
			   size > 4 * CALLS) {
			functions = grown(functions, function_count + 1, sizeof(*functions));
			functions[function_count++] =
				(struct function){ module_count - 1, (uint32_t)size, offset };
		}
	}
	if (function_count < SITES) {
		fprintf(stderr, "screen_agent: %s names fewer than %u functions\n", path, SITES);
		exit(2);
	}
}

static uint32_t add_node(uint32_t parent, uint32_t function, uint32_t call)
{
	const struct function *f = &functions[function % function_count];

	nodes = (node_count & (node_count - 1)) ? nodes
						: grown(nodes, node_count * 2, sizeof(*nodes));
	nodes[node_count] = (struct node){ parent, f->module,
					   f->offset + 4 + (uint64_t)call * (f->size - 4) / CALLS };
	return node_count++;
}

uint32_t add_slot(uint32_t path, uint32_t node)
{
	slots = (slot_count & (slot_count - 1)) ? slots
						: grown(slots, slot_count * 2, sizeof(*slots));
	slots[slot_count] = (struct slot){ .node = node, .epoch = epoch };
	return slot_of_path[path] = slot_count++;
}

void book(struct slot *s, unsigned what, uint64_t blocks, uint64_t size)
{
	s->count[what] += blocks;
	s->count[what + 1] += blocks * size;
	total[what] += blocks;
	total[what + 1] += blocks * size;
}

uint64_t size_of(uint32_t path)
{
	return 16 + mixed(path, 1) % 240;
}

/* The next one, depth first. */
void add_path(void)
{
	static uint32_t path[DEPTH_MAX], function[DEPTH_MAX], call[DEPTH_MAX],
		children[DEPTH_MAX + 1], depth;
	uint32_t up = random_below(256) ? few() : random_below(depth + 1),
		 keep = depth > up + 3 ? depth - up
			: depth        ? 3
				       : 0;
	uint32_t end = keep + few();
	end = end < DEPTH_MIN ? DEPTH_MIN : end > DEPTH_MAX ? DEPTH_MAX : end;
	if (keep >= end)
		keep = end - 1;
	for (depth = keep; depth < end; depth++) {
		uint32_t child = children[depth]++;
		uint32_t f =
			depth ? mixed(function[depth - 1] * CALLS + call[depth - 1], child / CALLS)
			      : 0;
		function[depth] = depth + 1 == end ? f % SITES * (function_count / SITES)
						   : f % function_count;
		call[depth] = child % CALLS;
		path[depth] = add_node(depth ? path[depth - 1] : 0, function[depth], call[depth]);
		children[depth + 1] = 0;
	}
	add_slot(path_count, path[end - 1]);
	path_count++;
}

void make(uint32_t count, uint32_t more)
{
	paths_max = count + more;
	slot_of_path = grown(NULL, paths_max, sizeof(*slot_of_path));
	node_count = slot_count = 1;
	nodes = grown(NULL, 1, sizeof(*nodes));
	slots = grown(NULL, 1, sizeof(*slots));
	while (path_count < count) {
		struct slot *s;
		add_path();
		s = &slots[slot_of_path[path_count - 1]];
		uint64_t live = 1 + 2000000 / (1 + mixed(path_count, 2) % count);
		book(s, 0, 2 * live, size_of(path_count - 1));
		book(s, 2, live, size_of(path_count - 1));
	}
}

uint64_t live_bytes(const struct slot *s)
{
	return s->count[1] - s->count[3];
}
