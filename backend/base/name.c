/* SPDX-License-Identifier: MIT */
#include "base/name.h"

#include "base/columns.h"
#include "base/sanitize.h"

#include <string.h>

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
static void collapse(char *buf, size_t size, const char *s)
{
	static const char word[] = "operator";
	size_t n = 0;

	while (*s && n + 8 < size) {
		const char *end = *s == '<' || *s == '(' ? group_end(s) : NULL;

		if (!strncmp(s, word, sizeof word - 1)) { /* its < and ( open nothing */
			size_t len = sizeof word - 1;
			len += !strncmp(s + len, "()", 2) ? 2 : strspn(s + len, "<>=-!+*/%^&|~[]");
			if (n + len + 8 >= size)
				break;
			memcpy(buf + n, s, len);
			n += len;
			s += len;
		} else if (end && !kept(s, end)) {
			n += (size_t)snprintf(buf + n, size - n, "%c...%c", *s, end[-1]);
			s = end;
		} else {
			buf[n++] = *s++;
		}
	}
	buf[n] = '\0';
}

const char *name_fit(char out[NAME_TEXT], const char *s, size_t columns, const char *dots)
{
	char clean[NAME_TEXT], plain[NAME_TEXT];

	sanitize_clean(clean, sizeof clean, s);
	if (columns_of(clean) <= columns)
		return strcpy(out, clean);
	collapse(plain, sizeof plain, clean);
	return columns_clip(out, NAME_TEXT, plain, columns, dots);
}
