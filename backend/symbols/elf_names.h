/* SPDX-License-Identifier: MIT
 *
 * elf_names.h - the symbol tables of one file, sorted by address. The symbolizer's thread only.
 */
#ifndef SYMBOLS_ELF_NAMES_H
#define SYMBOLS_ELF_NAMES_H

#include <elfutils/libdwfl.h>

struct symdw_names;

/* Reads the tables of `module`, which must outlive the result. NULL: it has none. */
struct symdw_names *symdw_names_make(Dwfl_Module *module);
void symdw_names_free(struct symdw_names *names);

/* The answer of dwfl_module_addrname(), a string of the module; `addr` is libdw's address. NULL:
 * no symbol. */
const char *symdw_names_at(const struct symdw_names *names, GElf_Addr addr);

#endif
