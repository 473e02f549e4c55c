/* SPDX-License-Identifier: MIT
 *
 * code_file.h - turns code locations of one file into names, lines and inlined frames, by libdw.
 * The symbolizer's thread only.
 */
#ifndef SYMBOLS_CODE_FILE_H
#define SYMBOLS_CODE_FILE_H

#include "base/base.h"

#include <elfutils/libdwfl.h>

#define CODE_PIDS 3
struct code_where { /* a module, as the target names it */
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len; /* 0 = none: a file with the same segments is taken */
	/* ELF addresses where its segments begin and end; high 0 = unknown: any file is taken */
	uint64_t low, high;
	bool vdso;
	unsigned pids[CODE_PIDS]; /* processes whose root folders are searched, too; 0 = none */
};

struct code_places {
	const char *sysroot; /* NULL = none */
	const char *const *dirs;
	size_t dir_count;
};

struct code_frame {     /* innermost first; strings are the caller's, NULL = unknown */
	char *function; /* demangled */
	char *file;
	uint32_t line;
	bool inlined; /* into the next */
};
#define CODE_FRAMES_MAX 64

/* files whose descriptor is larger are read once: descriptors are few; set before there is a
 * worker */
extern int code_file_fd_max;

struct code_file;
/* Never NULL. Without a matching file, *problem is a sentence (the caller's) and nothing has a
 * name. */
struct code_file *code_file_open(const struct code_where *where, const struct code_places *places,
				 char **problem);
void code_file_close(struct code_file *f);
/* Frees the data read from it until the next request, which reads the same file even if another
 * lies at its path by then. */
void code_file_rest(struct code_file *f);
/* pc = ELF address of an instruction. Name from the symbol tables: one frame and true, or false. */
bool code_file_table(struct code_file *f, uint64_t pc, struct code_frame *frame);
/* Frames from DWARF; 0 = none for this pc. The last one's name may come from the symbol table. */
size_t code_file_lines(struct code_file *f, uint64_t pc, struct code_frame *frames, size_t max);
/* Has the file DWARF? Known after code_file_lines(). */
bool code_file_has_dwarf(const struct code_file *f);
/* Adds a debug file with where's build-id from elsewhere, for all later requests. */
void code_file_give(struct code_file *f, const struct code_where *where, const char *path);
struct code_stat { /* no padding: compared as bytes */
	uint64_t dev, ino, size, mtime_ns;
};
/* Which file it is; false: none was found. */
bool code_file_stat(const struct code_file *f, struct code_stat *is);
/* Size of the file and of its debug file, as far as that was looked for. */
uint64_t code_file_bytes(const struct code_file *f);

/* code_store.c: the opened files, each once for all processes. The symbolizer's thread only,
 * but for code_store_searches(). */

struct code_store;
struct code_stored; /* a file in the store */
/* places is copied */
struct code_store *code_store_new(const struct code_places *places);
const struct code_places *code_store_places(const struct code_store *s);
/* Does it look for files in these places? */
bool code_store_searches(const struct code_store *s, const struct code_places *places);
void code_store_free(struct code_store *s); /* closes all files, also taken ones */
/* The module's file, as code_file_open(); *problem: the caller's. Give it back. */
struct code_stored *code_store_take(struct code_store *s, const struct code_where *where,
				    char **problem);
void code_store_give_back(struct code_store *s, struct code_stored *f);
struct code_file *code_store_use(struct code_stored *f); /* to ask it now */
/* An answer took so long. */
void code_store_took(struct code_stored *f, uint64_t ns);
#define CODE_REST_LEAST_NS 2000000000u
/* Frees the data of files that nobody asked for in ten times the time that it took to read them, at
 * least two seconds, at most unused_ns; *freed: of any. Returns when the next one is due, 0 = none.
 */
uint64_t code_store_rest(struct code_store *s, uint64_t unused_ns, bool *freed);

/* debug_files.c: a module's separate debug file. The symbolizer's thread only; for
 * symbols/code_file.c. */

struct debug_files {       /* target of the module's userdata */
	const char *path;  /* folders, as libdwfl has them; borrowed */
	const char *given; /* its downloaded file; NULL = none. Borrowed */
};

/* Dwfl_Callbacks.find_debuginfo: tries local files, then the given one. Asks no server. */
int debug_files_find(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		     const char *file, const char *link, GElf_Word crc, char **found);

/* The vdso is the kernel's page, not a file, and the same in every process. Returns a descriptor
 * of a copy, or -1. */
int debug_files_vdso(void);

/* elf_names.c: the symbol tables of one file, sorted by address. The symbolizer's thread only. */

struct elf_names;

/* Reads the tables of `module`, which must outlive the result. NULL: it has none. */
struct elf_names *elf_names_new(Dwfl_Module *module);
void elf_names_free(struct elf_names *names);

/* The answer of dwfl_module_addrname(), a string of the module; `addr` is libdw's address. NULL:
 * no symbol. */
const char *elf_names_at(const struct elf_names *names, GElf_Addr addr);

/* dwarf_lines.c: lines and inlined frames of one file. The symbolizer's thread only. */

struct dwarf_lines;

/* Of `module`, which must outlive the result; bias: libdw's address - ELF address. Never NULL. */
struct dwarf_lines *dwarf_lines_new(Dwfl_Module *module, GElf_Addr bias);
void dwarf_lines_free(struct dwarf_lines *lines);
bool dwarf_lines_exist(const struct dwarf_lines *lines); /* false: the file has no DWARF */

/* As code_file_lines(). *local: the last frame's function belongs to a local class, and the symbol
 * table names it better, if it does. */
size_t dwarf_lines_at(struct dwarf_lines *lines, uint64_t pc, struct code_frame *frames, size_t max,
		      bool *local);

#endif
