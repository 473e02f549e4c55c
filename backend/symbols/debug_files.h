/* SPDX-License-Identifier: MIT
 *
 * debug_files.h - a module's separate debug file. The symbolizer's thread only; for
 * symbols/code_file.c.
 */
#ifndef SYMBOLS_DEBUG_FILES_H
#define SYMBOLS_DEBUG_FILES_H

#include <elfutils/libdwfl.h>

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

#endif
