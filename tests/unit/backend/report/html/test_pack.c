/* SPDX-License-Identifier: MIT
 *
 * test_html_pack.c - JSON into a page: commas, escapes, base64's ends, more than one buffer.
 */
#include "check.h"
#include "report/html/pack.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static char packed[1 << 20], text[1 << 22];

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = strchr(digits, c);

	return at && c ? (int)(at - digits) : -1;
}

/* The text that the page would read. */
static const char *unpacked(const char *base64)
{
	size_t len = strlen(base64), n = 0;
	unsigned char *bytes = xcalloc(len + 4, 1);
	uLongf size = sizeof text - 1;

	CHECK_EQ(len % 4, 0);
	for (size_t i = 0; i < len && base64[i] != '='; i++) {
		int d = digit(base64[i]);

		CHECK(d >= 0);
		for (unsigned bit = 0; bit < 6; bit++, n++)
			bytes[n / 8] |= (unsigned char)((d >> (5 - bit) & 1) << (7 - n % 8));
	}
	CHECK_EQ(uncompress((Bytef *)text, &size, bytes, n / 8), Z_OK);
	text[size] = '\0';
	free(bytes);
	return text;
}

static const char *written(void (*fn)(struct pack *))
{
	FILE *out = fmemopen(packed, sizeof packed, "w");
	struct pack *p = pack_new(out);

	fn(p);
	pack_end(p);
	fclose(out);
	return unpacked(packed);
}

static void nested(struct pack *p)
{
	pack_open(p, '{');
	pack_key(p, "a");
	pack_open(p, '[');
	pack_number(p, -3);
	pack_size(p, UINT64_MAX);
	pack_open(p, '[');
	pack_close(p, ']');
	pack_flag(p, true);
	pack_close(p, ']');
	pack_key(p, "b");
	pack_null(p);
	pack_key(p, "c");
	pack_seconds(p, 1234567890);
	pack_close(p, '}');
}

TEST(values_have_commas_between_them)
{
	CHECK_STR(written(nested), "{\"a\":[-3,18446744073709551615,[],1],\"b\":null,\"c\":1.234}");
}

static void foreign(struct pack *p)
{
	pack_open(p, '[');
	pack_text(p, "a\"b\\c\td");
	pack_text(p, "</script>");
	pack_text(p, "\x1b[31m\xff\n");
	pack_text(p, "\xe2\x80\xae"
		     "gnp");
	pack_text(p, NULL);
	pack_close(p, ']');
}

TEST(foreign_text_is_cleaned_and_escaped)
{
	CHECK_STR(written(foreign), "[\"a\\\"b\\\\c\\td\",\"</script>\",\"?[31m??\",\"gnp\",null]");
}

static unsigned length;

static void of_length(struct pack *p)
{
	pack_open(p, '[');
	for (unsigned i = 0; i < length; i++)
		pack_number(p, i * 2654435761u % 1000);
	pack_close(p, ']');
}

TEST(every_length_ends_well)
{
	for (length = 0; length < 300; length++)
		CHECK_EQ(strlen(written(of_length)) > length, 1);
	length = 300000;
	const char *all = written(of_length);
	CHECK_EQ(all[0], '[');
	CHECK_STR(strrchr(all, ','), ",175]");
}
