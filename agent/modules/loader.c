/* SPDX-License-Identifier: MIT
 *
 * loader.c - finds the loader's list for debuggers (SVR4's r_debug) in the program's own dynamic
 * section (System V ABI, DT_DEBUG). Only glibc also exports a name for it.
 */
#include "modules/loader.h"
#include "base/prim_linux.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

const struct r_debug *mt_loader_debug(void)
{
	static _Atomic(const struct r_debug *) known;
	const struct r_debug *debug = atomic_load_explicit(&known, memory_order_relaxed);
	const ElfW(Phdr) *ph = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	const ElfW(Dyn) *d = NULL;
	uintptr_t bias = 0;
	bool loaded = false; /* a static program has none, though it may relocate itself */

	if (debug || !ph)
		return debug;
	for (size_t i = 0, count = getauxval(AT_PHNUM); i < count; i++) {
		if (ph[i].p_type == PT_PHDR) {
			bias = (uintptr_t)ph - ph[i].p_vaddr;
			loaded = true;
		} else if (ph[i].p_type == PT_DYNAMIC) {
			d = (const ElfW(Dyn) *)(bias + ph[i].p_vaddr);
		}
	}
	if (!loaded)
		return NULL;
	while (d && d->d_tag != DT_NULL && d->d_tag != DT_DEBUG)
		d++;
	if (d && d->d_tag == DT_DEBUG)
		debug = (const struct r_debug *)d->d_un.d_ptr;
	atomic_store_explicit(&known, debug, memory_order_relaxed);
	return debug;
}

bool mt_loader_consistent(void)
{
	const struct r_debug *d = mt_loader_debug();

	return d && __atomic_load_n(&d->r_state, __ATOMIC_ACQUIRE) == RT_CONSISTENT;
}

bool mt_loader_copy(const struct link_map *from, struct link_map *to)
{
	if (!mt_prim_readable((uintptr_t)from, sizeof(*from)))
		return false;
	memcpy(to, from, sizeof(*to));
	return true;
}

const struct r_debug *mt_loader_next(const struct r_debug *d)
{
	const struct {
		struct r_debug base;
		const struct r_debug *next;
	} *extended = (const void *)d;

	if (d->r_version < 2 || !mt_prim_readable((uintptr_t)extended, sizeof(*extended)) ||
	    !extended->next)
		return NULL;
	return mt_prim_readable((uintptr_t)extended->next, sizeof(*d)) ? extended->next : NULL;
}
