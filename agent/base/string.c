/* SPDX-License-Identifier: MIT
 *
 * string.c - the functions of string.h that the agent uses, under their names, which compilers also
 * call by themselves.
 *
 * A program may define strnlen or memcpy for itself, and libc's own are chosen by the loader at
 * start-up, before which hooks may run. These are hidden: no other module finds them. They copy in
 * vectors, because the server moves whole buffers; texts are short, and read byte by byte.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Else a compiler makes of each loop a call of the function that it is. */
#ifdef __clang__
#define OWN __attribute__((visibility("hidden"), no_builtin))
#else
#define OWN __attribute__((visibility("hidden"), optimize("no-tree-loop-distribute-patterns")))
#endif

#undef memcpy
#undef memmove
#undef memset
#undef stpcpy
#undef memchr /* glibc 2.43 has macros that keep const */
#undef memrchr
#undef strchr
#undef strrchr
#undef strstr

#define PIECE sizeof(piece)
typedef unsigned char piece __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t word __attribute__((aligned(1), may_alias));

OWN void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	char *t = to;
	const char *f = from;

	for (; n >= PIECE; n -= PIECE, t += PIECE, f += PIECE)
		*(piece *)(void *)t = *(const piece *)(const void *)f;
	if (n >= 8) {
		*(word *)(void *)t = *(const word *)(const void *)f;
		t += 8, f += 8, n -= 8;
	}
	while (n--)
		*t++ = *f++;
	return to;
}

OWN void *memmove(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	if ((uintptr_t)to - (uintptr_t)from >= n)
		return memcpy(to, from, n);
	for (; n >= PIECE; n -= PIECE) {
		piece p = *(const piece *)(const void *)(f + n - PIECE);
		*(piece *)(void *)(t + n - PIECE) = p;
	}
	while (n--)
		t[n] = f[n];
	return to;
}

OWN void *memset(void *to, int c, size_t n)
{
	char *t = to;
	piece p = { 0 };

	if (c)
		p += (unsigned char)c;
	for (; n >= PIECE; n -= PIECE, t += PIECE)
		*(piece *)(void *)t = p;
	while (n--)
		*t++ = (char)c;
	return to;
}

OWN int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n >= 8 && *(const word *)(const void *)x == *(const word *)(const void *)y; n -= 8)
		x += 8, y += 8;
	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

OWN void *memchr(const void *p, int c, size_t n)
{
	for (const unsigned char *at = p; n; n--, at++)
		if (*at == (unsigned char)c)
			return (void *)(uintptr_t)at;
	return NULL;
}

OWN void *memrchr(const void *p, int c, size_t n)
{
	const unsigned char *at = p;

	while (n--)
		if (at[n] == (unsigned char)c)
			return (void *)(uintptr_t)(at + n);
	return NULL;
}

OWN size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

OWN size_t strnlen(const char *s, size_t most)
{
	size_t n = 0;

	while (n < most && s[n])
		n++;
	return n;
}

OWN int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++)
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

OWN int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

OWN char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return NULL;
	return (char *)(uintptr_t)s;
}

OWN char *strrchr(const char *s, int c)
{
	return memrchr(s, c, strlen(s) + 1);
}

OWN char *strstr(const char *s, const char *part)
{
	size_t len = strlen(part);

	for (; strncmp(s, part, len); s++)
		if (!*s)
			return NULL;
	return (char *)(uintptr_t)s;
}

OWN size_t strspn(const char *s, const char *set)
{
	size_t n = 0;

	while (s[n] && strchr(set, s[n]))
		n++;
	return n;
}

OWN size_t strcspn(const char *s, const char *set)
{
	size_t n = 0;

	while (s[n] && !strchr(set, s[n]))
		n++;
	return n;
}

OWN char *stpcpy(char *restrict to, const char *restrict from)
{
	while ((*to = *from++))
		to++;
	return to;
}
