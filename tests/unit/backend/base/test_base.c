/* SPDX-License-Identifier: MIT
 *
 * test_base.c - the backend's base functions.
 */
#include "base/base.h"
#include "check.h"

struct element {
	uint64_t key;
	char other;
};

/* Against a walk, of every length below 40: keys come once, several times, and at both ends of what
 * there is. */
TEST(counts_what_is_at_a_key_or_below)
{
	struct element list[40] = { { 0, 0 } };

	CHECK_EQ(count_up_to(NULL, 0, sizeof *list, UINT64_MAX), 0);
	for (size_t n = 1; n < 40; n++) {
		for (size_t i = 0; i < n; i++)
			list[i] =
				(struct element){ i + 3 >= n ? UINT64_MAX - (n - 1 - i) : i / 3 * 7,
						  'x' };
		for (size_t i = 0; i < n; i++)
			for (int beside = -1; beside <= 1; beside++) {
				uint64_t key = list[i].key + (uint64_t)beside;
				size_t want = 0;
				while (want < n && list[want].key <= key)
					want++;
				CHECK_EQ(count_up_to(list, n, sizeof *list, key), want);
			}
	}
}
