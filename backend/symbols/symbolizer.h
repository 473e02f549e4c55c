/* SPDX-License-Identifier: MIT
 *
 * symbolizer.h - names of code for one process: takes self-contained jobs, returns answers. Called
 * on the main thread, except by symbols/symbolizer.c's own worker.
 *
 * All symbolizers that search the same places share one thread and its opened files
 * (symbols/code_store.c): a tree of a thousand compilers reads the compiler's names once. The
 * thread and the files end with the last of them.
 *
 * A job is answered twice: from the symbol table, then finally (from DWARF where there is any). It
 * belongs to the worker from symbolizer_ask() until its final answer is taken, then to the caller
 * again.
 */
#ifndef SYMBOLS_SYMBOLIZER_H
#define SYMBOLS_SYMBOLIZER_H

#include "symbols/perfmap.h"

/* a module's file, or a program's generated code; jobs refer to it, so it lives as long as the
 * worker */
struct symbolizer_file {
	struct symbolizer_file *next;
	char *path; /* owned */
	uint8_t build_id[64];
	size_t build_id_len;
	uint64_t low, high;
	bool vdso;
	unsigned pids[CODE_PIDS];
	struct code_stored *opened; /* worker only; NULL = not asked for yet */
	char *problem;              /* worker only: why there is none; NULL = there is */
	/* the caller's: no_dwarf from the last answer; wanted: requested from a server */
	bool no_dwarf, wanted;
	/* its downloaded debug file; set before a job that has `given`, then the worker's */
	char *given;
	bool has_given; /* worker only: it has been read */
	bool generated; /* its names come from where: */
	struct perfmap_where where;
	struct perfmap *map; /* worker only; of the last generated file alone */
};

struct symbolizer_job {
	struct symbolizer_file *file; /* borrowed */
	/* ELF address of the instruction; for generated code, the unchanged return address */
	uint64_t pc;
	bool look;   /* generated code: search for its map now */
	bool again;  /* the caller's: requested before */
	bool given;  /* file->given is there */
	void *owner; /* the caller's */
	/* the worker's: */
	struct symbolizer_job *next, **link; /* in a queue; link NULL = being worked on */
	int stage;
	bool hurried;
	unsigned slices;  /* slices of a large map read for it */
	unsigned waiting; /* answers not taken yet */
};

struct symbolizer_answer {
	struct symbolizer_answer *next;
	struct symbolizer_job *job;
	bool final;
	bool no_dwarf; /* final: the file has none */
	int source;    /* enum symbol_source */
	size_t count;
	uint64_t version; /* of generated code: perfmap_version() */
	/* a sentence: final: why the file cannot be read; of generated code once; NULL = none */
	char *problem;
	struct code_frame frames[];
};

struct symbolizer;
/* after this time unused a file's data is freed; set before there is a worker */
extern unsigned symbolizer_rest_ms;
/*
 * wake: called by the worker when the first answers wait; it may post, not take. places is copied.
 * gate: for tests, no lookup before this file exists; NULL = none; borrowed until exit. NULL and
 * *err: no thread available.
 */
struct symbolizer *symbolizer_new(const struct code_places *places, const char *gate,
				  void (*wake)(void *arg), void *arg, struct err *err);
/* Drops open jobs and stops calling wake. Does not wait for a slow location: the worker then
 * cleans up later, and ends by itself if this was the last one. Jobs without a final answer are
 * freed. */
void symbolizer_free(struct symbolizer *w);
/* From now on its thread comes after others that want to run: somebody presses keys. */
void symbolizer_calm(struct symbolizer *w);
struct symbolizer_file *symbolizer_file_new(struct symbolizer *w, const struct code_where *where);
/* Adds a debug file; takes path. Once per file, before jobs with `given`. */
void symbolizer_file_give(struct symbolizer_file *f, char *path);
/* A file for a new program's generated code; the previous one's map is freed. Its jobs have one
 * answer, the final one. */
struct symbolizer_file *symbolizer_generated_new(struct symbolizer *w,
						 const struct perfmap_where *where);
/* takes a malloc'ed job and does it next */
void symbolizer_ask(struct symbolizer *w, struct symbolizer_job *job);
/* the job is on screen: it and its answers come before all others */
void symbolizer_hurry(struct symbolizer *w, struct symbolizer_job *job);
/* The oldest answer, hurried ones first, or NULL; free it with symbolizer_answer_free(). wait:
 * blocks while a job is open. */
struct symbolizer_answer *symbolizer_take(struct symbolizer *w, bool wait);
void symbolizer_answer_free(struct symbolizer_answer *a);

#endif
