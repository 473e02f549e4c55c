/* SPDX-License-Identifier: MIT
 *
 * filter_owner.c - libs= and exclude=: is memory of this owner recorded?
 *
 * A stack's owner is its innermost module that is neither the agent, the C library nor the C++
 * runtime. Its name is the last part of its path (the program also answers to the name it was
 * called by), or "[unknown]" without one. Each module is matched once, and a byte keeps the result:
 * a stack then costs the two or three nodes up to its owner.
 */
#include "record/filter_owner.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/conf.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "modules/maps.h"
#include "unwind/stacks.h"

#include <memtop/regex.h>
#include <memtop/wire.h>
#include <string.h>

#define KEPT 64 /* pairs of expressions in a session */
#define UNKNOWN MTW_MODULES_MAX

enum { UNASKED = 0, WANTED, UNWANTED };

struct owners {
	char libs[sizeof(mt_conf.libs)], exclude[sizeof(mt_conf.exclude)];
	struct regex wanted, unwanted;
	_Atomic uint8_t xverdict[MTW_MODULES_MAX + 1]; /* by module, the last for none */
};

static struct owners *kept[KEPT];

static bool is_owner(const struct module *m)
{
	uint32_t flags = atomic_load_explicit(&m->xflags, memory_order_relaxed);

	return flags & MTW_MODULE_MAIN ||
	       !(flags & (MTW_MODULE_AGENT | MTW_MODULE_LIBC | MTW_MODULE_CXX));
}

static uint32_t owner_of(node_id node)
{
	while (node) {
		const struct node *n = mt_stacks_node(node);
		const struct code *c = mt_stacks_code_at(node_code(n));
		const struct module *m = c->kind == MTW_NODE_CODE || c->kind == MTW_NODE_SIGNAL
						 ? mt_maps_module(c->module)
						 : NULL;
		if (m && is_owner(m))
			return m->id;
		node = node_parent(n);
	}
	return UNKNOWN;
}

static const char *name_of(uint32_t module)
{
	const char *path = module == UNKNOWN ? "[unknown]" : mt_maps_module(module)->path;
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* also: the other name of the program itself, as it was called; viewers show that one. */
static bool ask(const struct owners *o, const char *name, const char *also)
{
	if (o->libs[0] && !mtw_regex_match(&o->wanted, name) && !mtw_regex_match(&o->wanted, also))
		return false;
	return !o->exclude[0] ||
	       (!mtw_regex_match(&o->unwanted, name) && !mtw_regex_match(&o->unwanted, also));
}

static const char *called(uint32_t module, const char *name)
{
	const struct module *m = module == UNKNOWN ? NULL : mt_maps_module(module);

	return m && atomic_load_explicit(&m->xflags, memory_order_relaxed) & MTW_MODULE_MAIN
		       ? mt_state_program()
		       : name;
}

static bool is_wanted(struct owners *o, uint32_t owner)
{
	uint8_t verdict = atomic_load_explicit(&o->xverdict[owner], memory_order_relaxed);

	if (unlikely(verdict == UNASKED)) {
		const char *name = name_of(owner);
		verdict = ask(o, name, called(owner, name)) ? WANTED : UNWANTED;
		atomic_store_explicit(&o->xverdict[owner], verdict, memory_order_relaxed);
	}
	return verdict == WANTED;
}

bool mt_filter_owner_wanted(struct owners *o, node_id node)
{
	return is_wanted(o, owner_of(node));
}

bool mt_filter_owner_calls_wanted(struct owners *o, const struct module *m)
{
	return !is_owner(m) || is_wanted(o, m->id);
}

struct owners *mt_filter_owners(const char *libs, const char *exclude, const char **wrong)
{
	struct owners *o;
	int i = 0;

	for (; i < KEPT && kept[i]; i++)
		if (!strcmp(kept[i]->libs, libs) && !strcmp(kept[i]->exclude, exclude))
			return kept[i];
	o = i < KEPT ? mt_prim_map(sizeof(*o), false) : NULL;
	if (!o) {
		*wrong = "is one expression too many for this session";
		return NULL;
	}
	memcpy(o->libs, libs, strlen(libs) + 1);
	memcpy(o->exclude, exclude, strlen(exclude) + 1);
	*wrong = mtw_regex_compile(&o->wanted, libs);
	if (!*wrong)
		*wrong = mtw_regex_compile(&o->unwanted, exclude);
	if (*wrong) {
		mt_prim_unmap(o, sizeof(*o));
		return NULL;
	}
	mt_arena_range((uintptr_t)o, sizeof(*o), PART_CACHES);
	kept[i] = o;
	return o;
}
