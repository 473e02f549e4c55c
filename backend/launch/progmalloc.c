/* SPDX-License-Identifier: MIT
 *
 * progmalloc.c - what a program's symbols tell about its malloc, beyond the judgement of
 * memtop/elf.h.
 *
 * The loader searches the executable before anything preloaded, so an executable's own malloc gets
 * all calls. Sanitizers bring a malloc. When another library comes between, they end the program or
 * fail themselves. Shared liblsan works at any place in the order, and ubsan has no malloc: such
 * programs are watched as usual.
 *
 * A malloc that is not exported, and the name of a sanitizer that exports nothing, are in .symtab
 * unless it was stripped. The file is untrusted: every range is checked against its size.
 */
#include "launch/progcheck.h"

#include <elf.h>
#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
	const uint8_t *bytes;
	uint64_t size;
	const Elf64_Shdr *sections;
	unsigned section_count;
};

/* Allocators' function names for programs that keep malloc itself; _rjem_ is Rust's jemalloc. */
static const char *const others[] = { "mi_malloc",     "mi_malloc_aligned", "_rjem_malloc",
				      "_rjem_mallocx", "je_malloc",         "tc_malloc",
				      "rpmalloc" };

static const void *range(const struct image *im, uint64_t at, uint64_t size)
{
	return at <= im->size && size <= im->size - at && at % 8 == 0 ? im->bytes + at : NULL;
}

/* Entries of a section, and its strings (which end in NUL). NULL = none. */
static const void *table(const struct image *im, uint32_t type, size_t entry, size_t *count,
			 const char **strings, uint64_t *len)
{
	for (unsigned i = 0; i < im->section_count; i++) {
		const Elf64_Shdr *s = &im->sections[i];
		if (s->sh_type != type || s->sh_link >= im->section_count)
			continue;
		const Elf64_Shdr *str = &im->sections[s->sh_link];
		const void *entries = range(im, s->sh_offset, s->sh_size);
		if (!entries || !str->sh_size || str->sh_offset > im->size ||
		    str->sh_size > im->size - str->sh_offset ||
		    im->bytes[str->sh_offset + str->sh_size - 1])
			return NULL;
		*count = s->sh_size / entry;
		*strings = (const char *)im->bytes + str->sh_offset;
		*len = str->sh_size;
		return entries;
	}
	return NULL;
}

int progmalloc_refuse(const char *name, const char *sanitizer, struct err *err)
{
	return err_set(err, 3,
		       "%s: built with %s: it has its own malloc, which cannot be interposed; "
		       "build it without",
		       name, sanitizer);
}

static void name_sanitizer(const char *name, struct progmalloc *m)
{
	for (size_t i = 0; *name == '_' && i < ELF_SANITIZERS; i++)
		if (!strcmp(name, elf_sanitizers[i].init))
			m->sanitizer = elf_sanitizers[i].flag;
}

/* Reads the names of functions. */
static void read_names(const struct image *im, uint32_t type, struct progmalloc *m)
{
	const char *strings;
	uint64_t len;
	size_t n;
	const Elf64_Sym *s = table(im, type, sizeof *s, &n, &strings, &len);

	for (size_t i = 0; s && i < n; i++) {
		const char *name = s[i].st_name < len ? strings + s[i].st_name : "";
		for (size_t k = 0; k < sizeof others / sizeof others[0] && !m->other; k++)
			if (!strcmp(name, others[k])) /* also when a library is to have it */
				m->other = others[k];
		if (s[i].st_shndx == SHN_UNDEF || !s[i].st_value ||
		    ELF64_ST_TYPE(s[i].st_info) != STT_FUNC)
			continue;
		m->own_hidden |= !strcmp(name, "malloc");
		if (m->sanitizer && *m->sanitizer != '-')
			name_sanitizer(name, m);
	}
}

static size_t read_at(void *file, void *to, size_t bytes, uint64_t at)
{
	const struct image *im = file;
	uint64_t left = at < im->size ? im->size - at : 0;
	size_t n = bytes < left ? bytes : left;

	memcpy(to, im->bytes + (n ? at : 0), n);
	return n;
}

static void read_image(struct image *im, struct progmalloc *m)
{
	const Elf64_Ehdr *head = range(im, 0, sizeof *head);
	struct elf e;

	elf_look(&e, read_at, im);
	m->sanitizer = e.sanitizer;
	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    head->e_ident[EI_DATA] != (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB) ||
	    head->e_shentsize != sizeof(Elf64_Shdr))
		return;
	im->sections = range(im, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr));
	im->section_count = im->sections ? head->e_shnum : 0;
	read_names(im, SHT_DYNSYM, m);
	read_names(im, SHT_SYMTAB, m);
	m->own_hidden &= !e.malloc;
}

void progmalloc_read(const char *path, struct progmalloc *m)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	*m = (struct progmalloc){ 0 };
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED) {
			struct image im = { .bytes = at, .size = (uint64_t)st.st_size };
			read_image(&im, m);
			munmap(at, (size_t)st.st_size);
		}
	}
	close(fd);
}
