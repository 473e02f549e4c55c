/* SPDX-License-Identifier: MIT
 *
 * pack.c - see report/html/pack.h. A writer of its own, and no tree of values: the columns of
 * a large report have millions of numbers.
 */
#include "report/html/pack.h"

#include "base/format.h"
#include "base/sanitize.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LEVEL 4 /* 6 takes twice as long for the whole page and saves 7 % */

struct pack {
	FILE *out;
	z_stream z;
	bool due; /* a comma, before the next value */
	unsigned char text[1 << 16], packed[3 << 14];
	size_t text_len;
	unsigned char left[3]; /* bytes that do not fill four characters yet */
	size_t left_len;
};

static void put_four(struct pack *p)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *b = p->left;
	char four[4] = { digits[b[0] >> 2], digits[(b[0] & 3) << 4 | b[1] >> 4], '=', '=' };

	if (p->left_len > 1)
		four[2] = digits[(b[1] & 15) << 2 | b[2] >> 6];
	if (p->left_len > 2)
		four[3] = digits[b[2] & 63];
	fwrite(four, 1, sizeof four, p->out);
	memset(p->left, 0, sizeof p->left);
	p->left_len = 0;
}

static void put_packed(struct pack *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		p->left[p->left_len++] = p->packed[i];
		if (p->left_len == sizeof p->left)
			put_four(p);
	}
}

static void deflate_text(struct pack *p, int how)
{
	p->z.next_in = p->text;
	p->z.avail_in = (uInt)p->text_len;
	do {
		p->z.next_out = p->packed;
		p->z.avail_out = sizeof p->packed;
		deflate(&p->z, how);
		put_packed(p, sizeof p->packed - p->z.avail_out);
	} while (!p->z.avail_out);
	p->text_len = 0;
}

static void put(struct pack *p, const char *s, size_t len)
{
	while (len) {
		size_t room = sizeof p->text - p->text_len, n = len < room ? len : room;

		memcpy(p->text + p->text_len, s, n);
		p->text_len += n;
		s += n;
		len -= n;
		if (p->text_len == sizeof p->text)
			deflate_text(p, Z_NO_FLUSH);
	}
}

struct pack *pack_new(FILE *out)
{
	struct pack *p = xcalloc(1, sizeof *p);

	p->out = out;
	if (deflateInit(&p->z, LEVEL) != Z_OK)
		base_out_of_memory();
	return p;
}

void pack_end(struct pack *p)
{
	deflate_text(p, Z_FINISH);
	if (p->left_len)
		put_four(p);
	deflateEnd(&p->z);
	free(p);
}

static void begin_value(struct pack *p)
{
	if (p->due)
		put(p, ",", 1);
	p->due = true;
}

void pack_open(struct pack *p, char bracket)
{
	begin_value(p);
	put(p, &bracket, 1);
	p->due = false;
}

void pack_close(struct pack *p, char bracket)
{
	put(p, &bracket, 1);
	p->due = true;
}

void pack_key(struct pack *p, const char *key)
{
	begin_value(p);
	put(p, "\"", 1);
	put(p, key, strlen(key));
	put(p, "\":", 2);
	p->due = false;
}

static void put_char(struct pack *p, const char *s, size_t len, int32_t cp)
{
	if (cp == FOREIGN_HIDDEN)
		return;
	if (cp == FOREIGN_BAD)
		put(p, "?", 1);
	else if (cp == '\t')
		put(p, "\\t", 2);
	else if (cp == '"' || cp == '\\')
		put(p, cp == '"' ? "\\\"" : "\\\\", 2);
	else
		put(p, s, len);
}

void pack_text(struct pack *p, const char *s)
{
	if (!s) {
		pack_null(p);
		return;
	}
	begin_value(p);
	put(p, "\"", 1);
	while (*s) {
		int32_t cp;
		size_t len = sanitize_char(s, &cp);

		put_char(p, s, len, cp);
		s += len;
	}
	put(p, "\"", 1);
}

static void put_plain(struct pack *p, const char *text, int len)
{
	begin_value(p);
	put(p, text, (size_t)len);
}

void pack_size(struct pack *p, uint64_t n)
{
	char buf[FORMAT_NUMBER];
	const char *digits = format_digits(buf, n);

	put_plain(p, digits, (int)(buf + sizeof buf - 1 - digits));
}

void pack_number(struct pack *p, int64_t n)
{
	if (n < 0) {
		begin_value(p);
		put(p, "-", 1);
		p->due = false;
	}
	pack_size(p, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

void pack_real(struct pack *p, double n)
{
	char text[64];

	put_plain(p, text,
		  snprintf(text, sizeof text, n == (double)(int64_t)n ? "%.0f" : "%.3f", n));
}

void pack_seconds(struct pack *p, uint64_t ns)
{
	char text[48];

	put_plain(p, text,
		  snprintf(text, sizeof text, "%" PRIu64 ".%03u", ns / 1000000000,
			   (unsigned)(ns / 1000000 % 1000)));
}

void pack_flag(struct pack *p, bool on)
{
	put_plain(p, on ? "1" : "0", 1);
}

void pack_null(struct pack *p)
{
	put_plain(p, "null", 4);
}
