/* SPDX-License-Identifier: MIT
 *
 * protocol.c - see mcp/protocol.h: requests, notifications, errors; the tools are in mcp/tools.c.
 *
 * A failed tool is a result with isError and a sentence, so that the model that asked can read it.
 * Errors of JSON-RPC are for messages that are none.
 */
#include "mcp/protocol.h"

#include "base/build.h"
#include "mcp/tools.h"
#include "report/json/values.h"

#include <jansson.h>
#include <string.h>

enum {
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	METHOD_NOT_FOUND = -32601,
	INVALID_PARAMS = -32602,
};

/* newest first */
static const char *const versions[] = { "2025-06-18", "2025-03-26", "2024-11-05" };

static json_t *reply(json_t *id, const char *key, json_t *value_take)
{
	json_t *o = json_pack("{s:s,s:o}", "jsonrpc", "2.0", key, value_take);

	json_object_set_new(o, "id", id ? json_incref(id) : json_null());
	return o;
}

static json_t *failure(json_t *id, int code, const char *text)
{
	return reply(id, "error", json_pack("{s:i,s:s}", "code", code, "message", text));
}

struct failed {
	int code;
	const char *text;
};

static json_t *initialize(struct targets *t, json_t *params, struct failed *why)
{
	const char *wanted = json_string_value(json_object_get(params, "protocolVersion"));
	const char *version = versions[0];

	(void)t;
	if (!wanted) {
		*why = (struct failed){ INVALID_PARAMS, "protocolVersion is missing" };
		return NULL;
	}
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		if (!strcmp(wanted, versions[i]))
			version = versions[i];
	return json_pack(
		"{s:s,s:{s:{s:b}},s:{s:s,s:s,s:s},s:s}", "protocolVersion", version, "capabilities",
		"tools", "listChanged", 0, "serverInfo", "name", "memtop", "title",
		"memtop, a heap profiler", "version", build_version, "instructions",
		"memtop reads the native heap of running programs and of recorded sessions. Begin "
		"with list_processes and verdict; then owners, call_sites and top_of_tree say who "
		"holds memory, and set_mark with diff_marks what changed in between.");
}

static json_t *ping(struct targets *t, json_t *params, struct failed *why)
{
	(void)t, (void)params, (void)why;
	return json_object();
}

static json_t *list(struct targets *t, json_t *params, struct failed *why)
{
	(void)t, (void)params, (void)why;
	return json_pack("{s:o}", "tools", tools_list(t));
}

static json_t *call(struct targets *t, json_t *params, struct failed *why)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	json_t *arguments = json_object_get(params, "arguments");

	if (!name || (arguments && !json_is_object(arguments)))
		*why = (struct failed){ INVALID_PARAMS,
					"name, or an object as arguments, is missing" };
	else if (!tools_find(t, name))
		*why = (struct failed){ INVALID_PARAMS, "no such tool; tools/list lists them" };
	else
		return tools_call(t, tools_find(t, name), arguments);
	return NULL;
}

static const struct {
	const char *name;
	json_t *(*run)(struct targets *t, json_t *params, struct failed *why);
} methods[] = {
	{ "initialize", initialize },
	{ "ping", ping },
	{ "tools/list", list },
	{ "tools/call", call },
};

static json_t *request(struct targets *t, const char *method, json_t *id, json_t *params)
{
	struct failed why = { METHOD_NOT_FOUND, "no such method" };

	if (params && !json_is_object(params))
		return failure(id, INVALID_PARAMS, "params is not an object");
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		if (strcmp(method, methods[i].name))
			continue;
		json_t *result = methods[i].run(t, params, &why);
		return result ? reply(id, "result", result) : failure(id, why.code, why.text);
	}
	return failure(id, why.code, why.text);
}

/* NULL: nothing to answer, as for notifications and for answers to nothing. */
static json_t *message(struct targets *t, json_t *m)
{
	const char *version = json_string_value(json_object_get(m, "jsonrpc"));
	json_t *id = json_object_get(m, "id"), *method = json_object_get(m, "method");
	bool named = json_is_string(id) || json_is_integer(id);

	if (!json_is_object(m) || !version || strcmp(version, "2.0") || (id && !named))
		return failure(named ? id : NULL, INVALID_REQUEST, "not a JSON-RPC 2.0 message");
	if (!method && (json_object_get(m, "result") || json_object_get(m, "error")))
		return NULL;
	if (!json_is_string(method))
		return failure(id, INVALID_REQUEST, "method is missing");
	if (!id)
		return NULL;
	return request(t, json_string_value(method), id, json_object_get(m, "params"));
}

#define BATCH_MAX 16

/* Clients of the version 2025-03-26 may send several at once. */
static json_t *batch(struct targets *t, json_t *list_of)
{
	json_t *out = json_array(), *m;
	size_t i;

	if (!json_array_size(list_of) || json_array_size(list_of) > BATCH_MAX) {
		json_array_append_new(out,
				      failure(NULL, INVALID_REQUEST,
					      json_array_size(list_of) ? "a list of more than 16"
								       : "an empty list"));
		return out;
	}
	json_array_foreach(list_of, i, m)
	{
		json_t *one = message(t, m);

		if (one)
			json_array_append_new(out, one);
	}
	if (json_array_size(out))
		return out;
	json_decref(out);
	return NULL;
}

static char *text_of(json_t *answer_take)
{
	return answer_take ? report_json_line(answer_take) : NULL;
}

char *mcp_answer(struct targets *t, const char *line, size_t len)
{
	json_error_t why;
	json_t *m = json_loadb(line, len, JSON_DECODE_ANY, &why);

	if (!m)
		return text_of(failure(NULL, PARSE_ERROR, "not JSON"));
	json_t *answer = json_is_array(m) ? batch(t, m) : message(t, m);
	json_decref(m);
	return text_of(answer);
}

char *mcp_too_long(void)
{
	return text_of(failure(NULL, PARSE_ERROR, "the line is longer than 4 MiB"));
}
