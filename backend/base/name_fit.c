/* SPDX-License-Identifier: MIT
 *
 * name_fit.c - names in the columns that there are, and the names of a screen told apart. See
 * base/name.h.
 */
#include "base/name_parts.h"

#include "base/columns.h"
#include "base/sanitize.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS 3 /* of a number behind a name, to begin with */
#define DIGITS_MOST 16

/* The end of a group that begins at s, with its last character; NULL: it has none. */
static const char *group_end(const char *s)
{
	int depth = 0;

	for (const char *at = s; *at; at++) {
		if (strchr("<(", *at))
			depth++;
		else if (strchr(">)", *at) && (at == s || at[-1] != '-') && !--depth)
			return at + 1;
	}
	return NULL;
}

/* Is what stands in this group a part of the name itself? */
static bool kept(const char *s, const char *end)
{
	return end - s <= 5 || !strncmp(s, "(anonymous", 10);
}

/* "std::map<...>::operator[](...)": what template arguments and parameters leave. */
static char *collapse(const char *s)
{
	static const char word[] = "operator";
	char *buf = xmalloc(strlen(s) + 1); /* "<...>" is shorter than what it stands for */
	size_t n = 0;

	while (*s) {
		bool opens = *s == '<' || *s == '(';
		const char *end = opens ? group_end(s) : NULL;

		if (!strncmp(s, word, sizeof word - 1)) { /* its < and ( open nothing */
			size_t len = sizeof word - 1;
			len += !strncmp(s + len, "()", 2) ? 2 : strspn(s + len, "<>=-!+*/%^&|~[]");
			memcpy(buf + n, s, len);
			n += len;
			s += len;
		} else if (end && !kept(s, end) && !(n && s[-1] == '.')) { /* Go: (*conn) */
			n += (size_t)sprintf(buf + n, "%c...%c", *s, end[-1]);
			s = end;
		} else if (opens && !end && strlen(s) > 5) { /* of a name that was cut */
			n += (size_t)sprintf(buf + n, "%c...", *s);
			break;
		} else {
			buf[n++] = *s++;
		}
	}
	buf[n] = '\0';
	return buf;
}

/* The parts of a name between "::", or of a path of Go between its slashes. Those that tell
 * nothing alone ("{lambda#1}", "operator()") belong to the one before. */
#define PARTS_MOST 32
struct parts {
	const char *begin[PARTS_MOST]; /* innermost last */
	size_t count;
	bool path;
};

static bool tells_nothing(const char *s)
{
	return *s == '{' || !strncmp(s, "operator()", 10) || !strncmp(s, "(anonymous", 10);
}

static void add_part(struct parts *p, const char *s)
{
	if (p->count && tells_nothing(s))
		return;
	if (p->count == PARTS_MOST)
		memmove(p->begin, p->begin + 1, --p->count * sizeof *p->begin);
	p->begin[p->count++] = s;
}

static void split(struct parts *p, const char *s)
{
	const char *end = s + strlen(s);

	p->count = 0;
	p->path = !strstr(s, "::");
	add_part(p, s);
	while (s < end) {
		if (!strncmp(s, "operator", 8)) {
			s += 8 + strspn(s + 8, "<>=-!+*/%^&|~[]()");
		} else if (strchr("<({[", *s)) {
			s = name_skip(s, end);
		} else if (!p->path && !strncmp(s, "::", 2)) {
			add_part(p, s += 2);
		} else if (p->path && *s == '/' && s[1]) {
			add_part(p, ++s);
		} else {
			s++;
		}
	}
}

static char *clip(const char *s, size_t columns, const char *dots)
{
	size_t size = strlen(s) + strlen(dots) + 1;
	char *buf = xmalloc(size);

	columns_clip(buf, size, s, columns, dots);
	return buf;
}

/* A form of a function's name: without outer namespaces, with the class cut, the function cut. */
static char *narrow(const char *form, size_t columns, const char *dots)
{
	struct parts p;

	split(&p, form);
	const char *last = p.begin[p.count - 1];
	for (size_t i = 0; i + 1 < p.count; i++)
		if (columns_of(p.begin[i]) <= columns)
			return xstrdup(p.begin[i]);
	size_t taken = columns_of(last);
	if (p.count < 2 || p.path || taken + columns_of(dots) + 3 > columns)
		return clip(last, columns, dots);
	const char *begin = p.begin[p.count - 2];
	char *class = xstrndup(begin, (size_t)(last - begin));
	char *brief = clip(class, columns - taken, dots), *out = xasprintf("%s%s", brief, last);
	free(class);
	free(brief);
	return out;
}

/* A script's name has a path behind its function, and other names have no brackets to cut. */
static bool is_plain(const char *name)
{
	return (strchr(name, '/') && strchr(name, ' ')) ||
	       (!strstr(name, "::") && !strpbrk(name, "(<[/"));
}

static char *cleaned(const char *s)
{
	size_t size = strlen(s) + 1;

	return sanitize_clean(xmalloc(size), size, s);
}

static char *fit(const char *clean, size_t columns, const char *dots)
{
	char *less, *out;

	if (columns_of(clean) <= columns || is_plain(clean))
		return clip(clean, columns, dots);
	/* Rust's "<Vec<T> as Drop>::drop" is nothing without its brackets. */
	less = *clean == '<' ? name_brief(clean) : collapse(clean);
	if (columns_of(less) <= columns)
		return less;
	free(less);
	less = name_brief(clean);
	out = narrow(less, columns, dots);
	free(less);
	return out;
}

char *name_fit(const char *s, size_t columns, const char *dots)
{
	char *clean = cleaned(s), *out = fit(clean, columns, dots);

	free(clean);
	return out;
}

/* What tells functions apart, the least first. */
static const unsigned forms[] = {
	NAME_VERSION,
	NAME_ARGUMENTS,
	NAME_PARAMETERS,
	NAME_ARGUMENTS | NAME_PARAMETERS,
	NAME_ARGUMENTS | NAME_PARAMETERS | NAME_VERSION,
	NAME_ARGUMENTS | NAME_NESTED,
	NAME_PARAMETERS | NAME_NESTED,
	NAME_ARGUMENTS | NAME_PARAMETERS | NAME_VERSION | NAME_NESTED,
	NAME_ARGUMENTS | NAME_PARAMETERS | NAME_VERSION | NAME_RAW,
};
#define FORMS (sizeof forms / sizeof *forms)

static const char *identity(const struct name_item *n)
{
	return n->full ? n->full : n->name;
}

static int by_text(const void *a, const void *b)
{
	const struct name_item *x = *(struct name_item *const *)a,
			       *y = *(struct name_item *const *)b;
	int order = strcmp(x->text, y->text);

	return order ? order : strcmp(identity(x), identity(y));
}

/* Two functions of a sorted list have one text. */
static bool alike(const struct name_item *a, const struct name_item *b)
{
	return !strcmp(a->text, b->text) && strcmp(identity(a), identity(b)) != 0;
}

static bool any_alike(struct name_item **list, size_t n)
{
	qsort(list, n, sizeof *list, by_text);
	for (size_t i = 1; i < n; i++)
		if (alike(list[i - 1], list[i]))
			return true;
	return false;
}

static void take_text(struct name_item *n, char *text)
{
	free(n->text);
	n->text = text;
}

/* The name in this form; past the last one, with its middle cut and its namespaces kept. */
static void set_form(struct name_item *n, size_t form, const char *dots)
{
	char *clean = cleaned(identity(n));
	bool plain = n->other || is_plain(clean);
	char *text = plain           ? xstrdup(clean)
		     : form < FORMS  ? name_form(clean, forms[form])
		     : form == FORMS ? name_brief(clean)
				     : name_form(clean, forms[FORMS - 1]);

	if (columns_of(text) <= n->columns || form >= FORMS || plain)
		take_text(n, clip(text, n->columns, dots));
	else
		take_text(n, narrow(text, n->columns, dots));
	free(text);
	free(clean);
}

static void tell_apart(struct name_item **list, size_t n, const char *dots)
{
	for (size_t form = 0; form < FORMS + 2; form++) {
		for (size_t i = 0; i < n; i++)
			set_form(list[i], form, dots);
		if (!any_alike(list, n))
			return;
	}
}

/* "push_back#3f2": the same function has the same number on each screen. */
static void set_number(struct name_item *n, unsigned digits, const char *dots)
{
	uint64_t hash = 0xcbf29ce484222325u;
	char number[DIGITS_MOST + 2], *clean = cleaned(n->name), *brief;
	size_t room = n->columns > digits + 1u ? n->columns - digits - 1 : 0;

	for (const char *s = identity(n); *s; s++)
		hash = (hash ^ (unsigned char)*s) * 0x100000001b3u;
	hash ^= hash >> 32;
	snprintf(number, sizeof number, "#%016llx", (unsigned long long)hash);
	number[1 + digits] = '\0';
	brief = n->other ? clip(clean, room, dots) : fit(clean, room, dots);
	take_text(n, xasprintf("%s%s", brief, number));
	free(brief);
	free(clean);
}

/* Numbers behind the names that still read the same, longer ones until none do. */
static void number_rest(struct name_item **list, size_t n, const char *dots)
{
	bool *same = xcalloc(n + 1, sizeof *same);

	for (unsigned digits = DIGITS; digits <= DIGITS_MOST && any_alike(list, n); digits++) {
		memset(same, 0, n * sizeof *same);
		for (size_t i = 1; i < n; i++)
			if (alike(list[i - 1], list[i]))
				same[i - 1] = same[i] = true;
		for (size_t i = 0; i < n; i++)
			if (same[i])
				set_number(list[i], digits, dots);
	}
	free(same);
}

void names_fit(struct name_item *list, size_t count, const char *dots)
{
	struct name_item **order = xcalloc(count + 1, sizeof(*order));

	for (size_t i = 0; i < count; i++) {
		char *clean = cleaned(list[i].name);

		order[i] = &list[i];
		list[i].text = list[i].other ? clip(clean, list[i].columns, dots)
					     : fit(clean, list[i].columns, dots);
		free(clean);
	}
	if (any_alike(order, count)) {
		for (size_t i = 0, end; i < count; i = end) {
			const char *text = order[i]->text;
			for (end = i + 1; end < count && !strcmp(order[end]->text, text);)
				end++;
			if (strcmp(identity(order[i]), identity(order[end - 1])) != 0)
				tell_apart(order + i, end - i, dots);
		}
		number_rest(order, count, dots);
	}
	free(order);
}

void names_release(struct name_item *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].text);
}
