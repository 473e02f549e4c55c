/* SPDX-License-Identifier: MIT
 *
 * msg.c - messages for people, without malloc, stdio or locale.
 *
 * The agent writes to the program's stderr only while it starts: later, descriptor 2 may be
 * anything, such as a database in a forked worker. mt_msg_quiet() ends that time, in a followed
 * child at once. After it the agent only stores a line in memtop_said. `memtop -p PID` and `memtop
 * attach PID` read that from the process's memory.
 */
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/types.h"

#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#define LINE_BYTES 512

/* Why there is no session, without a prefix; "" = no reason is known. The backend knows it by this
 * name. */
extern char memtop_said[LINE_BYTES];
MT_EXPORT char memtop_said[LINE_BYTES];

static _Atomic bool xquiet;

struct sink {
	char *at, *end; /* room left, terminator's byte not counted */
	size_t wanted;  /* bytes that a large enough buffer would hold */
};

static void put(struct sink *s, char c)
{
	s->wanted++;
	if (s->at < s->end)
		*s->at++ = c;
}

struct field {
	unsigned width;
	char pad;
	bool left;
};

static void put_text(struct sink *s, const char *text, size_t len, const struct field *f)
{
	size_t gap = f->width > len ? f->width - len : 0;

	for (size_t i = 0; !f->left && i < gap; i++)
		put(s, f->pad);
	for (size_t i = 0; i < len; i++)
		put(s, text[i]);
	for (size_t i = 0; f->left && i < gap; i++)
		put(s, ' ');
}

static void put_number(struct sink *s, uint64_t v, unsigned base, bool negative, struct field *f)
{
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	if (negative && f->pad == '0') {
		put(s, '-');
		f->width -= f->width > 0;
	} else if (negative) {
		digits[--at] = '-';
	}
	put_text(s, digits + at, sizeof(digits) - at, f);
}

static uint64_t take_unsigned(va_list *ap, int longs)
{
	return longs >= 2 ? va_arg(*ap, unsigned long long)
	       : longs    ? va_arg(*ap, unsigned long)
			  : va_arg(*ap, unsigned);
}

static int64_t take_signed(va_list *ap, int longs)
{
	return longs >= 2 ? va_arg(*ap, long long) : longs ? va_arg(*ap, long) : va_arg(*ap, int);
}

/* One conversion, `at` on the byte after '%'; returns the byte after it. */
static const char *convert(struct sink *s, const char *at, va_list *ap)
{
	struct field f = { 0, ' ', false };
	size_t most = (size_t)-1;
	int longs = 0;

	for (; *at == '-' || *at == '0'; at++) {
		f.left |= *at == '-';
		f.pad = *at == '0' ? '0' : f.pad;
	}
	if (*at == '*') {
		f.width = (unsigned)va_arg(*ap, int);
		at++;
	}
	for (; *at >= '0' && *at <= '9'; at++)
		f.width = f.width * 10 + (unsigned)(*at - '0');
	if (*at == '.') {
		at++;
		most = 0;
		if (*at == '*') {
			most = (size_t)va_arg(*ap, int);
			at++;
		}
		for (; *at >= '0' && *at <= '9'; at++)
			most = most * 10 + (size_t)(*at - '0');
	}
	for (; *at == 'l' || *at == 'z' || *at == 'j'; at++)
		longs++;
	switch (*at) {
	case 'd':
	case 'i': {
		int64_t v = take_signed(ap, longs);
		put_number(s, v < 0 ? -(uint64_t)v : (uint64_t)v, 10, v < 0, &f);
		break;
	}
	case 'u': put_number(s, take_unsigned(ap, longs), 10, false, &f); break;
	case 'x': put_number(s, take_unsigned(ap, longs), 16, false, &f); break;
	case 'p':
		put(s, '0');
		put(s, 'x');
		put_number(s, (uintptr_t)va_arg(*ap, void *), 16, false, &f);
		break;
	case 'c': {
		char c = (char)va_arg(*ap, int);
		put_text(s, &c, 1, &f);
		break;
	}
	case 's': {
		const char *text = va_arg(*ap, const char *);
		text = text ? text : "(null)";
		put_text(s, text, strnlen(text, most), &f);
		break;
	}
	case '\0': return at;
	default: put(s, *at);
	}
	return at + 1;
}

/* %d %i %u %x %p %c %s %% with '-', '0', width, precision of %s, and l, ll, z, j. */
size_t mt_vformat(char *buf, size_t size, const char *format, va_list ap)
{
	struct sink s = { buf, size ? buf + size - 1 : buf, 0 };
	va_list args;

	va_copy(args, ap);
	for (const char *at = format; *at;) {
		if (*at != '%') {
			put(&s, *at++);
			continue;
		}
		at = convert(&s, at + 1, &args);
	}
	va_end(args);
	if (size)
		*s.at = '\0';
	return s.wanted;
}

size_t mt_format(char *buf, size_t size, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	size_t n = mt_vformat(buf, size, format, ap);
	va_end(ap);
	return n;
}

void mt_msg_quiet(void)
{
	atomic_store_explicit(&xquiet, true, memory_order_relaxed);
}

void mt_msg_forget(void)
{
	memtop_said[0] = '\0';
}

void mt_msg_keep(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	mt_vformat(memtop_said, sizeof(memtop_said), format, ap);
	va_end(ap);
}

void mt_msg(const char *format, ...)
{
	static const char prefix[] = "memtop: ";
	char line[LINE_BYTES];
	size_t len = sizeof(prefix) - 1;
	va_list ap;

	memcpy(line, prefix, len);
	va_start(ap, format);
	len += mt_vformat(line + len, sizeof(line) - len, format, ap);
	va_end(ap);
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len] = '\0';
	memcpy(memtop_said, line + sizeof(prefix) - 1, len + 2 - sizeof(prefix));
	if (atomic_load_explicit(&xquiet, memory_order_relaxed))
		return;
	line[len++] = '\n';
	mt_prim_call(SYS_write, 2, (long)line, (long)len, 0, 0, 0);
}

uintptr_t mt_hex(const char **at)
{
	uintptr_t v = 0;

	for (;; (*at)++) {
		char c = **at;
		if (c >= '0' && c <= '9')
			v = v << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return v;
	}
}
