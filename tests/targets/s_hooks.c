/* SPDX-License-Identifier: MIT
 *
 * s_hooks.c - every function of the malloc family with every corner of its contract. Prints the C
 * library's promise and the result; ends with 1 on the first difference. Its heap totals are the
 * same on every run, for comparisons with another counter. With "all" it adds what valgrind's
 * malloc does not do as the C library does (errno of a failed call, pvalloc).
 */
#include "target.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>

extern void *reallocarray(void *p, size_t n, size_t size);
extern void *pvalloc(size_t n);
extern void free_sized(void *p, size_t n) __attribute__((weak));
extern void free_aligned_sized(void *p, size_t align, size_t n) __attribute__((weak));

static volatile size_t huge = SIZE_MAX / 2 + 2; /* volatile: no warnings, no folding */

static void zero_sizes(void)
{
	void *a = malloc(0), *b = malloc(0), *c = calloc(0, 8), *d = calloc(8, 0);

	EXPECT(a && b && c && d && a != b);
	free(a);
	free(b);
	free(c);
	free(d);
	free(NULL);
	EXPECT((a = realloc(NULL, 0)) != NULL);
	free(a);
}

static void failures(void)
{
	char *kept = malloc(40);
	void *out = (void *)0x10;

	strcpy(kept, "unharmed");
	errno = 0;
	EXPECT(!malloc(huge) && errno == ENOMEM);
	errno = 0;
	EXPECT(!calloc(huge, 4) && errno == ENOMEM);
	errno = 0;
	EXPECT(!calloc(huge, 1) && errno == ENOMEM);
	errno = 0;
	EXPECT(!realloc(kept, huge) && errno == ENOMEM);
	EXPECT(!strcmp(kept, "unharmed"));
	errno = 0;
	EXPECT(!reallocarray(kept, huge, 4) && errno == ENOMEM);
	EXPECT(!strcmp(kept, "unharmed"));
	errno = 0;
	EXPECT(!aligned_alloc(64, huge) && errno == ENOMEM);
	errno = 0;
	EXPECT(!memalign(64, huge) && errno == ENOMEM);
	errno = 77;
	EXPECT(posix_memalign(&out, 64, huge) == ENOMEM && out == (void *)0x10);
	EXPECT(posix_memalign(&out, 24, 8) == EINVAL && out == (void *)0x10);
	EXPECT(posix_memalign(&out, 4, 8) == EINVAL);
	free(kept);
}

static void alignments(void)
{
	for (size_t align = sizeof(void *); align <= 65536; align *= 2) {
		void *a = NULL, *b = memalign(align, 100), *c = aligned_alloc(align, align * 3);

		EXPECT(!posix_memalign(&a, align, 33));
		EXPECT((uintptr_t)a % align == 0 && (uintptr_t)b % align == 0);
		EXPECT((uintptr_t)c % align == 0);
		free(a);
		free(b);
		free(c);
	}
	void *v = valloc(10);
	EXPECT((uintptr_t)v % 4096 == 0);
	free(v);
}

static void reallocs(void)
{
	char *p = malloc(10);

	strcpy(p, "123456789");
	p = realloc(p, 20000); /* moves, most likely */
	EXPECT(!strcmp(p, "123456789"));
	p = realloc(p, 19000); /* stays, most likely: still a free and an allocation */
	p = realloc(p, 8);
	EXPECT(!memcmp(p, "12345678", 8));
	p = reallocarray(p, 100, 7);
	EXPECT(!memcmp(p, "12345678", 8));
	p = realloc(p, 1023);
	p = realloc(p, 1024);
	p = realloc(p, 1025);
	p = realloc(p, 3 << 20); /* mapped */
	p = realloc(p, 9 << 20); /* mremap */
	EXPECT(!memcmp(p, "12345678", 8));
	EXPECT(!realloc(p, 0)); /* freed, on glibc */
	p = reallocarray(NULL, 3, 5);
	free(p);
}

/* Sizes that do not fit in 31 and 32 bits; never touched, so they cost no memory. */
static void large(void)
{
	static const size_t sizes[] = { 1023,
					1024,
					1 << 20,
					(size_t)1 << 31,
					((size_t)1 << 31) + 1,
					(size_t)1 << 32,
					((size_t)5 << 32) + 4096 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *p = malloc(sizes[i]);
		if (!p && sizes[i] >> 31)
			continue; /* a machine that does not overcommit */
		EXPECT(p);
		p[0] = p[sizes[i] - 1] = 1;
		free(p);
	}
}

static void usable(void)
{
	void *p = malloc(100);

	EXPECT(malloc_usable_size(p) >= 100);
	EXPECT(malloc_usable_size(NULL) == 0);
	errno = 1234;
	free(p);
	EXPECT(errno == 1234);
	p = malloc(1 << 20);
	errno = 1234;
	free(p); /* munmap inside */
	EXPECT(errno == 1234);
}

static void sized(void)
{
	if (free_sized)
		free_sized(malloc(48), 48);
	if (free_aligned_sized)
		free_aligned_sized(aligned_alloc(64, 128), 64, 128);
}

int main(int argc, char **argv)
{
	zero_sizes();
	alignments();
	reallocs();
	large();
	usable();
	if (argc > 1 && !strcmp(argv[1], "all")) { /* what valgrind does not do as libc does */
		failures();
		sized();
		free(pvalloc(10));
	}
	keep(malloc(111)); /* alive at exit: 3 blocks, 111 + 2222 + 0 bytes */
	keep(malloc(2222));
	keep(malloc(0));
	return 0;
}
