/* SPDX-License-Identifier: MIT
 *
 * arguments.c - the arguments of a tool's call: see mcp/tools.h.
 */
#include "mcp/tools.h"

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
