/* SPDX-License-Identifier: MIT
 *
 * debug_files.c - finds a module's debug file: .build-id folders, .gnu_debuglink, downloads of
 * symbols/debuginfod.c.
 *
 * libdwfl's own search would ask debuginfod's servers right there, while all other names wait for
 * them. It therefore serves only modules without build-id, which the servers cannot know; all
 * others are searched for here. A file with the link's name is accepted by its build-id, which the
 * link's checksum could only confirm.
 */
#include "symbols/code_file.h"

#include "base/base.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static bool has_id(int fd, const unsigned char *id, int len)
{
	const void *its;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	bool same =
		elf && dwelf_elf_gnu_build_id(elf, &its) == len && !memcmp(its, id, (size_t)len);

	elf_end(elf);
	return same;
}

static int try(const char *path, const unsigned char *id, int len, char **found)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && (!id || has_id(fd, id, len))) {
		*found = xstrdup(path);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Searches the module's folder, and the debug folders at the same path below them. */
static int by_link(const struct debug_files *d, const char *file, const char *link,
		   const unsigned char *id, int len, char **found)
{
	const char *slash = strrchr(file, '/');
	int folder = slash ? (int)(slash - file) : 0, fd = -1;
	char path[3 * PATH_MAX];

	for (const char *at = d->path; fd < 0; at++) {
		int n = (int)strcspn(at, ":");
		for (int own = 1; own >= 0 && fd < 0; own--) {
			if (*at == '/')
				snprintf(path, sizeof path, "%.*s%.*s/%s", n, at, own ? folder : 0,
					 file, link);
			else
				snprintf(path, sizeof path, "%.*s/%.*s/%s", folder, file, n, at,
					 link);
			fd = try(path, id, len, found);
		}
		at += n;
		if (!*at)
			break;
	}
	return fd;
}

/* Finds the file that the debug file shares with others (dwz); link is its path. */
static int find_common(Dwfl_Module *mod, const char *link, char **found)
{
	const char *debug = NULL, *slash;
	char path[2 * PATH_MAX];

	dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, NULL, &debug);
	slash = debug && *link != '/' ? strrchr(debug, '/') : NULL;
	snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - debug) : 0,
		 slash ? debug : "", link);
	return try(path, NULL, 0, found);
}

int debug_files_find(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		     const char *file, const char *link, GElf_Word crc, char **found)
{
	const unsigned char *id;
	GElf_Addr vaddr;
	int len = dwfl_module_build_id(mod, &id, &vaddr);

	/* without a checksum, too, libdwfl would take any file of that name: of a container's
	 * module the one that lies here */
	if (len <= 0)
		return link ? dwfl_standard_find_debuginfo(mod, userdata, name, base, file, link,
							   crc, found)
			    : -1;
	int fd = dwfl_build_id_find_debuginfo(mod, userdata, name, base, file, link, crc, found);
	if (fd >= 0)
		return fd;
	if (!userdata)
		return link ? find_common(mod, link, found) : -1;
	const struct debug_files *d = *userdata;
	if (file && link)
		fd = by_link(d, file, link, id, len, found);
	return fd < 0 && d->given ? try(d->given, id, len, found) : fd;
}

int debug_files_vdso(void)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	int fd = vdso ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	if (fd < 0)
		return -1;
	const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)vdso;
	size_t size = e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;
	if (write(fd, vdso, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}
