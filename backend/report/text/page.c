/* SPDX-License-Identifier: MIT */
#include "report/text/page.h"

#include "base/columns.h"
#include "base/name.h"
#include "base/sanitize.h"

#include <stdlib.h>
#include <string.h>

void page_put(FILE *out, const char *s)
{
	sanitize_put(out, s, strlen(s));
}

void page_name(const struct page *p, FILE *out, const char *s, size_t columns)
{
	char *name = p->options->full ? NULL : name_fit(s, columns, "...");

	if (name)
		fputs(name, out);
	else
		page_put(out, s);
	free(name);
}

void page_title(const struct page *p, const char *text)
{
	fprintf(p->out, "\n%s\n", text);
}

const char *page_bytes(char buf[FORMAT_NUMBER], uint64_t bytes, bool estimate)
{
	char plain[FORMAT_NUMBER];

	snprintf(buf, FORMAT_NUMBER, "%s%.30s", bytes && estimate ? "~" : "",
		 format_bytes(plain, bytes));
	return buf;
}

const char *page_count(char buf[FORMAT_NUMBER], uint64_t n, bool estimate)
{
	char plain[FORMAT_NUMBER];

	snprintf(buf, FORMAT_NUMBER, "%s%.30s", n && estimate ? "~" : "", format_count(plain, n));
	return buf;
}

const char *page_signed(char buf[FORMAT_NUMBER], int64_t bytes, bool estimate)
{
	char plain[FORMAT_NUMBER];

	snprintf(buf, FORMAT_NUMBER, "%s%.30s", bytes && estimate ? "~" : "",
		 format_signed(plain, bytes));
	return buf;
}

const char *page_blocks(uint64_t count)
{
	return count == 1 ? "block" : "blocks";
}

struct listing *page_listing(const struct page *p, const char *const title[4], bool holders)
{
	struct listing_column list[5];
	size_t n = 0;

	list[n++] = (struct listing_column){ title[0], LISTING_RIGHT, 10, 0 };
	list[n++] = (struct listing_column){ title[1], LISTING_RIGHT, 9, 2 };
	list[n++] = (struct listing_column){ title[2], LISTING_RIGHT, 11, 1 };
	if (holders && p->holders.all)
		list[n++] = (struct listing_column){ "PROCS", LISTING_RIGHT, 5, 3 };
	list[n] = (struct listing_column){ title[3], LISTING_LEFT, 0, n == 3 ? 3 : 2 };
	return listing_new(list, n + 1, p->options->full ? 0 : COLUMNS_OF_TEXT);
}

void page_amounts(struct listing *t, const struct tally *sum, bool estimate)
{
	char n[FORMAT_NUMBER];

	listing_put(t, page_bytes(n, live_bytes(sum), estimate));
	listing_put(t, page_count(n, live_blocks(sum), estimate));
	listing_put(t, page_bytes(n, sum->alloc_bytes, estimate));
}

static void put_more(const struct page *p, struct listing *t, const char *first, const char *dots,
		     size_t count, const char *what)
{
	char n[FORMAT_NUMBER];

	listing_row(t);
	listing_put(t, first);
	listing_put(t, "");
	listing_put(t, dots);
	if (p->holders.all)
		listing_put(t, "");
	fprintf(listing_cell(t), "%s more %s", format_count(n, count), what);
}

void page_rest(const struct page *p, struct listing *t, size_t count, const struct more *m,
	       const char *what)
{
	char n[FORMAT_NUMBER];

	if (count)
		put_more(p, t, page_bytes(n, m->bytes, m->estimate), "...", count, what);
}

void page_empty(const struct page *p, struct listing *t, size_t count)
{
	if (count)
		put_more(p, t, "0", "", count, "without memory");
}
