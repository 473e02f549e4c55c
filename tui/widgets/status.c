/* SPDX-License-Identifier: MIT
 *
 * status.c - see widgets/status.h. An error stays longer than a remark. A key removes a line older
 * than a second, which may be out of date: the key may end the pause that the line reports. A
 * younger line stays, so that fast typing does not hide its own result.
 */
#include "widgets/status.h"

#define SAY_NS 5000000000u
#define ERROR_NS 10000000000u
#define READ_NS 1000000000u

static char text[512];
static enum role role;
static uint64_t said_ns, until_ns;

static void set(enum role r, uint64_t span_ns, const char *format, va_list ap)
{
	vsnprintf(text, sizeof text, format, ap);
	role = r;
	said_ns = now_ns();
	until_ns = said_ns + span_ns;
}

void status_say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	set(ROLE_GOOD, SAY_NS, format, ap);
	va_end(ap);
}

int status_error(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	set(ROLE_BAD, ERROR_NS, format, ap);
	va_end(ap);
	return -1;
}

const char *status_text(enum role *r)
{
	if (!until_ns || now_ns() > until_ns)
		return NULL;
	*r = role;
	return text;
}

void status_key(void)
{
	if (now_ns() - said_ns >= READ_NS)
		status_clear();
}

void status_clear(void)
{
	until_ns = 0;
}
