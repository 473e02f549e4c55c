/* SPDX-License-Identifier: MIT
 *
 * internal.h - shared by symbols*.c: the book and its entries. Main thread.
 */
#ifndef SYMBOLS_INTERNAL_H
#define SYMBOLS_INTERNAL_H

#include "symbols/symbols.h"

#include "symbols/debuginfod.h"
#include "symbols/symbolizer.h"
#include "base/string_pool.h"

/* that are remembered: more than come between two looks at a busy screen */
#define ANSWERED_MAX 8192u

struct entry {
	uint32_t module;
	uint8_t signal; /* offset is the instruction itself, not a return address */
	uint64_t offset;
	struct symbol sym; /* frames: malloc'ed, or &placeholder */
	struct symbol_frame placeholder;
	struct sym_job *job; /* not finally answered; the worker's */
	bool asked;
	bool shown;       /* on the screen, once */
	bool given;       /* asked for again, when its file had a debug file from a server */
	uint64_t version; /* generated code: of the map, when it did not know it */
};

/* Shared with a wake-up under way: outlives the book when it must. Main thread, but for the pointer
 * in flight. */
struct mail {
	struct loop *loop;
	struct symbols *book; /* NULL: the book is gone, nobody reads this any more */
	int in_flight;        /* atomically: posts not run yet */
};

struct symbols {
	struct loop *loop;
	const struct model *model;
	struct symdw_places places;
	char *sysroot, **dirs; /* owned; places points to them */
	struct sym_worker *worker;
	struct mail *mail;
	struct entry **table; /* open addressing, a power of two */
	size_t room, used;
	/* by module id */
	struct {
		struct sym_file *file;
		const char *path;
		size_t build_id_len;
	} * files;
	size_t files_room;
	struct string_pool texts;
	struct entry special[MTW_TRUNC_COUNT];
	struct sym_file *generated; /* of generated code; NULL = not asked for yet */
	struct symbol_process process;
	bool local;             /* process is known */
	struct entry **unknown; /* of generated code, answered and without a name */
	size_t unknown_count, unknown_room;
	uint64_t map_version;      /* as the last answer said */
	struct loop_source *again; /* NULL: nothing to ask again */
	uint64_t generation, asked, done;
	struct symbol_place answered[ANSWERED_MAX]; /* by generation, */
	uint64_t cleared;                           /* of those after this one */
	bool frozen;                                /* symbols_freeze() */
	struct debuginfod *debug;                   /* NULL: no servers are named */
	bool warned;                                /* of the first that failed */
	uint64_t sent;                              /* jobs */
	void (*on_answer)(void *arg, uint32_t module, uint64_t offset, uint8_t kind,
			  const struct symbol *sym);
	void *on_answer_arg;
	char **warnings;
	size_t warning_count, warning_room;
};

/* symbols/entries.c */
struct entry *entries_get(struct symbols *s, uint32_t module, uint64_t offset, unsigned signal);
/* from: as the symbolizer or a session has them; copied */
void entries_set_frames(struct symbols *s, struct entry *e, int source,
			const struct symdw_frame *from, size_t count);
void entries_free_frames(struct entry *e);

/* symbols/asking.c */
void symbols_send(struct symbols *s, struct entry *e, struct sym_job job);
/* of a location; NULL: none has code in a file */
struct entry *symbols_entry(struct symbols *s, uint32_t number);
void symbols_warn(struct symbols *s, const char *text); /* once */

/* symbols/symbols_debuginfod.c: lines of modules that have no debug file here */
void symbols_debug_new(struct symbols *s);
/* Asks the servers for the debug file of e's module, and for e again when that has come; once e has
 * its final answer. */
void symbols_debug_want(struct symbols *s, struct entry *e);
/* Of all entries; blocks until the servers have answered, or will not. */
void symbols_debug_wait(struct symbols *s);

#endif
