/* SPDX-License-Identifier: MIT
 *
 * demangle.c - demangling by libiberty.
 *
 * Only names with a mangled prefix go to the demangler, with the options of __cxa_demangle: it
 * takes other names ("i", "main") for types.
 */
#include "symbols/demangle.h"

#include "base/base.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

char *demangle(const char *raw)
{
	char *name = rust_demangle(raw, DMGL_PARAMS);

	if (!name && raw[0] == '_' && raw[1] == 'Z')
		name = cplus_demangle_v3(raw, DMGL_PARAMS | DMGL_TYPES);
	if (!name)
		return xstrdup(raw);
	char *copy = xstrdup(name); /* libiberty's own allocator may differ under a sanitizer */
	free(name);
	return copy;
}
