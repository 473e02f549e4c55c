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
#include "check/internal.h"

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

static uint32_t flags_of(const struct judging *j, const struct node *n)
{
	const struct module *k = model_module(j->model, model_place(j->model, n)->module);

	return k ? k->flags : 0;
}

static bool is_kept_by_libc(const struct judging *j, const struct report_stack *s)
{
	const struct node *n = model_node(j->model, s->leaf);
	const char *entry = NULL;

	while (n->parent != NO_ID && (flags_of(j, n) & MTW_MODULE_AGENT))
		n = model_dense(j->model, n->parent, NULL);
	while (n->parent != NO_ID && (flags_of(j, n) & MTW_MODULE_LIBC)) {
		const struct symbol *name = symbols_of_location(j->report->symbols, n->location);

		for (uint32_t i = 0; i < name->count; i++) {
			entry = name->frames[i].function;
			if (entry && IS_ONE_OF(caches, entry))
				return true;
		}
		n = model_dense(j->model, n->parent, NULL);
	}
	return n->parent != NO_ID && entry && IS_ONE_OF(entries, entry);
}

bool runtime_keeps(const struct judging *j, const struct report_stack *s)
{
	return report_emergency_pool(j->report, s) || is_kept_by_libc(j, s);
}
