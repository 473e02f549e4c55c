/* SPDX-License-Identifier: MIT
 *
 * progcheck.h - tells before a program starts whether it can be watched. Any thread.
 *
 * Static and setuid programs silently drop a preloaded library; in a program of another word size
 * the loader complains. memtop would wait for an agent that never comes.
 */
#ifndef LAUNCH_PROGCHECK_H
#define LAUNCH_PROGCHECK_H

#include "base/base.h"

#include <memtop/elf.h>

/* What a file is, as the agent judges it, too (memtop/elf.h); and what else memtop says of it. */
struct elf_kind {
	struct elf elf;   /* elf.abi.bits 0 = not an ELF file */
	char script[512]; /* "#!" line's interpreter, "" = none */
	char agent[1024]; /* an agent's own description: memtop/options.h; "" = none */
	bool text;        /* neither ELF nor "#!", and no NUL in its first bytes */
};

/* 0, or -errno when the file cannot be read. */
int progcheck_read(const char *path, struct elf_kind *k);
/* Of a module in a process: /proc/PID/mem, and where its first segment is. */
int progcheck_read_loaded(int mem, uint64_t start, struct elf_kind *k);
const char *progcheck_machine(const struct elf_kind *k); /* "aarch64", "32-bit i386", ... */

/* What the user can do with a static program; with one of another machine, `otherwise` where memtop
 * has an agent for that machine. */
const char *progcheck_if_static(const struct elf_kind *k);
const char *progcheck_if_foreign(const struct elf_kind *k, const char *otherwise);

/* Where execvp would find `name`; -1 and *err (126 or 127). */
int progcheck_find(const char *name, char *path, size_t size, struct err *err);

/* Does the program at `path` (for a script, its interpreter) need musl? false: no, or unknown. */
bool progcheck_wants_musl(const char *path);
/* Has the program at `path` (for a script, its interpreter) the agent linked in? */
bool progcheck_linked(const char *path);
/* Is the program at `path` (for a script, its interpreter) static, without an agent? */
bool progcheck_static(const char *path);
/* What a static launcher starts: elf_launched(). path: PATH_MAX bytes. NULL: unknown. */
const char *progcheck_launched(char *const argv[], char *path);
/* "glibc", "musl", "bionic" (Android's). */
const char *progcheck_libc(const struct elf_kind *k);

/*
 * Would `agent` be loaded into the program at `path` (as `name` typed by the user), and see its
 * calls? 0, or -1 and *err with status 126; *note: a sentence for the report about what it will not
 * see, "" = nothing. For scripts the interpreter counts. agent: NULL where it is linked in.
 */
int progcheck(const char *name, const char *path, const char *agent, char *note, size_t note_size,
	      struct err *err);

/* progmalloc.c: tells from a program's file, before it starts, whose malloc its calls will
 * reach. */

struct progmalloc {
	const char *sanitizer; /* as in struct elf, by its name where symbols tell it */
	bool own_hidden;       /* the program defines malloc, for itself alone */
	/* "mi_malloc", ...: another allocator's function that it calls; NULL = none known */
	const char *other;
};

/* Reads an executable for this machine's word size; unreadable parts set nothing. */
void progmalloc_read(const char *path, struct progmalloc *m);

/* Sets *err for a process that runs with this sanitizer. Returns -1. */
int progmalloc_refuse(const char *name, const char *sanitizer, struct err *err);

#endif
