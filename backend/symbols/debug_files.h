/* SPDX-License-Identifier: MIT
 *
 * debug_files.h - a module's separate debug file. The symbolizer's thread only; for symbols/dwfl.c.
 */
#ifndef SYMBOLS_DEBUG_FILES_H
#define SYMBOLS_DEBUG_FILES_H

#include <elfutils/libdwfl.h>

struct symdw_debug {       /* what the module's userdata points to */
	const char *path;  /* folders, as libdwfl has them; borrowed */
	const char *given; /* a file that was downloaded for it; NULL = none. Borrowed */
};

/* Dwfl_Callbacks.find_debuginfo: local files, then the given one. Asks no server. */
int symdw_find_debug(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		     const char *file, const char *link, GElf_Word crc, char **found);

/* The vdso is no file: it is the kernel's page, the same in every process. A descriptor of a copy;
 * -1. */
int symdw_vdso(void);

#endif
