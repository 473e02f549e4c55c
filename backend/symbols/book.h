/* SPDX-License-Identifier: MIT
 *
 * book.h - the book and its entries, for symbols/symbols.c, symbols/asking.c, symbols/entries.c
 * and symbols/symbols_debuginfod.c. Main thread.
 */
#ifndef SYMBOLS_BOOK_H
#define SYMBOLS_BOOK_H

#include "symbols/symbols.h"

#include "symbols/debuginfod.h"
#include "symbols/symbolizer.h"
#include "base/string_pool.h"

/* remembered answers: more than arrive between two looks at a busy screen */
#define ANSWERED_MAX 8192u

struct entry {
	uint32_t module;
	uint8_t signal; /* offset is the instruction itself, not a return address */
	uint64_t offset;
	struct symbol sym; /* frames: malloc'ed, or &placeholder */
	struct symbol_frame placeholder;
	struct symbolizer_job *job; /* still without its final answer; owned by the worker */
	bool asked;
	bool nameless; /* its file was read, here or while it was recorded, and does not name it */
	bool shown;    /* has been on screen */
	bool given;    /* requested again after its file got a debug file from a server */
	uint64_t version; /* generated code: version of the map that lacked it */
};

/* Shared with a posted wake-up: may outlive the book. Main thread, except the pointer in flight. */
struct mail {
	struct loop *loop;
	struct symbols *book; /* NULL: the book is freed, and this is unused */
	int in_flight;        /* atomically: posts not run yet */
};

struct symbols {
	struct loop *loop;
	const struct model *model;
	struct code_places places;
	char *sysroot, **dirs; /* owned; places points to them */
	struct symbolizer *worker;
	struct mail *mail;
	struct entry **table; /* open addressing, a power of two */
	size_t room, used;
	/* by module id */
	struct {
		struct symbolizer_file *file;
		const char *path;
		size_t build_id_len;
	} * files;
	size_t files_room;
	struct string_pool texts;
	struct entry special[MTW_TRUNC_COUNT];
	struct symbolizer_file *generated; /* of generated code; NULL = not requested yet */
	struct symbol_process process;
	bool local;             /* process is known */
	struct entry **unknown; /* generated code, answered without a name */
	size_t unknown_count, unknown_room;
	uint64_t map_version;      /* from the last answer */
	struct loop_source *again; /* NULL: nothing to request again */
	uint64_t generation, asked, done;
	struct symbol_place answered[ANSWERED_MAX]; /* by generation, */
	/* generation of the last clear: later ones are remembered */
	uint64_t cleared;
	bool frozen;              /* symbols_freeze() */
	struct debuginfod *debug; /* NULL: no servers are named */
	bool warned;              /* the first failed download was reported */
	uint64_t sent;            /* jobs */
	void (*on_answer)(void *arg, uint32_t module, uint64_t offset, uint8_t kind,
			  const struct symbol *sym);
	void *on_answer_arg;
	char **warnings;
	size_t warning_count, warning_room;
};

/* symbols/entries.c */
struct entry *entries_get(struct symbols *s, uint32_t module, uint64_t offset, unsigned signal);
/* from: the symbolizer's or a session's frames; copied */
void entries_set_frames(struct symbols *s, struct entry *e, int source,
			const struct code_frame *from, size_t count);
void entries_free_frames(struct entry *e);

/* symbols/asking.c */
void symbols_send(struct symbols *s, struct entry *e, struct symbolizer_job job);
/* entry of a location; NULL: its code is in no file */
struct entry *symbols_entry(struct symbols *s, uint32_t number);
void symbols_warn(struct symbols *s, const char *text); /* once */

/* symbols/symbols_debuginfod.c: lines of modules without a local debug file */
void symbols_debug_new(struct symbols *s);
/* Requests the debug file of e's module from the servers, once e has its final answer; then e
 * again. */
void symbols_debug_want(struct symbols *s, struct entry *e);
/* For all entries; blocks until the servers have answered or are given up. */
void symbols_debug_wait(struct symbols *s);

#endif
