/* SPDX-License-Identifier: MIT
 *
 * formats.c - the formats of a report. A new format is one file, which defines its struct
 * report_format as report_NAME, and one line here.
 */
#include "report/formats/formats.h"

#include "base/listing.h"

#include <string.h>

#define FORMATS(F)                                                                                 \
	F(text)                                                                                    \
	F(json)                                                                                    \
	F(html)                                                                                    \
	F(folded)                                                                                  \
	F(pprof)                                                                                   \
	F(speedscope)                                                                              \
	F(csv)                                                                                     \
	F(massif)                                                                                  \
	F(dot)                                                                                     \
	F(heaptrack)

#define DECLARE(name) extern const struct report_format report_##name;
#define LIST(name) &report_##name,
FORMATS(DECLARE)

static const struct report_format *const formats[] = { FORMATS(LIST) NULL };

const struct report_format *formats_at(size_t i)
{
	return i < sizeof formats / sizeof *formats ? formats[i] : NULL;
}

const struct report_format *formats_by_name(const char *name)
{
	for (const struct report_format *const *f = formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

/* The longest ending decides: a.speedscope.json is no plain .json. */
const struct report_format *formats_by_path(const char *path)
{
	const struct report_format *found = NULL;
	size_t len = strlen(path), longest = 0;

	for (const struct report_format *const *f = formats; *f; f++) {
		size_t end = strlen((*f)->ending);

		if (len > end && end > longest && !strcmp(path + len - end, (*f)->ending)) {
			found = *f;
			longest = end;
		}
	}
	return found;
}

void formats_list(FILE *out)
{
	static const struct listing_column columns[] = { { NULL, LISTING_LEFT, 11, 2 },
							 { NULL, LISTING_LEFT, 16, 1 },
							 { NULL, LISTING_LEFT, 0, 1 } };
	struct listing *t = listing_new(columns, 3, 0);

	for (const struct report_format *const *f = formats; *f; f++) {
		listing_row(t);
		listing_put(t, (*f)->name);
		listing_put(t, (*f)->ending);
		listing_put(t, (*f)->about);
	}
	listing_end(t, out);
}

const char *formats_endings(char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (const struct report_format *const *f = formats; *f && len < size; f++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s",
					f == formats ? ""
					: f[1]       ? ", "
						     : " or ",
					(*f)->ending);
	return buf;
}
