/* SPDX-License-Identifier: MIT
 *
 * object.h - a loaded object, as its headers and its dynamic section describe it. Any thread, while
 * the loader's list is held (dl_iterate_phdr).
 */
#ifndef MT_OBJECT_H
#define MT_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct object {
	uintptr_t bias, start, end;        /* of what is mapped */
	uintptr_t fixed, fixed_end;        /* read-only since it was relocated */
	ElfW(Sym) *symbol;
	const char *string;
	const uint32_t *hash;              /* DT_GNU_HASH; NULL = it has none */
	const ElfW(Rela) *table[2];        /* of data, of calls */
	size_t bytes[2];
};

bool mt_object_read(const struct dl_phdr_info *info, struct object *o); /* false: it has no symbols */
bool mt_object_holds(const struct object *o, const void *p);

/* May a lookup of that name find it? Takes the loader's list itself; false is certain. */
bool mt_object_any_defines(const char *name);
/*
 * Does an object define it that comes before the agent? (The address that dlsym finds may not tell: that of a program
 * which is no PIE, and takes the function's address, is a stand-in of its own.)
 */
bool mt_object_before_us(const char *name);

#pragma GCC visibility pop

#endif
