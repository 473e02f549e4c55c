/* SPDX-License-Identifier: MIT
 *
 * rebind.h - puts hooks in front of functions that modules are already bound to: modules/rebind.c.
 */
#ifndef MT_MODULES_REBIND_H
#define MT_MODULES_REBIND_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct object;

struct rebind {
	const char *name;
	void *real, *hook;
};

/* What a walk did. */
struct rebound {
	uint32_t slots, names; /* that changed their address */
	uint32_t refused;      /* slots that could not be written: mprotect failed */
	uint32_t changed;      /* removal: slots that other code has written since; left alone */
};

/* Preloaded, once, from init: list[0].real names the object that owns the functions, and that
 * object stays unchanged. */
void mt_rebind(const struct rebind *list, size_t count);
/* Preloaded: from now on no lookup finds these names in the agent: their symbols get the value 0
 * (hooks/jemalloc_names.c). Not for Android's loader, which would take the value for its base
 * address. */
void mt_rebind_hide(const struct rebind *list, size_t count);
/* Attached: every object of the agent's namespace. On a thread of the target, which may take the
 * loader's lock. */
struct rebound mt_rebind_in(const struct rebind *list, size_t count);
/*
 * Attached: calls of allocating functions by one object that was walked before (those that free or
 * resize stay hooked), to the real functions (out) or to the hooks. Server; no library may be
 * unloaded meanwhile.
 */
void mt_rebind_calls(const struct object *o, const struct rebind *list, size_t count, bool out);
bool mt_rebind_allocates(const char *name); /* returns a new block, and takes none */
/* Detach: undoes mt_rebind_in() and the loader's later bindings. Server; no library may be unloaded
 * meanwhile. */
struct rebound mt_rebind_out(const struct rebind *list, size_t count);

#pragma GCC visibility pop

#endif
