/* SPDX-License-Identifier: MIT
 *
 * names.h - names of code locations, numbered, for code that groups by name. Main thread only.
 *
 *   lib       a module's path and name; several loads of one file are one lib
 *   function  (lib, full name), or one location that has no name (yet)
 *   location  the model's: (module, offset, kind), what a trie node points to; many nodes share one
 *
 * A million nodes have some thousand locations, so names are requested, compared and judged
 * (wrapper or not) once per location; grouping then compares small numbers. Used inside backend/
 * only, by owners/, query/ and report/.
 */
#ifndef OWNERS_NAMES_H
#define OWNERS_NAMES_H

#include "base/map.h"
#include "heap/names.h"
#include "symbols/symbols.h"
#include "owners/wrappers.h"

struct name_fn {
	const char *function; /* full; NULL = unknown; borrowed from the symbols */
	const char *name;     /* short, or "libtile.so+0x1a40" */
	char *built;          /* owned: such a name */
	uint32_t lib;         /* NO_ID = outside of every module */
	uint32_t next;        /* of the same hash */
	uint8_t kind;         /* enum mtw_node, of the location that it was met at */
	bool wrapper;
};

struct name_loc {
	uint32_t module;
	uint8_t kind;
	bool asked;
	bool wrapper; /* all of its frames are */
	bool renamed; /* names_copy_begin() has to tell it */
	int source;   /* enum symbol_source */
	uint64_t offset;
	uint32_t count; /* frames, innermost first; at least 1: before it is asked, a placeholder */
	struct name_frame {
		uint32_t fn, line;
		const char *file;
		bool inlined;
	} * frames;
};

struct name_lib {
	char *path, *name;
	uint32_t newest, flags;
};

struct names;
struct names *names_new(const struct model *m, struct symbols *s);
void names_free(struct names *n);
/* Takes in new locations and answers. */
void names_refresh(struct names *n);
/* Moves when a location came, or its frames changed. */
uint64_t names_version(const struct names *n);
/*
 * False: the name says nothing, since it allocates for its caller (operator new, std:: templates,
 * xmalloc). A function of the C library does say something (fopen, qsort), and so does a location
 * without a name.
 */
bool names_tells(const struct names *n, uint32_t fn);

/* Requests its name the first time. */
const struct name_loc *names_loc(struct names *n, uint32_t loc);
/* Requests all of them, at most `most` at once. False: some are left. */
bool names_ask_all(struct names *n, uint32_t most);
uint32_t names_lib_of(struct names *n, uint32_t module); /* NO_ID for NO_ID */
const struct name_lib *names_lib(const struct names *n, uint32_t lib);

/* All names as they are now, for a snapshot; asks for none. The same object as long as none
 * changed: hold it. Its strings are borrowed from the symbols and from n. */
struct heap_names *names_taken(struct names *n);
/* The same, of the caller alone. */
struct heap_names *names_take(struct names *n);
/* The same in three steps, for a thread. Begin with {0}; what was begun is ended. */
struct names_copy {
	struct heap_names *from, *made; /* held */
	struct heap_news news;
	uint64_t version, base;
};
void names_copy_begin(struct names *n, struct names_copy *x); /* takes what came since */
void names_copy_make(struct names_copy *x);                   /* x->made. Any thread */
void names_copy_end(struct names *n, struct names_copy *x);
/* What was begun is lost, with the thread. */
void names_forked(struct names *n);

#endif
