/* SPDX-License-Identifier: MIT */
#include "report/json/stream.h"

#include "report/json/values.h"

static void dump(struct json_stream *s, json_t *value_take)
{
	report_json_put(s->out, value_take, JSON_COMPACT | JSON_REAL_PRECISION(15));
}

static void key(struct json_stream *s, const char *name)
{
	fprintf(s->out, "%s\"%s\": ", s->keys ? ",\n" : "", name);
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
	fputc('[', s->out);
	s->elements = false;
}

void stream_element(struct json_stream *s, json_t *value_take)
{
	fputs(s->elements ? ",\n  " : "\n  ", s->out);
	s->elements = true;
	dump(s, value_take);
}

void stream_list_end(struct json_stream *s)
{
	fputs(s->elements ? "\n]" : "]", s->out);
}
