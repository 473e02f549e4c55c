/* SPDX-License-Identifier: MIT
 *
 * hook_list.h - the hooks of an attached agent, and the functions that they replace. hooks/attach.c
 * fills the list before the session begins. The server then reads it (collect/coverage.c) and
 * removes the hooks (server/detach.c).
 */
#ifndef MT_MODULES_HOOK_LIST_H
#define MT_MODULES_HOOK_LIST_H

#include "base/types.h"
#include "modules/rebind.h"

#define HOOKS_MAX 128u

struct hook_list {
	struct rebind hook[HOOKS_MAX];
	size_t count;
};

#pragma GCC visibility push(hidden)

extern struct hook_list mt_hooks;
bool mt_hooks_have(const void *hook); /* one of them */
struct object;
/* that object's allocating functions: mt_rebind_calls() */
void mt_hooks_calls(const struct object *o, bool hooked);

#pragma GCC visibility pop

#endif
