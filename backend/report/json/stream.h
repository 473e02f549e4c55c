/* SPDX-License-Identifier: MIT
 *
 * stream.h - one JSON object, written key by key and element by element: a report of a million
 * stacks needs the memory of one. Main thread only.
 */
#ifndef REPORT_JSON_STREAM_H
#define REPORT_JSON_STREAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_stream {
	FILE *out;
	bool keys, elements; /* whether one was printed already: a comma is due */
	bool members;        /* ... of the object, or of its list of numbers */
};

void stream_value(struct json_stream *s, const char *name, json_t *value_take);
void stream_list_begin(struct json_stream *s, const char *name);
void stream_element(struct json_stream *s, json_t *value_take);
void stream_list_end(struct json_stream *s);

/* An element, an object, that is written member by member: of lists of a million. Keys and texts
 * are JSON as they are, texts with their quotes (report_json_line()). */
void stream_object_begin(struct json_stream *s);
void stream_number(struct json_stream *s, const char *name, uint64_t n);
void stream_flag(struct json_stream *s, const char *name, bool on);
void stream_text(struct json_stream *s, const char *name, const char *json);
/* Its last member, a list of numbers; then stream_numbers_end(), which ends the object, too. */
void stream_numbers_begin(struct json_stream *s, const char *name);
void stream_list_number(struct json_stream *s, uint64_t n);
void stream_numbers_end(struct json_stream *s);

#endif
