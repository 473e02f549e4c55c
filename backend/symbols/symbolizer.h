/* SPDX-License-Identifier: MIT
 *
 * symbolizer.h - the symbolizer's thread: takes self-contained jobs, returns answers. Called on the
 * main thread, except by symbols/symbolizer.c's own worker.
 *
 * A job is answered twice: from the symbol table, then finally (from DWARF where there is any). It
 * belongs to the worker from sym_ask() until its final answer is taken, then to the caller again.
 */
#ifndef SYMBOLS_SYMBOLIZER_H
#define SYMBOLS_SYMBOLIZER_H

#include "symbols/perfmap.h"

/* a module's file, or a program's generated code; jobs refer to it, so it lives as long as the
 * worker */
struct sym_file {
	struct sym_file *next;
	char *path; /* owned */
	uint8_t build_id[64];
	size_t build_id_len;
	bool vdso;
	unsigned pids[SYMDW_PIDS];
	struct symdw_file *opened;    /* worker only */
	struct sym_file *next_opened; /* worker only */
	bool tried;                   /* worker only */
	/* the caller's: as the last answer said; a server was asked for its debug file */
	bool no_dwarf, wanted;
	/* a debug file that was loaded for it; set before a job that has `given`, then the
	 * worker's */
	char *given;
	bool has_given; /* worker only: it was looked into */
	bool generated; /* its names come from where: */
	struct perfmap_where where;
};

struct sym_job {
	struct sym_file *file; /* borrowed */
	/* ELF address of the instruction; of generated code, a return address as it is */
	uint64_t pc;
	bool look;   /* generated code: search for its map now */
	bool again;  /* the caller's: was asked for before */
	bool given;  /* file->given is there */
	void *owner; /* the caller's */
	/* the worker's: */
	struct sym_job *next, **link; /* in a queue; link NULL = being worked on */
	int stage;
	bool hurried;
	unsigned slices;  /* of a large map that were read for it */
	unsigned waiting; /* answers that nobody took yet */
};

struct sym_answer {
	struct sym_answer *next;
	struct sym_job *job;
	bool final;
	bool no_dwarf; /* final: the file has none */
	int source;    /* enum symbol_source */
	size_t count;
	uint64_t version; /* of generated code: perfmap_version() */
	char *problem;    /* a sentence about the file, once; NULL = none */
	struct symdw_frame frames[];
};

struct sym_worker;
/* without work for so long, what was read of the files is let go; set before there is a worker */
extern unsigned sym_rest_ms;
/* wake: called by the worker, when answers wait where none did; it may post, not take. places is
 * copied. gate: for tests, nothing is looked up before this file exists; NULL = none; borrowed for
 * good. NULL = *err: the system gives no thread. */
struct sym_worker *sym_worker_new(const struct symdw_places *places, const char *gate,
				  void (*wake)(void *arg), void *arg, struct err *err);
/* Drops what is not answered; wake is not called any more. Does not wait for a location that takes
 * long: the worker then ends by itself, some time, and cleans up. Jobs not answered finally are
 * freed. */
void sym_worker_free(struct sym_worker *w);
struct sym_file *sym_file_new(struct sym_worker *w, const struct symdw_where *where);
/* A debug file for it; takes path. Once per file, before jobs with `given`. */
void sym_file_give(struct sym_file *f, char *path);
/* Another program's: the map of the one before is let go. Its jobs have one answer, the final
 * one. */
struct sym_file *sym_generated_new(struct sym_worker *w, const struct perfmap_where *where);
/* takes a malloc'ed job, as the next to do */
void sym_ask(struct sym_worker *w, struct sym_job *job);
/* it is looked at: before all that are not, and its answers, too */
void sym_hurry(struct sym_worker *w, struct sym_job *job);
/* The oldest answer, of those that are hurried if there are any, the caller's to sym_answer_free(),
 * or NULL; wait: blocks while a job is open. */
struct sym_answer *sym_take(struct sym_worker *w, bool wait);
void sym_answer_free(struct sym_answer *a);

#endif
