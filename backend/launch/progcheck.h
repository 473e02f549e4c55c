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

/* What an ELF file says of itself; class 0 = not an ELF file. */
struct elf_kind {
	int class_bits; /* 32, 64 */
	int machine;    /* EM_* */
	int type;       /* ET_* */
	bool big_endian;
	char interp[256]; /* PT_INTERP, "" = none */
	char script[512]; /* "#!" line without the "#!", "" = none */
	bool linked;      /* the agent is a part of it: its note says so */
	bool text;        /* neither ELF nor "#!", and no NUL in its first bytes */
};

/* 0, or -errno when the file cannot be read. */
int progcheck_read(const char *path, struct elf_kind *k);
const char *progcheck_machine(const struct elf_kind *k); /* "aarch64", "32-bit i386", ... */

/* Where execvp would find `name`; -1 and *err (126 or 127). */
int progcheck_find(const char *name, char *path, size_t size, struct err *err);

/* Whether the program at `path` asks for musl; of a script its interpreter does. false: no, or
 * nobody can tell. */
bool progcheck_wants_musl(const char *path);
/* Whether the program at `path`, of a script its interpreter, has the agent linked in, and needs no
 * other. */
bool progcheck_linked(const char *path);
/* Which C library: "glibc", "musl", "bionic" (Android's). By the loader that a program asks for; by
 * what an agent's file depends on. */
const char *progcheck_libc(const struct elf_kind *k);
const char *progcheck_agent_libc(const char *agent);

/*
 * Whether `agent` would be loaded, and get to see anything, into the program at `path` (as `name`
 * typed by the user). 0, or -1 and *err with status 126; *note: what will not be seen of it, a
 * sentence for the report, "" = nothing. For scripts their interpreter is what counts. agent: NULL
 * where it is linked in.
 */
int progcheck(const char *name, const char *path, const char *agent, char *note, size_t note_size,
	      struct err *err);

#endif
