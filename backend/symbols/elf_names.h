/* SPDX-License-Identifier: MIT
 *
 * elf_names.h - the symbol tables of one file, sorted by address. The symbolizer's thread only.
 */
#ifndef SYMBOLS_ELF_NAMES_H
#define SYMBOLS_ELF_NAMES_H

#include <elfutils/libdwfl.h>

struct elf_names;

/* Reads the tables of `module`, which must outlive the result. NULL: it has none. */
struct elf_names *elf_names_new(Dwfl_Module *module);
void elf_names_free(struct elf_names *names);

/* The answer of dwfl_module_addrname(), a string of the module; `addr` is libdw's address. NULL:
 * no symbol. */
const char *elf_names_at(const struct elf_names *names, GElf_Addr addr);

#endif
