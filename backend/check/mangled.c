/* SPDX-License-Identifier: MIT
 *
 * mangled.c - the begin of a mangled name, `_ZN3Foo3bar*`, against a demangled one. It is a path of
 * whole names, so it is compared name by name with what the demangled one is called: no mangled
 * names are kept. What else decides (const, how many names there are, a function of its own inside
 * of another) is read from the demangled name, too.
 *
 *   _Z [N [K]] [St] { length name } [I] *        the last name may end early
 */
#include "check/rules.h"

#include "base/name.h"
#include "owners/wrappers.h"

#include <stdlib.h>
#include <string.h>

#define ANONYMOUS "(anonymous namespace)"

/* The end of what `open` opens, behind its bracket; the end of the text if nothing closes it. */
static const char *closed(const char *at, char open, char close)
{
	int depth = 0;

	for (; *at; at++) {
		depth += *at == open;
		if (*at == close && (close != '>' || at[-1] != '-') && !--depth)
			return at + 1;
	}
	return at;
}

/* Where the name at `at` ends: at its template arguments, its parameters, or the next name. */
static const char *name_end(const char *at)
{
	if (!strncmp(at, ANONYMOUS, strlen(ANONYMOUS)))
		return at + strlen(ANONYMOUS);
	if (!strncmp(at, "operator()", 10))
		return at + 10;
	if (!strncmp(at, "operator", 8))
		return at + strcspn(at + 8, "(") + 8;
	return at + strcspn(at, "<([:");
}

/* Behind its template arguments and tags. */
static const char *arguments_end(const char *at)
{
	if (*at == '<')
		at = closed(at, '<', '>');
	while (*at == '[')
		at = closed(at, '[', ']');
	return at;
}

/* How many names; *rest: what follows the last one, the parameters. */
static size_t count_names(const char *at, const char **rest)
{
	size_t n = 1;

	for (at = arguments_end(name_end(at)); !strncmp(at, "::", 2); n++)
		at = arguments_end(name_end(at + 2));
	*rest = at;
	return n;
}

struct mangled { /* a pattern, while it is read */
	const char *at;
	bool nested, is_const, std;
};

static bool begins(struct mangled *m, const char *pattern)
{
	if (strncmp(pattern, "_Z", 2))
		return false;
	m->at = pattern + 2;
	m->nested = *m->at == 'N';
	m->at += m->nested;
	m->is_const = m->nested && *m->at == 'K';
	m->at += m->is_const;
	m->std = !strncmp(m->at, "St", 2);
	m->at += m->std ? 2 : 0;
	return true;
}

/* The next name: its length, and how many of its bytes the pattern has. False: there is none. */
static bool next_name(struct mangled *m, const char **name, size_t *given, size_t *length)
{
	char *end;

	if (*m->at < '1' || *m->at > '9')
		return false;
	*length = strtoul(m->at, &end, 10);
	*name = end;
	*given = strcspn(end, "*?");
	*given = *given < *length ? *given : *length;
	m->at = end + *given;
	return true;
}

bool mangled_prefix(const char *pattern)
{
	struct mangled m;
	const char *name;
	size_t given = 1, length = 1;

	if (!begins(&m, pattern))
		return false;
	bool named = m.std && m.nested;
	for (; given == length && next_name(&m, &name, &given, &length); named = true)
		;
	/* of a number, more digits may follow */
	return named && given && !strcmp(m.at + (given == length && *m.at == 'I'), "*");
}

/* The names of std that have an abbreviation: Sa, Sb, Ss, Si, So, Sd. */
static bool is_abbreviated(const char *at)
{
	static const char *const names[] = { "allocator", "basic_string", "string",
					     "istream",   "ostream",      "iostream" };
	size_t len = (size_t)(name_end(at) - at);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == len && !memcmp(names[i], at, len))
			return true;
	return false;
}

static bool is_name(const char *at, const char *name, size_t given, size_t length)
{
	size_t own = (size_t)(name_end(at) - at);

	if (own == strlen(ANONYMOUS) && *at == '(') {
		at = "_GLOBAL__N_1";
		own = strlen(at);
	}
	return own == length && !memcmp(at, name, given);
}

bool mangled_matches(const char *pattern, const char *function)
{
	const char *at = name_qualified(function), *rest, *name;
	size_t names = count_names(at, &rest), given, length, seen = 0;
	struct mangled m;

	if (*rest != '(' || strstr(function, " thunk to ") ||
	    strstr(function, "transaction clone ") || !begins(&m, pattern))
		return false; /* C, data, or it has a mangling of its own */
	rest = closed(rest, '(', ')');
	if (m.is_const != !strncmp(rest, " const", 6))
		return false;
	if (strstr(rest, "::") || strstr(rest, " &"))
		return false; /* inside of that function; ref-qualified */
	if (m.std && (strncmp(at, "std::", 5) || is_abbreviated(at + 5)))
		return false;
	at += m.std ? 5 : 0;
	if (m.nested != (names - m.std > 1))
		return false;
	for (; next_name(&m, &name, &given, &length); seen++) {
		if (seen && (at[0] != ':' || at[1] != ':'))
			return false;
		at += seen ? 2 : 0;
		if (!is_name(at, name, given, length))
			return false;
		at = name_end(at);
	}
	return *m.at != 'I' || *at == '<';
}
