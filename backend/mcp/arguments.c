/* SPDX-License-Identifier: MIT
 *
 * arguments.c - the arguments of a tool's call: see mcp/tools.h.
 */
#include "mcp/tools.h"

#include <string.h>

int tool_text(const struct tool_call *c, const char *name, const char **text, struct err *err)
{
	json_t *v = json_object_get(c->arguments, name);

	if (v && !json_is_string(v))
		return err_set(err, 2, "%s: not a text", name);
	if (v)
		*text = json_string_value(v);
	return 0;
}

int tool_number(const struct tool_call *c, const char *name, size_t least, size_t most,
		size_t *number, struct err *err)
{
	json_t *v = json_object_get(c->arguments, name);
	json_int_t n = json_integer_value(v);

	if (v && (!json_is_integer(v) || n < (json_int_t)least || n > (json_int_t)most))
		return err_set(err, 2, "%s: not a number from %zu to %zu", name, least, most);
	if (v)
		*number = (size_t)n;
	return 0;
}

int tool_flag(const struct tool_call *c, const char *name, bool *flag, struct err *err)
{
	json_t *v = json_object_get(c->arguments, name);

	if (v && !json_is_boolean(v))
		return err_set(err, 2, "%s: neither true nor false", name);
	*flag = json_is_true(v);
	return 0;
}

int tool_target(struct tool_call *c, struct err *err)
{
	json_t *v = json_object_get(c->arguments, "target");
	const char *word = json_string_value(v), *process = "";
	char pid[24];

	if (json_is_integer(v)) {
		snprintf(pid, sizeof pid, "%lld", (long long)json_integer_value(v));
		word = pid;
	} else if (v && !word) {
		return err_set(err, 2, "target: neither a pid nor a text");
	}
	if (tool_text(c, "process", &process, err))
		return -1;
	if ((word && strlen(word) >= sizeof c->word) || strlen(process) >= sizeof c->process)
		return err_set(err, 2, "target: the name is too long");
	snprintf(c->word, sizeof c->word, "%s", word ? word : "");
	snprintf(c->process, sizeof c->process, "%s", process);
	return word ? 0 : targets_default(c->targets, c->word, err);
}
