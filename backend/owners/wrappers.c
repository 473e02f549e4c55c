/* SPDX-License-Identifier: MIT
 *
 * wrappers.c - the table of allocation wrappers.
 *
 * Two kinds, tested in this order:
 *   1. whole modules: the agent, the C library with its loader, and the C++ runtime. Their own
 *      allocations are nothing that a user could act on, so these belong to their caller
 *      (strdup's text, stdout's buffer, what dlopen() keeps, a std::string's bytes). The test is
 *      by module, so that owners are the same with a stripped libc, with one with internal names
 *      (__GI___strdup), and in the agent's own history. Allocations without a caller (libstdc++'s
 *      pool for exceptions, made by its static initialiser) belong to [unknown];
 *   2. names that allocate wherever they are (malloc in any allocator, operator new, everything of
 *      std:: that a template put into the program's own module, the well-known x/g_/Py/sqlite
 *      families).
 * A demangled template instance begins with its return type, which may itself begin with std::. So
 * C++ names are compared from the qualified name on.
 */
#include "owners/wrappers.h"

#include "base/name.h"

#include <fnmatch.h>
#include <memtop/wire.h>
#include <string.h>

/* Prefixes end with '*'. Sorted by family; searched once per function (answers are kept). */
/* clang-format off */
static const char *const anywhere[] = {
	"malloc", "calloc", "realloc", "reallocarray", "memalign", "posix_memalign",
	"aligned_alloc", "valloc", "pvalloc", "free", "cfree", "mallocx", "rallocx", "xallocx",
	"__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_memalign", "__wrap_malloc",
	"__wrap_calloc", "__wrap_realloc",
	/* C programs' own families */
	"xmalloc*", "xcalloc*", "xrealloc*", "xzalloc*", "xstrdup*", "xstrndup*", "xmemdup*",
	"xasprintf*", "xvasprintf*", "xnmalloc*", "x2nrealloc*", "x2realloc*", "xpalloc*",
	"xreallocarray*", "ximalloc*", "xirealloc*", "xicalloc*", "ixmalloc*", "g_malloc*",
	"g_realloc*", "g_try_malloc*", "g_try_realloc*", "g_slice_alloc*", "g_slice_copy*",
	"g_strdup*", "g_strndup*", "g_memdup*", "g_aligned_alloc*", "g_strconcat", "g_strjoin*",
	"zmalloc*", "zcalloc*", "zrealloc*", "ztrymalloc*", "ztrycalloc*", "ztryrealloc*",
	"zstrdup*", "extend_to_usable",
	/* interpreters and libraries */
	"PyMem_*", "_PyMem_*", "PyObject_*", "_PyObject_*", "Perl_safesys*", "luaM_*", "l_alloc",
	"sqlite3Mem*", "sqlite3Malloc*", "sqlite3Realloc*", "sqlite3_malloc*", "sqlite3_realloc*",
	"sqlite3DbMalloc*", "sqlite3DbRealloc*", "sqlite3DbStr*", "dbMallocRawFinish",
	"dbReallocFinish", "mallocWithAlarm", "xmlMalloc*", "xmlMemMalloc*", "jv_mem_*",
	/* Rust */
	"__rust_alloc*", "__rust_realloc*", "__rdl_*", "__rg_*", "alloc::alloc::*",
	"alloc::raw_vec::*", "alloc::vec::*", "alloc::string::*", "alloc::boxed::*", "alloc::rc::*",
	"alloc::sync::*", "alloc::slice::*", "alloc::str::*", "alloc::fmt::*", "alloc::borrow::*",
	"alloc::collections::*", "<alloc::*", "core::iter::*", "core::ptr::*", "<core::iter::*",
	"hashbrown::*", "<hashbrown::*",
	/* C++ */
	"operator new*", "operator delete*", "std::*", "__gnu_cxx::*", "__cxxabiv1::*", "<std::*",
	"__cxa_*", NULL,
};
/* clang-format on */

static bool listed(const char *const *list, const char *name)
{
	for (; *list; list++) {
		const char *star = strchr(*list, '*');
		if (!star     ? !strcmp(*list, name)
		    : star[1] ? !fnmatch(*list, name, 0)
			      : !strncmp(*list, name, (size_t)(star - *list)))
			return true;
	}
	return false;
}

bool wrappers_match(uint32_t module_flags, const char *function)
{
	if (module_flags & (MTW_MODULE_AGENT | MTW_MODULE_LIBC | MTW_MODULE_CXX))
		return true;
	if (!function || !*function)
		return false;
	const char *qualified = name_qualified(function);
	/* C names have neither parameters nor versions: malloc(unsigned long) is a C++ function. */
	return listed(anywhere, qualified);
}
