/* SPDX-License-Identifier: MIT
 *
 * elf.h - the judge of executables: what an ELF file is, and whether an agent can go into it.
 *
 * memtop asks before it starts a program, the agent before each exec of its target, and both get
 * the same answer. elf_look() reads the facts as the loader does, from the program headers and the
 * dynamic tables: a strip may have removed the sections. elf_judge() compares them with what an
 * agent was built for. Both word sizes and byte orders are read, since memtop names the wrong ones.
 *
 * The agent asks between vfork and exec, perhaps in a signal handler: nothing here allocates, locks
 * or calls more than string functions. The file may be hostile: each byte comes through a callback
 * that delivers what is there, no offset is followed past that, and every loop is bounded.
 */
#ifndef MEMTOP_ELF_H
#define MEMTOP_ELF_H

#include "board.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ELF_INTERP_BYTES 256
#define ELF_SCRIPT_DEPTH 5    /* scripts whose interpreter is a script: the kernel's limit */
#define ELF_LAUNCHER_WORDS 32 /* arguments of a launcher that are looked at */

/* Copies what the file has of [at, at + bytes); returns how many bytes. */
typedef size_t elf_read_at(void *file, void *to, size_t bytes, uint64_t at);

enum elf_libc { ELF_GLIBC, ELF_MUSL, ELF_BIONIC };

/* What a program needs, and what an agent was built for. */
struct elf_abi {
	unsigned bits; /* 32, 64; 0 = not an ELF file */
	bool big_endian;
	unsigned machine; /* EM_* */
	enum elf_libc libc;
};

struct elf {
	struct elf_abi abi;
	unsigned type;                 /* ET_* */
	bool readable;                 /* the program headers are there */
	char interp[ELF_INTERP_BYTES]; /* PT_INTERP; glibc's loader itself: "/" and its name; "" */
	bool loader;                   /* ... it is that one */
	bool linked;                   /* the agent is linked in: its note says so */
	bool go;                       /* Go's linker made it */
	uint64_t agent_at;    /* an agent's description of itself, in the file: options.h */
	uint32_t agent_bytes; /* 0 = it is none */
	bool malloc;          /* defines malloc, for itself and for its libraries */
	/* "-fsanitize=address", ...: its malloc, which cannot be interposed; NULL = none */
	const char *sanitizer;
};

static const struct elf_sanitizer {
	const char *flag, *init, *gnu, *clang;
} elf_sanitizers[] = {
	{ "-fsanitize=address", "__asan_init", "libasan.so", "libclang_rt.asan" },
	{ "-fsanitize=hwaddress", "__hwasan_init", "libhwasan.so", "libclang_rt.hwasan" },
	{ "-fsanitize=thread", "__tsan_init", "libtsan.so", "libclang_rt.tsan" },
	{ "-fsanitize=memory", "__msan_init", NULL, "libclang_rt.msan" },
	{ "-fsanitize=leak", "__lsan_init", NULL, NULL }, /* gcc's library works at any place */
};
#define ELF_SANITIZERS (sizeof(elf_sanitizers) / sizeof(*elf_sanitizers))

static inline bool elf_begins(const char *text, const char *with)
{
	return with && !strncmp(text, with, strlen(with));
}

/* The sanitizer whose library has this file name; NULL = none with a malloc. */
static inline const char *elf_sanitizer_of(const char *library)
{
	for (size_t i = 0; i < ELF_SANITIZERS; i++)
		if (elf_begins(library, elf_sanitizers[i].gnu) ||
		    elf_begins(library, elf_sanitizers[i].clang))
			return elf_sanitizers[i].flag;
	return NULL;
}

/* Reading; names and numbers are those of <elf.h>. */

#define ELF_HEADERS 128
#define ELF_LOADS 16
#define ELF_NOTES 32
#define ELF_NEEDED 64
#define ELF_DYNAMIC 512
#define ELF_CHAIN 64 /* symbols of a hash's bucket */
#define ELF_UNDEFINED 8192u
#define ELF_BATCH 16 /* entries of a table in one read */
#define ELF_NAME 32
#define ELF_NOWHERE UINT64_MAX

/* One file under inspection: what elf_look() knows while it reads. */
struct elf_image {
	elf_read_at *read_at;
	void *file;
	struct elf *e;
	bool wide; /* 64-bit */
	struct {
		uint64_t address, at, bytes;
	} load[ELF_LOADS];
	unsigned loads;
	uint64_t dynamic, dynamic_bytes; /* 0 = none */
	/* places in the file; ELF_NOWHERE = none */
	uint64_t strings, symbols, gnu_hash, hash;
	uint64_t soname, needed[ELF_NEEDED]; /* in the strings */
	unsigned needed_count;
};

static inline bool elf_get(const struct elf_image *m, void *to, size_t bytes, uint64_t at)
{
	return at < (uint64_t)INT64_MAX && m->read_at(m->file, to, bytes, at) == bytes;
}

/* Up to its NUL, cut to what fits. */
static inline void elf_text(const struct elf_image *m, char *to, size_t size, uint64_t at)
{
	size_t n = at < (uint64_t)INT64_MAX ? m->read_at(m->file, to, size - 1, at) : 0;

	to[n] = '\0';
}

static inline uint64_t elf_number(const struct elf_image *m, const void *from, unsigned bytes)
{
	const unsigned char *p = from;
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * (m->e->abi.big_endian ? bytes - 1 - i : i);
	return v;
}

/* A word of the file's size. */
static inline uint64_t elf_word(const struct elf_image *m, const void *from)
{
	return elf_number(m, from, m->wide ? 8 : 4);
}

static inline bool elf_get32(const struct elf_image *m, uint32_t *to, uint64_t at)
{
	unsigned char bytes[4];

	if (!elf_get(m, bytes, 4, at))
		return false;
	*to = (uint32_t)elf_number(m, bytes, 4);
	return true;
}

/* Each note: the sizes of owner and text, a type, the owner with its NUL, the text. */
static inline void elf_read_notes(struct elf_image *m, uint64_t at, uint64_t bytes)
{
	unsigned char note[20];
	uint64_t end = at + bytes;

	for (int i = 0; i < ELF_NOTES && at < end && elf_get(m, note, 12, at); i++) {
		uint64_t owner = elf_number(m, note, 4), text = elf_number(m, note + 4, 4),
			 type = elf_number(m, note + 8, 4);
		bool named = (owner == 4 || owner == sizeof(MTW_NOTE_OWNER)) &&
			     elf_get(m, note + 12, owner, at + 12);
		at += 12 + ((owner + 3) & ~3ull);
		if (named && owner == 4)
			m->e->go |= !memcmp(note + 12, "Go\0", 4); /* its build id */
		else if (named && !memcmp(note + 12, MTW_NOTE_OWNER, sizeof(MTW_NOTE_OWNER))) {
			m->e->linked |= type == MTW_NOTE_LINKED; /* agent/linked/note.c */
			if (type == MTW_NOTE_AGENT) {            /* agent/base/conf.c */
				m->e->agent_at = at;
				m->e->agent_bytes = (uint32_t)text;
			}
		}
		at += (text + 3) & ~3ull;
	}
}

static inline void elf_read_header(struct elf_image *m, const unsigned char *h)
{
	uint64_t type = elf_number(m, h, 4), at = elf_word(m, h + (m->wide ? 8 : 4)),
		 bytes = elf_word(m, h + (m->wide ? 32 : 16));

	if (type == 1 /* PT_LOAD */ && m->loads < ELF_LOADS) {
		m->load[m->loads].address = elf_word(m, h + (m->wide ? 16 : 8));
		m->load[m->loads].at = at;
		m->load[m->loads++].bytes = bytes;
	} else if (type == 2 /* PT_DYNAMIC */) {
		m->dynamic = at;
		m->dynamic_bytes = bytes;
	} else if (type == 3 /* PT_INTERP */) {
		elf_text(m, m->e->interp, sizeof(m->e->interp), at);
	} else if (type == 4 /* PT_NOTE */ && at <= INT64_MAX && bytes <= INT64_MAX) {
		elf_read_notes(m, at, bytes);
	}
}

static inline bool elf_read_headers(struct elf_image *m, const unsigned char *head)
{
	unsigned char h[56];
	const unsigned size = m->wide ? 56 : 32;
	uint64_t at = elf_word(m, head + (m->wide ? 32 : 28)),
		 count = elf_number(m, head + (m->wide ? 56 : 44), 2);
	m->e->type = (unsigned)elf_number(m, head + 16, 2);
	m->e->abi.machine = (unsigned)elf_number(m, head + 18, 2);
	if (elf_number(m, head + (m->wide ? 54 : 42), 2) != size || at > INT64_MAX)
		return false;
	for (unsigned i = 0; i < count && i < ELF_HEADERS; i++) {
		if (!elf_get(m, h, size, at + i * size))
			return false;
		elf_read_header(m, h);
	}
	return true;
}

static inline uint64_t elf_place(const struct elf_image *m, uint64_t address)
{
	for (unsigned i = 0; i < m->loads; i++)
		if (address >= m->load[i].address &&
		    address - m->load[i].address < m->load[i].bytes)
			return address - m->load[i].address + m->load[i].at;
	return ELF_NOWHERE;
}

static inline void elf_read_dynamic(struct elf_image *m)
{
	unsigned char e[ELF_BATCH * 16];
	const unsigned word = m->wide ? 8 : 4, size = 2 * word;
	uint64_t count = m->dynamic_bytes / size;

	for (uint64_t i = 0; i < count && i < ELF_DYNAMIC; i++) {
		uint64_t some = count - i < ELF_BATCH ? count - i : ELF_BATCH;
		if (i % ELF_BATCH == 0 && !elf_get(m, e, some * size, m->dynamic + i * size))
			return;
		uint64_t tag = elf_word(m, e + i % ELF_BATCH * size),
			 value = elf_word(m, e + i % ELF_BATCH * size + word);
		switch (tag) {
		case 0: return; /* DT_NULL */
		case 1:         /* DT_NEEDED */
			if (m->needed_count < ELF_NEEDED)
				m->needed[m->needed_count++] = value;
			break;
		case 4: m->hash = elf_place(m, value); break;
		case 5: m->strings = elf_place(m, value); break;
		case 6: m->symbols = elf_place(m, value); break;
		case 14: m->soname = value; break;
		case 0x6ffffef5: m->gnu_hash = elf_place(m, value); break;
		}
	}
}

struct elf_symbol {
	uint64_t name, value;
	unsigned info, section;
};

static inline unsigned elf_symbol_bytes(const struct elf_image *m)
{
	return m->wide ? 24 : 16;
}

static inline struct elf_symbol elf_symbol(const struct elf_image *m, const unsigned char *s)
{
	return (struct elf_symbol){ .name = elf_number(m, s, 4),
				    .value = elf_word(m, s + (m->wide ? 8 : 4)),
				    .info = s[m->wide ? 4 : 12],
				    .section = (unsigned)elf_number(m, s + (m->wide ? 6 : 14), 2) };
}

static inline bool elf_is_defined(const struct elf_image *m, uint32_t i, const char *name)
{
	unsigned char bytes[24];
	char text[ELF_NAME];

	if (!elf_get(m, bytes, elf_symbol_bytes(m), m->symbols + (uint64_t)i * elf_symbol_bytes(m)))
		return false;
	struct elf_symbol s = elf_symbol(m, bytes);
	if (!s.section || !s.value)
		return false;
	elf_text(m, text, sizeof(text), m->strings + s.name);
	return !strcmp(text, name);
}

static inline bool elf_in_gnu_hash(const struct elf_image *m, const char *name)
{
	/* buckets, first symbol, words of the filter, shift */
	uint32_t head[4], hash = 5381, at, link = 0;
	unsigned char word[8];
	const unsigned bytes = m->wide ? 8 : 4, bits = 8 * bytes;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	for (unsigned i = 0; i < 4; i++)
		if (!elf_get32(m, &head[i], m->gnu_hash + 4ull * i))
			return false;
	if (!head[0] || !head[2] ||
	    !elf_get(m, word, bytes, m->gnu_hash + 16 + hash / bits % head[2] * bytes))
		return false;
	uint64_t filter = elf_word(m, word), buckets = m->gnu_hash + 16 + (uint64_t)head[2] * bytes,
		 chain = buckets + 4ull * head[0];
	if (!(filter >> hash % bits & filter >> (hash >> (head[3] & 31)) % bits & 1) ||
	    !elf_get32(m, &at, buckets + 4ull * (hash % head[0])) || at < head[1])
		return false;
	for (int i = 0;
	     i < ELF_CHAIN && !(link & 1) && elf_get32(m, &link, chain + 4ull * (at - head[1]));
	     i++, at++)
		if ((link | 1) == (hash | 1) && elf_is_defined(m, at, name))
			return true;
	return false;
}

static inline bool elf_in_hash(const struct elf_image *m, const char *name)
{
	uint32_t buckets, hash = 0, at;

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash ^= hash >> 24 & 0xf0;
		hash &= 0x0fffffff;
	}
	if (!elf_get32(m, &buckets, m->hash) || !buckets ||
	    !elf_get32(m, &at, m->hash + 8 + 4ull * (hash % buckets)))
		return false;
	for (int i = 0; i < ELF_CHAIN && at; i++) {
		if (elf_is_defined(m, at, name))
			return true;
		if (!elf_get32(m, &at, m->hash + 8 + 4ull * buckets + 4ull * at))
			break;
	}
	return false;
}

static inline bool elf_defines(const struct elf_image *m, const char *name)
{
	if (m->symbols == ELF_NOWHERE || m->strings == ELF_NOWHERE)
		return false;
	return m->gnu_hash != ELF_NOWHERE ? elf_in_gnu_hash(m, name)
					  : m->hash != ELF_NOWHERE && elf_in_hash(m, name);
}

/* A library whose name begins so. */
static inline bool elf_needs(const struct elf_image *m, const char *library)
{
	char text[ELF_NAME];

	for (unsigned i = 0; i < m->needed_count && m->strings != ELF_NOWHERE; i++) {
		elf_text(m, text, sizeof(text), m->strings + m->needed[i]);
		if (elf_begins(text, library))
			return true;
	}
	return false;
}

/* Functions that a runtime asks the program for. Undefined symbols come first in the order of a GNU
 * hash. */
static inline bool elf_asks_for_hooks(const struct elf_image *m)
{
	static const char *const names[] = { "__sanitizer_", "__asan_", "__hwasan_",
					     "__tsan_",      "__msan_", "__lsan_" };
	unsigned char bytes[ELF_BATCH * 24];
	const unsigned size = elf_symbol_bytes(m);
	uint32_t count;
	char text[ELF_NAME];

	if (!elf_get32(m, &count, (m->gnu_hash != ELF_NOWHERE ? m->gnu_hash : m->hash) + 4))
		return false;
	for (uint32_t i = 0; i < count && i < ELF_UNDEFINED; i++) {
		uint32_t some = count - i < ELF_BATCH ? count - i : ELF_BATCH;
		if (i % ELF_BATCH == 0 &&
		    !elf_get(m, bytes, (size_t)some * size, m->symbols + (uint64_t)i * size))
			return false;
		struct elf_symbol s = elf_symbol(m, bytes + (size_t)(i % ELF_BATCH) * size);
		if (s.section || s.info >> 4 != 2 /* STB_WEAK */)
			continue;
		elf_text(m, text, sizeof(text), m->strings + s.name);
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			if (elf_begins(text, names[k]))
				return true;
	}
	return false;
}

/* A runtime inside brings malloc along: few programs do, and only those are asked for the rest. One
 * of clang's exports its own functions. One of gcc's exports nothing else, but asks for hooks;
 * clang's for undefined behaviour asks for them, too, and has no malloc. */
static inline const char *elf_find_sanitizer(const struct elf_image *m)
{
	char text[ELF_NAME];
	const char *found;

	for (unsigned i = 0; i < m->needed_count && m->strings != ELF_NOWHERE; i++) {
		elf_text(m, text, sizeof(text), m->strings + m->needed[i]);
		if ((found = elf_sanitizer_of(text)))
			return found;
	}
	if (!m->e->malloc)
		return NULL;
	for (size_t i = 0; i < ELF_SANITIZERS; i++)
		if (elf_defines(m, elf_sanitizers[i].init))
			return elf_sanitizers[i].flag;
	return elf_asks_for_hooks(m) && !elf_defines(m, "__ubsan_handle_add_overflow")
		       ? "a sanitizer"
		       : NULL;
}

/* By its loader; a library's, and so an agent's, by what it needs. */
static inline enum elf_libc elf_find_libc(const struct elf_image *m)
{
	const char *interp = m->e->interp, *name = strrchr(interp, '/');

	if (*interp)
		return strstr(interp, "/ld-musl-")           ? ELF_MUSL
		       : name && elf_begins(name, "/linker") ? ELF_BIONIC
							     : ELF_GLIBC;
	if (elf_needs(m, "libc.so.6") || !(elf_needs(m, "libc.so") || elf_needs(m, "libc.musl-")))
		return ELF_GLIBC;
	return elf_needs(m, "libdl.so") ? ELF_BIONIC : ELF_MUSL;
}

/* glibc's loader, called by hand (`ld.so PROGRAM`), takes LD_PRELOAD as ever. */
static inline void elf_find_loader(const struct elf_image *m)
{
	char *name = m->e->interp;

	if (*name || m->soname == ELF_NOWHERE || m->strings == ELF_NOWHERE)
		return;
	name[0] = '/';
	elf_text(m, name + 1, sizeof(m->e->interp) - 1, m->strings + m->soname);
	if (!elf_begins(name, "/ld-linux") && !elf_begins(name, "/ld.so") &&
	    !elf_begins(name, "/ld64.so"))
		name[0] = '\0';
	m->e->loader = *name;
}

/* Reads all facts. False: it is no ELF file, or ends within its first header. */
static inline bool elf_look(struct elf *e, elf_read_at *read_at, void *file)
{
	struct elf_image m = { .read_at = read_at,
			       .file = file,
			       .e = e,
			       .strings = ELF_NOWHERE,
			       .symbols = ELF_NOWHERE,
			       .gnu_hash = ELF_NOWHERE,
			       .hash = ELF_NOWHERE,
			       .soname = ELF_NOWHERE };
	unsigned char head[64];

	memset(e, 0, sizeof(*e));
	if (!elf_get(&m, head, 52, 0) || memcmp(head, "\177ELF", 4) || !head[4] || head[4] > 2)
		return false;
	m.wide = head[4] == 2;
	if (m.wide && !elf_get(&m, head, 64, 0))
		return false;
	e->abi.bits = m.wide ? 64 : 32;
	e->abi.big_endian = head[5] == 2;
	e->readable = elf_read_headers(&m, head);
	elf_read_dynamic(&m);
	elf_find_loader(&m);
	e->abi.libc = elf_find_libc(&m);
	e->malloc = elf_defines(&m, "malloc");
	e->sanitizer = elf_find_sanitizer(&m);
	return true;
}

static inline bool elf_is_static(const struct elf *e)
{
	return !*e->interp && !e->linked;
}

/* Can an agent of that kind go into the program? It needs none where one is linked in. */
static inline enum board_why elf_judge(const struct elf *e, const struct elf_abi *agent)
{
	const struct elf_abi *p = &e->abi;

	if (!e->linked && (p->machine != agent->machine || p->bits != agent->bits ||
			   p->big_endian != agent->big_endian))
		return BOARD_MACHINE;
	if (!e->readable)
		return BOARD_UNREADABLE;
	if (elf_is_static(e))
		return BOARD_STATIC;
	if (!e->linked && p->libc != agent->libc)
		return BOARD_LIBC;
	return e->sanitizer ? BOARD_SANITIZER : BOARD_FOLLOWED;
}

/* "#!": the interpreter's path, ended in `line` itself. NULL: no such script. */
static inline char *elf_script(char *line)
{
	if (line[0] != '#' || line[1] != '!')
		return NULL;
	line += 2 + strspn(line + 2, " \t");
	line[strcspn(line, " \t\r\n")] = '\0';
	return *line ? line : NULL;
}

/*
 * The program that a static launcher (tini, gosu) starts, as its arguments name it: the first word
 * that is no option and starts a program that is not static. word: argument i, NULL behind the last
 * one. NULL: no argument names one.
 */
static inline const char *elf_launched(const char *(*word)(void *of, size_t i),
				       bool (*starts)(void *of, const char *word), void *of)
{
	const char *w;

	for (size_t i = 0; i < ELF_LAUNCHER_WORDS && (w = word(of, i)); i++)
		if (i && *w && *w != '-' && starts(of, w))
			return w;
	return NULL;
}

#endif
