/* SPDX-License-Identifier: MIT
 *
 * failure.c - notes a machine's first failure, and keeps the time limit.
 */
#include "attach/jdwp/machine.h"

int jdwp_fail(struct jdwp_machine *m, enum jdwp_result result, const char *format, ...)
{
	va_list args;

	if (m->result)
		return -1;
	m->result = result;
	va_start(args, format);
	jdwp_say(&m->err, format, args);
	va_end(args);
	return -1;
}

int jdwp_fail_code(struct jdwp_machine *m, int code, const char *doing)
{
	if (code < 0)
		return -1;
	return jdwp_fail(
		m, JDWP_ERROR,
		"its Java machine refused to %s: error %d (%s) of the debug protocol; try again",
		doing, code, jdwp_error_name(code));
}

void jdwp_hurry(struct jdwp_machine *m, int ms)
{
	m->link.deadline_ns = now_ns() + (uint64_t)ms * 1000000;
}
