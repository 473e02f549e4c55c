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
	const char *string, *soname; /* soname: NULL = it has none */
	const ElfW(Half) * version;  /* DT_VERSYM; NULL = its symbols have no versions */
	const uint32_t *hash;        /* DT_GNU_HASH; NULL = it has none */
	const uint32_t *old_hash;    /* DT_HASH, likewise */
	const void *table[TABLES];   /* relocations; NULL = none */
	size_t bytes[TABLES];
	bool calls_rela; /* TABLE_CALLS has addends */
};

/* false: it has no symbols */
bool mt_object_read(const struct dl_phdr_info *info, struct object *o);
/* The same for an object whose headers are already known: for the server thread, which takes no
 * lock of the loader's. */
bool mt_object_read_headers(struct object *o, uintptr_t bias, const ElfW(Phdr) * header,
			    size_t headers);
/* ... and its headers are not: by its dynamic section alone */
bool mt_object_read_dynamic(struct object *o, uintptr_t bias, const ElfW(Dyn) * dynamic);
bool mt_object_holds(const struct object *o, const void *p); /* in one of its segments */
/* PROT_* of the segment, from its header */
int mt_object_protection(const struct object *o, const void *p);

/* Visits every word that the loader filled with a symbol's address, and that is writable or was at
 * that time: slots of calls (lazy ones, too), of data, plain addresses. By the symbol's name. */
void mt_object_each_slot(const struct object *o,
			 void (*visit)(void *arg, const char *name, void **slot), void *arg);
/* Visits every symbol of that name that the object defines: each version has one. */
void mt_object_each_symbol(const struct object *o, const char *name,
			   void (*visit)(void *arg, ElfW(Sym) * s), void *arg);

/* The end of its symbols. The object must have a hash table. */
const ElfW(Sym) * mt_object_symbols_end(const struct object *o);

/* The address that the object's symbol of that name has, preferably of the default version; an
 * indirect function's is the one that it chooses. NULL: it defines none. */
void *mt_object_symbol(const struct object *o, const char *name);
bool mt_object_is_agent(const struct object *o); /* this one, or one of another build */
/* What comes next behind the agent, as dlsym(RTLD_NEXT) finds it; the first before the agent. NULL:
 * none. They take the loader's list themselves. (dlsym's address may not tell: a program without
 * PIE that takes the function's address has a stand-in of its own.) */
void *mt_object_next(const char *name);
void *mt_object_front(const char *name);
/* The object that holds `address`, and its name in the loader's list ("" = the program); NULL: none
 * does. */
const char *mt_object_of(const void *address, struct object *o);
/* The first object in the loader's list, other than the agent, that defines the name: returns its
 * function's address, never a stand-in's. NULL: none. */
void *mt_object_definition(const char *name);
/* Was the agent loaded with the program, before its libc, so that the others find its malloc?
 * False: a later dlopen loaded it, or it is behind libc; then no call reaches the hooks by itself.
 */
bool mt_object_interposes(void);

#pragma GCC visibility pop

#endif
