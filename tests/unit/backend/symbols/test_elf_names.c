/* SPDX-License-Identifier: MIT
 *
 * test_elf_names.c - the sorted symbol tables answer as libdw's walk of the whole table does.
 */
#include "check.h"
#include "symbols/code_file.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **file,
		  Elf **elf)
{
	(void)mod, (void)data, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

static int no_debug(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
		    const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)mod, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc,
		(void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = { .find_elf = no_elf,
					  .find_debuginfo = no_debug,
					  .section_address = dwfl_offline_section_address };

static long asked, named, differ;

/* Where code is; elsewhere the library has answers of its own for what lies between sections. */
static bool is_code(Dwfl_Module *module, GElf_Addr addr)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);

	for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
		GElf_Shdr h;
		if (gelf_getshdr(s, &h) && h.sh_flags & SHF_EXECINSTR &&
		    addr - bias - h.sh_addr < h.sh_size)
			return true;
	}
	return false;
}

static void ask(Dwfl_Module *module, const struct elf_names *names, GElf_Addr addr)
{
	if (!is_code(module, addr))
		return;
	const char *is = dwfl_module_addrname(module, addr), *ours = elf_names_at(names, addr);

	asked++;
	named += is != NULL;
	if ((is != NULL) == (ours != NULL) && (!is || !strcmp(is, ours)))
		return;
	if (differ++ < 10)
		printf("%#llx: %s, not %s\n", (unsigned long long)addr, is ? is : "none",
		       ours ? ours : "none");
}

/* At symbols' bounds, and at `more` places drawn at random. */
static void compare(const char *path, int most, int more)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = dwfl_report_offline(dwfl, "", path, -1);
	Dwarf_Addr start, end;

	if (!module) { /* not on this machine */
		dwfl_end(dwfl);
		return;
	}
	dwfl_report_end(dwfl, NULL, NULL);
	struct elf_names *names = elf_names_new(module);
	CHECK(names != NULL);
	int count = dwfl_module_getsymtab(module), step = count / most + 1;
	for (int i = 1; i < count; i += step) {
		GElf_Sym sym;
		GElf_Addr addr;
		if (!dwfl_module_getsym_info(module, i, &sym, &addr, NULL, NULL, NULL))
			continue;
		ask(module, names, addr);
		ask(module, names, addr - 1);
		ask(module, names, addr + sym.st_size);
		ask(module, names, addr + sym.st_size / 2);
	}
	dwfl_module_info(module, NULL, &start, &end, NULL, NULL, NULL, NULL);
	srand(1);
	for (int i = 0; i < more; i++)
		ask(module, names,
		    start + ((uint64_t)rand() << 16 ^ (uint64_t)rand()) % (end - start));
	elf_names_free(names);
	dwfl_end(dwfl);
}

TEST(answers_as_libdw_does)
{
	static const char *const files[] = { "/proc/self/exe",
					     "/lib/x86_64-linux-gnu/libc.so.6",
					     "/lib64/ld-linux-x86-64.so.2",
					     "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
					     "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
					     "/usr/lib/x86_64-linux-gnu/libc.so",
					     "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
					     "/usr/bin/python3.11",
					     "/usr/bin/perl" };

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		compare(files[i], 700, 700);
	/* the library's own walk takes 3 ms each */
	compare("/usr/lib/llvm-14/lib/libLLVM-14.so.1", 100, 200);
	printf("  %ld addresses, %ld named, %ld differences\n", asked, named, differ);
	CHECK(asked > 5000 && named > 3000);
	CHECK_EQ(differ, 0);
}
