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
	bool members;        /* ... of the innermost object or list in an element */
	char text[4096];     /* what an object has so far; */
	size_t len;          /* ... written where its list ends, or when it is full */
};

void stream_value(struct json_stream *s, const char *name, json_t *value_take);
void stream_list_begin(struct json_stream *s, const char *name);
void stream_element(struct json_stream *s, json_t *value_take);
void stream_list_end(struct json_stream *s);

/* An element, an object, that is written member by member: of lists of a million; stream_close()
 * ends it. Keys and texts are JSON as they are, texts with their quotes (report_json_line()). A
 * name of NULL: an element of the member that is a list. */
void stream_object_begin(struct json_stream *s);
void stream_number(struct json_stream *s, const char *name, uint64_t n);
void stream_flag(struct json_stream *s, const char *name, bool on);
void stream_text(struct json_stream *s, const char *name, const char *json);
/* A member that is an object or a list: '{' or '['; stream_close() takes the other half. */
void stream_open(struct json_stream *s, const char *name, char bracket);
void stream_close(struct json_stream *s, char bracket);

#endif
