/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_LINK_H
#define ANDROID_LINK_H

#include <elf.h>
#include <sys/types.h>

#define ElfW(type) Elf64_##type

struct dl_phdr_info {
	ElfW(Addr) dlpi_addr;
	const char *dlpi_name;
	const ElfW(Phdr) * dlpi_phdr;
	ElfW(Half) dlpi_phnum;
	/* those below: from API level 30 on */
	unsigned long long dlpi_adds, dlpi_subs;
	size_t dlpi_tls_modid;
	void *dlpi_tls_data;
};

int dl_iterate_phdr(int (*)(struct dl_phdr_info *, size_t, void *), void *);

struct link_map {
	ElfW(Addr) l_addr;
	char *l_name;
	ElfW(Dyn) * l_ld;
	struct link_map *l_next, *l_prev;
};

struct r_debug {
	int32_t r_version;
	struct link_map *r_map;
	ElfW(Addr) r_brk;
	enum { RT_CONSISTENT, RT_ADD, RT_DELETE } r_state;
	ElfW(Addr) r_ldbase;
};

#endif
