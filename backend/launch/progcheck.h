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

/* An ELF file's own description; class 0 = not an ELF file. */
struct elf_kind {
	int class_bits; /* 32, 64 */
	int machine;    /* EM_* */
	int type;       /* ET_* */
	bool big_endian;
	char interp[256]; /* PT_INTERP, "" = none */
	char script[512]; /* "#!" line without the "#!", "" = none */
	bool linked;      /* the agent is linked in, as its note says */
	char agent[1024]; /* an agent's own description: memtop/options.h; "" = none */
	bool go;          /* Go's linker made it */
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
/*
 * The program that a static launcher (tini, gosu) starts, as its arguments name it: the first word
 * that is no option and is a program, which is not static. path: PATH_MAX bytes. NULL: none. The
 * agent judges its own launchers alike (agent/hooks/follow.c).
 */
const char *progcheck_launched(char *const argv[], char *path);
/* Which C library: "glibc", "musl", "bionic" (Android's). Judged by a program's loader, or by an
 * agent's dependencies. */
const char *progcheck_libc(const struct elf_kind *k);
const char *progcheck_agent_libc(const char *agent);

/*
 * Would `agent` be loaded into the program at `path` (as `name` typed by the user), and see its
 * calls? 0, or -1 and *err with status 126; *note: a sentence for the report about what it will not
 * see, "" = nothing. For scripts the interpreter counts. agent: NULL where it is linked in.
 */
int progcheck(const char *name, const char *path, const char *agent, char *note, size_t note_size,
	      struct err *err);

/* --- progmalloc.c: tells from a program's file, before it starts, whose malloc its calls will
 * reach */

struct progmalloc {
	/* "address", ...: the -fsanitize= name of a sanitizer with a malloc that cannot be
	 * interposed; NULL = none */
	const char *sanitizer;
	bool own;        /* the program defines malloc, for itself and for its libraries */
	bool own_hidden; /* ... for itself alone */
	/* "mi_malloc", ...: another allocator's function that it calls; NULL = none known */
	const char *other;
};

/* Reads an executable for this machine's word size; unreadable parts set nothing. */
void progmalloc_read(const char *path, struct progmalloc *m);

/* The sanitizer whose library has this file name; NULL = none with a malloc. */
const char *progmalloc_sanitizer(const char *library);
/* Sets *err for a process that runs with this sanitizer. Returns -1. */
int progmalloc_refuse(const char *name, const char *sanitizer, struct err *err);

#endif
