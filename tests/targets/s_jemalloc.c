/* SPDX-License-Identifier: MIT
 *
 * s_jemalloc.c - the functions that jemalloc has beside malloc, named weakly, so that it links and
 * runs without. Usage: s_jemalloc probe|use. "probe" tells by which ways they seem to exist. "use"
 * calls each of them, directly and as dlsym found it, checks what they return, and ends with these
 * blocks alive:
 *   by_name    1000 + 5000 + 77    by_lookup    1000 + 5000 + 77    in_place    the sizes that it
 *              prints
 */
#include "target.h"

#include <dlfcn.h>
#include <stdint.h>

#define ALIGN(bits) (bits) /* MALLOCX_LG_ALIGN */
#define ZERO 0x40

#define WEAK __attribute__((weak))
extern void *mallocx(size_t, int) WEAK;
extern void *rallocx(void *, size_t, int) WEAK;
extern size_t xallocx(void *, size_t, size_t, int) WEAK;
extern void dallocx(void *, int) WEAK;
extern void sdallocx(void *, size_t, int) WEAK;
extern size_t nallocx(size_t, int) WEAK;
extern size_t sallocx(const void *, int) WEAK;

struct functions {
	void *(*mallocx)(size_t, int);
	void *(*rallocx)(void *, size_t, int);
	void (*dallocx)(void *, int);
	void (*sdallocx)(void *, size_t, int);
};

static void *(*const in_data)(size_t, int) = mallocx;

static void *find(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

static int probe(void)
{
	static const char *const names[] = { "mallocx", "rallocx", "xallocx", "dallocx",
					     "sdallocx" };

	printf("%d%d%d%d%d %d", mallocx != 0, rallocx != 0, xallocx != 0, dallocx != 0,
	       sdallocx != 0, in_data != 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *f = find(names[i]);
		const char *why = dlerror();
		printf(" %d(%s)", f != NULL, why ? why : "");
	}
	printf("\n");
	return 0;
}

static void use(const struct functions *f, void *out[3])
{
	unsigned char *p = f->mallocx(1000, ALIGN(12) | ZERO), any = 0;

	EXPECT(p && !((uintptr_t)p & 4095));
	for (int i = 0; i < 1000; i++)
		any |= p[i];
	EXPECT(!any);
	out[0] = p;
	memset(p = f->mallocx(300, 0), 7, 300);
	EXPECT((out[1] = p = f->rallocx(p, 5000, ALIGN(6) | ZERO)) && !((uintptr_t)p & 63));
	EXPECT(p[0] == 7 && p[299] == 7 && p[4999] == 0);
	EXPECT(!f->rallocx(p, (size_t)1 << 62, 0) && !f->mallocx((size_t)1 << 62, 0));
	for (int i = 1; i <= 50; i++) {
		f->dallocx(f->mallocx((size_t)i * 100, 0), 0);
		f->sdallocx(f->mallocx((size_t)i * 8, ALIGN(4)), (size_t)i * 8, ALIGN(4));
	}
	EXPECT((out[2] = f->mallocx(77, 0)));
}

static __attribute__((noinline)) void by_name(void)
{
	static void *out[3];

	use(&(struct functions){ mallocx, rallocx, dallocx, sdallocx }, out);
}

static __attribute__((noinline)) void by_lookup(void)
{
	static void *out[3];
	struct functions f = { (void *(*)(size_t, int))find("mallocx"),
			       (void *(*)(void *, size_t, int))find("rallocx"),
			       (void (*)(void *, int))find("dallocx"),
			       (void (*)(void *, size_t, int))find("sdallocx") };

	EXPECT(f.mallocx == mallocx && f.mallocx == in_data); /* one function has one address */
	use(&f, out);
}

/* Blocks of each fate: grown within its class, refused, shrunk, grown as far as it goes. */
static __attribute__((noinline)) size_t in_place(void)
{
	static void *p[4];
	size_t sum = 0, n;

	EXPECT((p[0] = mallocx(100, 0)) && (n = nallocx(100, 0)) > 101 &&
	       xallocx(p[0], 101, 0, 0) == n);
	sum += 101;
	EXPECT((p[1] = mallocx(100, 0)) && xallocx(p[1], 10000, 0, 0) == n &&
	       sallocx(p[1], 0) == n);
	sum += 100;
	/* cannot shrink in place */
	EXPECT((p[2] = mallocx(100, 0)) && xallocx(p[2], 20, 0, 0) == n);
	sum += 100;
	EXPECT((p[3] = mallocx(4 << 20, 0)));
	n = xallocx(p[3], 1 << 20, 100, 0);
	sum += n == nallocx((1 << 20) + 100, 0) ? (1 << 20) + 100
	       : n == nallocx(1 << 20, 0)       ? 1 << 20
						: 4 << 20;
	return sum;
}

int main(int argc, char **argv)
{
	if (argc < 2 || !strcmp(argv[1], "probe"))
		return probe();
	EXPECT(mallocx && nallocx && sallocx);
	by_name();
	by_lookup();
	printf("%zu\n", in_place());
	return 0;
}
