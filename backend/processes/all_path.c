/* SPDX-License-Identifier: MIT
 *
 * all_path.c - a call path of All in one of its processes: the same code from the program's entry
 * on. Modules are the same by build-id, or by path where there is none.
 */
#include "model/columns.h"
#include "processes/all.h"

#include <stdlib.h>
#include <string.h>

static bool same_module(const struct module *a, const struct module *b)
{
	if (!a || !b)
		return a == b;
	if (a->build_id_len && b->build_id_len)
		return a->build_id_len == b->build_id_len &&
		       !memcmp(a->build_id, b->build_id, a->build_id_len);
	return a->path && b->path && !strcmp(a->path, b->path);
}

static const struct module *module_of(const struct model *m, const struct location *at)
{
	return at->kind <= MTW_NODE_SIGNAL && at->module != NO_ID ? model_module(m, at->module)
								  : NULL;
}

static bool same_code(const struct model *a, const struct location *x, const struct model *b,
		      const struct location *y)
{
	return x->kind == y->kind && x->offset == y->offset &&
	       same_module(module_of(a, x), module_of(b, y));
}

uint32_t all_path_in(const struct model *all, uint32_t id, const struct model *one)
{
	const struct skeleton *s = model_heap(all)->skeleton, *to = model_heap(one)->skeleton;
	uint32_t n = skeleton_find(s, id), depth = 0, at = 0;

	if (n == NO_ID)
		return NO_ID;
	for (uint32_t k = n; k; k = s->parent[k])
		depth++;
	uint32_t *path = xmalloc((depth + 1ul) * sizeof *path);
	for (uint32_t k = n, i = depth; k; k = s->parent[k])
		path[--i] = k;
	for (uint32_t i = 0; i < depth; i++) {
		const struct location *x = model_location(all, s->location[path[i]]);
		uint32_t child = at + 1;
		while (child < to->end[at] &&
		       !same_code(all, x, one, model_location(one, to->location[child])))
			child = to->end[child];
		if (child >= to->end[at])
			break; /* generated code: only the callers are the same */
		at = child;
	}
	free(path);
	return at ? to->id[at] : NO_ID;
}
