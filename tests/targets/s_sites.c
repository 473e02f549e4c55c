/* SPDX-License-Identifier: MIT
 *
 * s_sites.c - a typical heap: a few call sites hold most, many paths hold the rest. Usage: s_sites
 * DEPTH. Two to the DEPTH paths allocate 16 bytes each, at one of four sites; then twelve heavy
 * sites allocate along 64 paths each, the first the most. It stays until stdin ends.
 */
#include "target.h"

#include <unistd.h>

#define HEAVY_DEPTH 6u

static void *volatile *kept;
static size_t used;

#define KEEP(size)                                                                                 \
	do {                                                                                       \
		kept[used++] = malloc(size);                                                       \
		__asm__ volatile("");                                                              \
	} while (0)
#define SITE(name, size)                                                                           \
	static __attribute__((noinline)) void name(void)                                           \
	{                                                                                          \
		KEEP(size);                                                                        \
	}

/* clang-format off */
SITE(light_a, 16) SITE(light_b, 16) SITE(light_c, 16) SITE(light_d, 16)
SITE(heavy_a, 200000) SITE(heavy_b, 180000) SITE(heavy_c, 160000) SITE(heavy_d, 150000)
SITE(heavy_e, 140000) SITE(heavy_f, 130000) SITE(heavy_g, 120000) SITE(heavy_h, 110000)
SITE(heavy_i, 100000) SITE(heavy_j, 95000) SITE(heavy_k, 90000) SITE(heavy_l, 85000)

static void (*const light[])(void) = { light_a, light_b, light_c, light_d };
static void (*const heavy[])(void) = { heavy_l, heavy_k, heavy_j, heavy_i, heavy_h, heavy_g,
				       heavy_f, heavy_e, heavy_d, heavy_c, heavy_b, heavy_a };
/* clang-format on */

static void branch(unsigned depth, void (*site)(void));

static __attribute__((noinline)) void left(unsigned depth, void (*site)(void))
{
	branch(depth, site);
	__asm__ volatile("");
}

static __attribute__((noinline)) void right(unsigned depth, void (*site)(void))
{
	branch(depth, site);
	__asm__ volatile("");
}

static __attribute__((noinline)) void branch(unsigned depth, void (*site)(void))
{
	if (depth == 0) {
		site();
		__asm__ volatile("");
		return;
	}
	left(depth - 1, site);
	right(depth - 1, site);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 6;
	char byte;

	EXPECT(depth >= 2 && depth <= 24);
	kept = calloc(((size_t)1 << depth) + (12u << HEAVY_DEPTH), sizeof(*kept));
	for (unsigned i = 0; i < 4; i++)
		branch(depth - 2, light[i]);
	for (unsigned i = 0; i < 12; i++)
		branch(HEAVY_DEPTH, heavy[i]);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
