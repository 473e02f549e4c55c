/* SPDX-License-Identifier: MIT
 *
 * test_running.c - running sums of numbers of all sizes, and of lists that end anywhere in a block.
 */
#include "check.h"
#include "random.h"

#include "heap/running.h"

#include <stdlib.h>

enum { MOST = 700 };

/* bits: the largest of all but a few, which have 64. */
static void check_sums(uint32_t count, unsigned bits)
{
	struct quad own[MOST + 1], sum = { { 0 } };
	struct running_sums r;
	struct running_pen pen;

	running_begin(&pen, &r, MOST);
	for (uint32_t i = 0; i < count; i++) {
		for (unsigned k = 0; k < 4; k++)
			own[i].n[k] = ((uint64_t)below(1u << 31) << 33 | below(1u << 31)) >>
				      (i % 300 == 299 ? 0 : 64 - bits);
		running_put(&pen, own[i]);
	}
	running_end(&pen);
	CHECK_EQ(r.count, count);
	for (uint32_t i = 0; i <= count; i++) {
		for (unsigned k = 0; k < 4; k++)
			CHECK_EQ(running_at(&r, i).n[k], sum.n[k]);
		quad_add(&sum, i < count ? own[i] : (struct quad){ { 0 } });
	}
	struct running_reader x = { .of = &r };
	for (uint32_t i = 0; i < count; i++) {
		struct quad is = running_next(&x);
		for (unsigned k = 0; k < 4; k++)
			CHECK_EQ(is.n[k], own[i].n[k]);
	}
	running_release(&r);
}

TEST(sums_are_exact_of_numbers_of_any_size)
{
	static const uint32_t counts[] = { 0, 1, 63, 64, 65, 128, 640, MOST };

	seed = 7;
	for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
		for (unsigned bits = 1; bits < 64; bits += 2)
			check_sums(counts[i], bits);
	}
}
