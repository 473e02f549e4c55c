/* SPDX-License-Identifier: MIT
 *
 * perfmap.h - names of generated code, from the perf-PID.map that its runtime writes. The
 * symbolizer's thread only, except perfmap_js().
 *
 * PID is the program's own view of its process id, /tmp its own folder. So memtop looks at a
 * process of this machine through /proc/PID/root, and only when the addresses of its mappings prove
 * that it is the program: a remote program's pid may be another process here. Otherwise the map
 * comes from --symbols DIR and --sysroot DIR. A file is not read if neither the program's user nor
 * root owns it, if it is not regular, or if it is older than the process.
 */
#ifndef SYMBOLS_PERFMAP_H
#define SYMBOLS_PERFMAP_H

#include "symbols/code_file.h"
#include "base/base.h"

/*
 * --- codemap.c: the lines of a map of generated code ("START SIZE name", hex), by address. No
 * global state; one thread at a time.
 *
 * Another program writes the file while memtop reads it. So it is read in slices, with bounds for
 * its size, its lines and a line's length; malformed lines are skipped. Where lines overlap the
 * latest wins, as in perf. Only addresses are kept (16 bytes a line); names are read from the file
 * on demand.
 */

#define CODEMAP_NAME_MAX 4096u  /* bytes of a name, with its NUL; longer ones are cut */
#define CODEMAP_LINE_MAX 65536u /* bytes; a longer line is skipped */
#define CODEMAP_LINES_MAX (1u << 22)
#define CODEMAP_READ_MAX (1u << 30) /* bytes of a file; the rest is ignored */
#define CODEMAP_SLICE (8u << 20)    /* bytes that one codemap_read() reads: some 30 ms */

struct codemap;
struct codemap *codemap_new(void);
void codemap_free(struct codemap *c);
void codemap_forget(struct codemap *c); /* another file follows */
/* Reads appended lines; starts over when the file got shorter or its old text changed. True:
 * there is more, call again. fd: of a regular file. */
bool codemap_read(struct codemap *c, int fd);
/* Grows with each codemap_read() that found a line or started over. */
uint64_t codemap_version(const struct codemap *c);
bool codemap_full(const struct codemap *c); /* a limit was reached: later lines are ignored */
/* The name of the code at pc; false: no line covers it. If the file changed since the last read,
 * clears the map: read again. */
bool codemap_name(struct codemap *c, int fd, uint64_t pc, char name[CODEMAP_NAME_MAX]);

struct perfmap_where {
	unsigned pid;     /* in the program's own view; 0 = unknown, without a map */
	unsigned here[2]; /* processes of this machine that may be the program; 0 = none */
	unsigned server;  /* the agent's server, which shares its memory; 0 = none */
	/* memtop started it: if it ended before the first look, its folders were memtop's */
	bool child;
	uint32_t uid;    /* of the program, in its own view */
	uint64_t mapped; /* where one of its files is mapped; 0 = unknown */
	uint64_t start_unix_ns;
};

struct perfmap;
/* where is copied, places borrowed. */
struct perfmap *perfmap_new(const struct perfmap_where *where, const struct code_places *places);
void perfmap_free(struct perfmap *p);
/*
 * 1: *frame has the name of the code at pc (the caller owns the strings); 0: unknown (yet); -1: a
 * slice of a large map was read, call again. look: search for the file again, even right after the
 * last search.
 */
int perfmap_name(struct perfmap *p, uint64_t pc, bool look, struct code_frame *frame);
/* while it stays the same, unknown code stays unknown */
uint64_t perfmap_version(const struct perfmap *p);
/* returns each problem once, as a sentence that the caller frees; NULL = none */
char *perfmap_problem(struct perfmap *p);

/* Splits V8's name of a script's function into function, file and line; any other name is the
 * function. */
void perfmap_js(const char *name, struct code_frame *frame);

#endif
