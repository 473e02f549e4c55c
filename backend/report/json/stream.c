/* SPDX-License-Identifier: MIT */
#include "report/json/stream.h"

#include "base/format.h"
#include "report/json/values.h"

#include <string.h>

static void flush(struct json_stream *s)
{
	fwrite_unlocked(s->text, 1, s->len, s->out);
	s->len = 0;
}

static void put_bytes(struct json_stream *s, const char *text, size_t len)
{
	if (len > sizeof s->text - s->len)
		flush(s);
	if (len > sizeof s->text) {
		fwrite_unlocked(text, 1, len, s->out);
		return;
	}
	memcpy(s->text + s->len, text, len);
	s->len += len;
}

static void put(struct json_stream *s, const char *text)
{
	put_bytes(s, text, strlen(text));
}

static void put_char(struct json_stream *s, char c)
{
	put_bytes(s, &c, 1);
}

static void dump(struct json_stream *s, json_t *value_take)
{
	flush(s);
	report_json_put(s->out, value_take, JSON_COMPACT | JSON_REAL_PRECISION(15));
}

static void key(struct json_stream *s, const char *name)
{
	put(s, s->keys ? ",\n\"" : "\"");
	put(s, name);
	put(s, "\": ");
	s->keys = true;
}

void stream_value(struct json_stream *s, const char *name, json_t *value_take)
{
	key(s, name);
	dump(s, value_take);
}

void stream_list_begin(struct json_stream *s, const char *name)
{
	key(s, name);
	put_char(s, '[');
	s->elements = false;
}

void stream_element(struct json_stream *s, json_t *value_take)
{
	put(s, s->elements ? ",\n  " : "\n  ");
	s->elements = true;
	dump(s, value_take);
}

void stream_list_end(struct json_stream *s)
{
	put(s, s->elements ? "\n]" : "]");
	flush(s);
}

static void put_comma(struct json_stream *s)
{
	if (s->members)
		put_char(s, ',');
	s->members = true;
}

/* A counter of a hostile peer may exceed what a JSON integer holds; the others are positive. */
static void put_number(struct json_stream *s, uint64_t n)
{
	char buf[FORMAT_NUMBER];
	bool negative = n > INT64_MAX;

	if (negative)
		put_char(s, '-');
	put(s, format_digits(buf, negative ? -n : n));
}

static void put_member(struct json_stream *s, const char *name)
{
	put_comma(s);
	if (!name)
		return;
	put_char(s, '"');
	put(s, name);
	put(s, "\":");
}

void stream_object_begin(struct json_stream *s)
{
	put(s, s->elements ? ",\n  {" : "\n  {");
	s->elements = true;
	s->members = false;
}

void stream_number(struct json_stream *s, const char *name, uint64_t n)
{
	put_member(s, name);
	put_number(s, n);
}

void stream_flag(struct json_stream *s, const char *name, bool on)
{
	put_member(s, name);
	put(s, on ? "true" : "false");
}

void stream_text(struct json_stream *s, const char *name, const char *json)
{
	put_member(s, name);
	put(s, json);
}

void stream_open(struct json_stream *s, const char *name, char bracket)
{
	put_member(s, name);
	put_char(s, bracket);
	s->members = false;
}

void stream_close(struct json_stream *s, char bracket)
{
	put_char(s, bracket);
	s->members = true;
}
