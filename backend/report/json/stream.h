/* SPDX-License-Identifier: MIT
 *
 * stream.h - one JSON object, written key by key and element by element: a report of a million
 * stacks needs the memory of one. Main thread only.
 */
#ifndef REPORT_JSON_STREAM_H
#define REPORT_JSON_STREAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct json_stream {
	FILE *out;
	bool keys, elements; /* whether one was printed already: a comma is due */
};

void stream_value(struct json_stream *s, const char *name, json_t *value_take);
void stream_list_begin(struct json_stream *s, const char *name);
void stream_element(struct json_stream *s, json_t *value_take);
void stream_list_end(struct json_stream *s);

#endif
