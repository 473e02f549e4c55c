/* SPDX-License-Identifier: MIT
 *
 * dwfl.h - turns code locations of one file into names, lines and inlined frames, by libdw. The
 * symbolizer's thread only.
 */
#ifndef SYMBOLS_DWFL_H
#define SYMBOLS_DWFL_H

#include "base/base.h"

#define SYMDW_PIDS 3
struct symdw_where { /* a module, as the target names it */
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len; /* 0 = unknown: any file at that path is taken */
	bool vdso;
	unsigned pids[SYMDW_PIDS]; /* processes whose root folders are searched, too; 0 = none */
};

struct symdw_places {
	const char *sysroot; /* NULL = none */
	const char *const *dirs;
	size_t dir_count;
};

struct symdw_frame {    /* innermost first; strings are the caller's, NULL = unknown */
	char *function; /* demangled */
	char *file;
	uint32_t line;
	bool inlined; /* into the next */
};
#define SYMDW_FRAMES_MAX 64

/* files whose descriptor is larger are read once: descriptors are few; set before there is a
 * worker */
extern int symdw_fd_max;

struct symdw_file;
/* Never NULL. Without a matching file, *problem is a sentence (the caller's) and nothing has a
 * name. */
struct symdw_file *symdw_open(const struct symdw_where *where, const struct symdw_places *places,
			      char **problem);
void symdw_close(struct symdw_file *f);
/* Frees the data read from it until the next request, which reads the same file even if another
 * lies at its path by then. */
void symdw_rest(struct symdw_file *f);
/* pc = ELF address of an instruction. Name from the symbol tables: one frame and true, or false. */
bool symdw_table(struct symdw_file *f, uint64_t pc, struct symdw_frame *frame);
/* Frames from DWARF; 0 = none for this pc. The last one's name may come from the symbol table. */
size_t symdw_lines(struct symdw_file *f, uint64_t pc, struct symdw_frame *frames, size_t max);
/* After symdw_lines(): has the file DWARF? */
bool symdw_has_dwarf(const struct symdw_file *f);
/* Adds a debug file with where's build-id from elsewhere, for all later requests. */
void symdw_give(struct symdw_file *f, const struct symdw_where *where, const char *path);

#endif
