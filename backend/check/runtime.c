/* SPDX-License-Identifier: MIT
 *
 * runtime.c - blocks that the C and C++ libraries keep for themselves until the end, and which
 * valgrind frees for them (__libc_freeres, __gnu_cxx::__freeres): no leak of the program.
 *
 * A stack begins with the frames of the C library. It keeps what it allocated when the program
 * called a function that returns nothing to be freed (setlocale, tzset, getpwnam), or when it was
 * filling a cache of its own on the way (a stream's buffer, a converter, a name service). The names
 * of the latter are known where the C library has symbols.
 */
#include "check/judging.h"

#include "check/pattern.h"

#include <string.h>

/* Without the leading underscores that the C library's own names have. */
static const char *const entries[] = {
	"setlocale",      "textdomain", "bindtextdomain", "bind_textdomain_codeset",
	"*gettext",       "dcigettext", "tzset",          "tz_convert",
	"localtime*",     "mktime",     "timelocal",      "ctime*",
	"strftime*",      "wcsftime*",  "setenv",         "putenv",
	"add_to_environ", "getpw*",     "getgr*",         "getsp*",
	"getsg*",         "gethost*",   "getserv*",       "getproto*",
	"getnet*",        "getrpc*",    "getnameinfo",    "getmntent",
	"getfs*",         "getut*",     "getusershell",   "getlogin*",
	"getpass",        "set*ent",    "fgetpwent",      "fgetgrent",
	"initgroups",     "ttyname",    "hcreate*",       "mb*towc*",
	"mbrlen",         "mblen",      "wc*tomb*",       "btowc",
	"wctob",          "dlerror",
};
static const char *const caches[] = {
	"IO_file_doallocate",
	"IO_wdoallocbuf",
	"nss_*",
	"resolv_*",
	"res_vinit",
	"check_pf",
	"nl_*",
	"tzfile_*",
	"wcsmbs_load_conv",
	"gconv_find_shlib",
	"gconv_lookup_cache",
	"gconv_find_transform",
	"dlerror_run",
	"do_dlopen", /* the library's own */
};

static bool is_one_of(const char *const *list, size_t count, const char *function)
{
	if (!strncmp(function, "__GI_", 5))
		function += 5;
	function += strspn(function, "_");
	for (size_t i = 0; i < count; i++)
		if (pattern_matches(list[i], function, false))
			return true;
	return false;
}

#define IS_ONE_OF(list, function) is_one_of(list, sizeof(list) / sizeof *(list), function)

static bool is_kept_by_libc(const struct report *r, uint32_t stack)
{
	const struct skeleton *s = r->heap->skeleton;
	const struct heap_names *names = r->names;
	uint32_t n = s->node_of_stack[stack];
	const char *entry = NULL;

	while (n && (report_flags(r, n) & MTW_MODULE_AGENT))
		n = s->parent[n];
	while (n && (report_flags(r, n) & MTW_MODULE_LIBC)) {
		uint32_t l = s->location[n];

		for (uint32_t i = names->first[l]; i < names->first[l + 1]; i++) {
			entry = names->function[names->frames[i].function].function;
			if (entry && IS_ONE_OF(caches, entry))
				return true;
		}
		n = s->parent[n];
	}
	return n && entry && IS_ONE_OF(entries, entry);
}

bool runtime_keeps(const struct report *r, uint32_t stack)
{
	return report_emergency_pool(r, stack) || is_kept_by_libc(r, stack);
}
