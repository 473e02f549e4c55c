/* SPDX-License-Identifier: MIT
 *
 * test_stream.c - what is written member by member is what jansson reads, and writes itself.
 */
#include "check.h"

#include "report/json/stream.h"
#include "report/json/values.h"

static void put_list(struct json_stream *s)
{
	char *text = report_json_line(report_json_text("a \"b\"\n\\ \xff"));

	stream_list_begin(s, "list");
	for (int i = 0; i < 2; i++) {
		stream_object_begin(s);
		stream_number(s, "most", INT64_MAX);
		stream_number(s, "wrapped", UINT64_MAX - 4095);
		stream_number(s, "least", (uint64_t)INT64_MIN);
		stream_flag(s, "on", i != 0);
		stream_text(s, "text", text);
		stream_open(s, "numbers", '[');
		for (uint64_t k = 0; k < 1000 * (uint64_t)i; k += 333)
			stream_number(s, NULL, k);
		stream_close(s, ']');
		stream_close(s, '}');
	}
	stream_list_end(s);
	free(text);
}

static json_t *element(bool on)
{
	json_t *numbers = json_array();

	for (int k = 0; on && k < 1000; k += 333)
		json_array_append_new(numbers, json_integer(k));
	return json_pack("{s:I,s:I,s:I,s:b,s:s,s:o}", "most", (json_int_t)INT64_MAX, "wrapped",
			 (json_int_t)-4096, "least", (json_int_t)INT64_MIN, "on", on, "text",
			 "a \"b\"\n\\ \\xff", "numbers", numbers);
}

TEST(members_are_what_jansson_writes)
{
	char *text = NULL, *own;
	size_t size;
	struct json_stream s = { .out = open_memstream(&text, &size) };

	fputs("{\n", s.out);
	stream_value(&s, "before", json_integer(1));
	put_list(&s);
	stream_value(&s, "behind", json_null());
	fputs("\n}\n", s.out);
	fclose(s.out);
	json_t *whole = json_loads(text, 0, NULL), *list = json_object_get(whole, "list");
	CHECK(list);
	CHECK_EQ(json_array_size(list), 2);
	for (unsigned i = 0; i < 2; i++) {
		json_t *want = element(i != 0);
		CHECK(json_equal(json_array_get(list, i), want));
		own = report_json_line(want);
		CHECK(strstr(text, own)); /* byte by byte */
		free(own);
	}
	CHECK(json_is_null(json_object_get(whole, "behind")));
	json_decref(whole);
	free(text);
}
