/* SPDX-License-Identifier: MIT
 *
 * wrappers.h - which functions allocate on behalf of their caller. No state but the list of
 * patterns.
 */
#ifndef WRAPPERS_H
#define WRAPPERS_H

#include "base/base.h"

struct wrappers {
	char **patterns;
	size_t count, room;
}; /* the user's own */

void wrappers_release(struct wrappers *w);
int wrappers_add(struct wrappers *w, const char *pattern); /* shell pattern; -1 when empty */
/* module_flags: MTW_MODULE_*; function: demangled, NULL = unknown; name: short form or NULL. */
bool wrappers_match(const struct wrappers *w, uint32_t module_flags, const char *function,
		    const char *name);
/* Where the qualified name begins in a demangled function: after its return type. */
const char *wrappers_qualified(const char *function);

#endif
