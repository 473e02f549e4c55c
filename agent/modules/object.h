/* SPDX-License-Identifier: MIT
 *
 * object.h - a loaded object, as its headers and its dynamic section describe it. Any thread, while
 * it holds the loader's list (dl_iterate_phdr).
 */
#ifndef MT_MODULES_OBJECT_H
#define MT_MODULES_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum table { TABLE_RELA, TABLE_REL, TABLE_CALLS, TABLE_PACKED, TABLES };

struct object {
	const ElfW(Phdr) * header;
	size_t headers;
	uintptr_t bias;
	uintptr_t fixed, fixed_end; /* read-only since it was relocated */
	ElfW(Sym) * symbol;
	const char *string;
	const uint32_t *hash;      /* DT_GNU_HASH; NULL = it has none */
	const uint32_t *old_hash;  /* DT_HASH, likewise */
	const void *table[TABLES]; /* relocations; NULL = none */
	size_t bytes[TABLES];
	bool calls_rela; /* those of TABLE_CALLS carry addends */
};

/* false: it has no symbols */
bool mt_object_read(const struct dl_phdr_info *info, struct object *o);
/* The same of one whose headers are known otherwise: server thread, which takes no lock of the
 * loader's. */
bool mt_object_read_headers(struct object *o, uintptr_t bias, const ElfW(Phdr) * header,
			    size_t headers);
bool mt_object_holds(const struct object *o, const void *p); /* in one of its segments */
/* PROT_* of the segment, as its header has it */
int mt_object_protection(const struct object *o, const void *p);

/*
 * Every word that the loader filled with the address of a symbol, and that is writable, or was
 * while it did: slots of calls (lazy ones, too), of data, plain addresses. By the symbol's name.
 */
void mt_object_each_slot(const struct object *o,
			 void (*visit)(void *arg, const char *name, void **slot), void *arg);
/* Every symbol of that name that it defines: each version has one. */
void mt_object_each_symbol(const struct object *o, const char *name,
			   void (*visit)(void *arg, ElfW(Sym) * s), void *arg);

/* Behind its last symbol. It has a hash table. */
const ElfW(Sym) * mt_object_symbols_end(const struct object *o);

/* May a lookup of that name find it? Takes the loader's list itself; false is certain. */
bool mt_object_any_defines(const char *name);
/*
 * Does an object define it that comes before the agent? (The address that dlsym finds may not tell:
 * that of a program which is no PIE, and takes the function's address, is a stand-in of its own.)
 */
bool mt_object_before_us(const char *name);
/* The object that holds `address`, and its name in the loader's list ("" = the program); NULL: none
 * does. */
const char *mt_object_of(const void *address, struct object *o);
/* The first in the loader's list that defines it, but the agent: its function's address, and not a
 * stand-in's. NULL. */
void *mt_object_definition(const char *name);
/*
 * Were we loaded with the program, before its libc, so that our malloc is what others find? False:
 * by a dlopen later, or behind libc; then nobody comes to us by himself.
 */
bool mt_object_interposes(void);

#pragma GCC visibility pop

#endif
