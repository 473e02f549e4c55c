/* SPDX-License-Identifier: MIT */
#include "diff/plain.h"

#include "base/base.h"
#include <memtop/wire.h>

#include <ctype.h>
#include <string.h>

/* What GCC and LLVM put behind a function's name, for copies that they specialise or split off. */
static const char *const suffixes[] = { "isra",   "constprop",   "part",  "cold",
					"llvm",   "lto_priv",    "clone", "localalias",
					"__uniq", "specialized", NULL };

static size_t word_at(const char *s)
{
	for (const char *const *w = suffixes; *w; w++) {
		size_t n = strlen(*w);
		if (!strncmp(s, *w, n) && !isalpha((unsigned char)s[n]) && s[n] != '_')
			return n;
	}
	return 0;
}

/* Where the suffixes begin: each is a known word, or a number behind one. */
static size_t length_without_suffixes(const char *s)
{
	const char *dot = strchr(s, '.');

	for (; dot; dot = strchr(dot + 1, '.'))
		if (dot > s && word_at(dot + 1))
			return (size_t)(dot - s);
	return strlen(s);
}

/* "::h" and 16 digits end a Rust function's name. */
static size_t without_hash(const char *s, size_t len)
{
	const char *h = s + len - 19;

	if (len <= 19 || strncmp(h, "::h", 3))
		return len;
	for (size_t i = 3; i < 19; i++)
		if (!isdigit((unsigned char)h[i]) && (h[i] < 'a' || h[i] > 'f'))
			return len;
	return len - 19;
}

char *plain_function(const char *full)
{
	const char *clone = strstr(full, " [clone ");

	if (clone)
		return xstrndup(full, (size_t)(clone - full));
	return xstrndup(full, without_hash(full, length_without_suffixes(full)));
}

char *plain_module(const char *name, uint32_t flags)
{
	const char *so = strstr(name, ".so");

	if (flags & MTW_MODULE_MAIN)
		return xstrdup("[main program]");
	if (flags & MTW_MODULE_AGENT)
		return xstrdup("[agent]");
	while (so && so[3] && so[3] != '.')
		so = strstr(so + 1, ".so");
	return so ? xstrndup(name, (size_t)(so + 3 - name)) : xstrdup(name);
}
