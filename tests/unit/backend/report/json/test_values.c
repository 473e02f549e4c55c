/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "report/json/values.h"

#include <stdlib.h>
#include <string.h>

static const char *line(const char *text)
{
	return report_json_line(report_json_text(text));
}

TEST(controls_and_directions_are_escaped)
{
	CHECK_STR(line("a\x1b[1m\x7f"), "\"a\\u001B[1m\\u007F\"");
	CHECK_STR(line("a\xc2\x9b"
		       "1m"),
		  "\"a\\u009B1m\""); /* CSI of C1 */
	CHECK_STR(line("a\xe2\x80\xae"
		       "b\xe2\x81\xa9"),
		  "\"a\\u202Eb\\u2069\"");                         /* bidi */
	CHECK_STR(line("\xf3\xa0\x81\x81"), "\"\\uDB40\\uDC41\""); /* a tag: two units */
}

TEST(text_stays_readable)
{
	CHECK_STR(line("\xc3\xa9 \xe8\xa1\xa8 \xf0\x9f\x98\x80"),
		  "\"\xc3\xa9 \xe8\xa1\xa8 \xf0\x9f\x98\x80\"");
	CHECK_STR(line("a\"b\\"), "\"a\\\"b\\\\\"");
}

TEST(a_reader_gets_the_same_text)
{
	static const char text[] = "a\x7f\xc2\x85\xe2\x80\xae\xf3\xa0\x81\x81\xef\xbb\xbf";
	json_t *back = json_loads(line(text), JSON_DECODE_ANY, NULL);

	CHECK_STR(json_string_value(back), text);
}
