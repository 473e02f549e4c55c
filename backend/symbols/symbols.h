/* SPDX-License-Identifier: MIT
 *
 * symbols.h - names of code locations, as far as they are known. Main thread only.
 *
 * A location is (module, offset, kind). An unknown location is queued for the worker
 * (symbols/symbolizer.c) when first requested; a repeated request means that it is on screen, and
 * comes first. Answers arrive through the loop in two steps (symbol table at once, lines and
 * inlined frames after) and advance the generation. Session files bring their own names. When a
 * location of a module without lines is shown (symbols_shown()), debuginfod's servers are asked for
 * the module in the background.
 *
 * Generated code (NOWHERE) has its absolute pc, and its name comes from the program's perf map
 * (symbols/perfmap.h). The map grows while the program runs, so unknown locations are requested
 * again every two seconds if it has changed, and in symbols_wait(). The first name that a pc gets
 * stays.
 */
#ifndef SYMBOLS_SYMBOLS_H
#define SYMBOLS_SYMBOLS_H

#include "model/model.h"

enum symbol_source { SYMBOL_PENDING = -1, SYMBOL_NONE = 0, SYMBOL_TABLE = 1, SYMBOL_DWARF = 2 };

struct symbol_frame {         /* strings live as long as the symbols object */
	const char *function; /* demangled; NULL = unknown */
	const char *name;     /* short form for rows: no template arguments, no parameters */
	const char *file;     /* NULL = unknown */
	uint32_t line;        /* 0 = unknown */
	bool inlined;         /* into the frame that follows (outer) */
};

struct symbol {
	int source; /* enum symbol_source */
	/* >= 1 once not pending; innermost (most inlined) first, the real function last */
	uint32_t count;
	const struct symbol_frame *frames;
};

struct symbols;
struct loop;
struct symbol_options {
	const char *sysroot, **dirs; /* --sysroot, --symbols */
	size_t dir_count;
};

/* loop may be NULL: then only symbols_wait() takes answers. NULL and *err: no thread available. */
struct symbols *symbols_new(struct loop *loop, const struct model *m,
			    const struct symbol_options *o, struct err *err);
void symbols_free(struct symbols *s);
/* Names are found when nobody else wants to run: keys and their answers come first. */
void symbols_calm(struct symbols *s);
/* Another session's module ids follow: forget every location. Strings stay. */
void symbols_clear(struct symbols *s);
/* The program may run on this machine: as this process, beside this agent's server (0 =
 * unknown), or as memtop's child. Otherwise only --symbols and --sysroot have its map. */
struct symbol_process {
	unsigned pid, server;
	bool child;
};
void symbols_local(struct symbols *s, const struct symbol_process *p);
/* another model of the same program: ids mean the same */
void symbols_look_at(struct symbols *s, const struct model *m);
/* Never NULL, never blocks; requests unknown locations. Valid until the next loop turn. For
 * NOWHERE, module is NO_ID and offset the pc. */
const struct symbol *symbols_get(struct symbols *s, uint32_t module, uint64_t offset, uint8_t kind);
/* The same for the model's location; TRUNCATED and unknown NOWHERE ones get a describing frame
 * with function NULL. */
const struct symbol *symbols_of_location(struct symbols *s, uint32_t number);
/* The same for one on screen, or about to be printed: debuginfod's servers are asked for its
 * lines. */
const struct symbol *symbols_shown(struct symbols *s, uint32_t number);
uint64_t symbols_generation(const struct symbols *s); /* grows with each answer */
/* The location whose answer made this generation; false: no longer remembered, check all. */
struct symbol_place {
	uint64_t offset;
	uint32_t module;
	uint8_t kind; /* enum mtw_node */
};
bool symbols_answered(const struct symbols *s, uint64_t generation, struct symbol_place *p);
void symbols_progress(const struct symbols *s, uint64_t *done, uint64_t *asked);
/* from a file; copies */
void symbols_put(struct symbols *s, uint32_t module, uint64_t offset, uint8_t kind,
		 const struct symbol *sym);
/* All known names, in no order: for a session's key frame. Asks for none. */
void symbols_each(const struct symbols *s,
		  void (*fn)(void *arg, uint32_t module, uint64_t offset, uint8_t kind,
			     const struct symbol *sym),
		  void *arg);
/* Blocks until all requests are answered (reports). */
void symbols_wait(struct symbols *s);
/* For a forked child, which has no worker: names stay as known; nothing is requested or waited
 * for. */
void symbols_freeze(struct symbols *s);
/* Called for each new answer (the session file stores it). */
void symbols_on_answer(struct symbols *s,
		       void (*fn)(void *arg, uint32_t module, uint64_t offset, uint8_t kind,
				  const struct symbol *sym),
		       void *arg);
/* Requests to debuginfod's servers; NULL = DEBUGINFOD_URLS names none. */
struct debuginfod;
const struct debuginfod *symbols_debuginfod(const struct symbols *s);
/* Modules whose file was missing or had another build-id, as sentences. */
size_t symbols_warnings(const struct symbols *s, const char *const **sentences);

#endif
