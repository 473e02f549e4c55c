/* SPDX-License-Identifier: MIT
 *
 * test_pace.c - from one refresh of the view to the next.
 */
#include "check.h"

#include "loop/pace.h"

#define S 1000000000ull

TEST(nobody_at_the_keys_is_a_slower_pace)
{
	static const struct {
		uint64_t since_key, cost, pause;
	} cases[] = {
		{ 0, 0, S / 4 },       { 59 * S, S / 100, S / 4 }, { 59 * S, S, 5 * S },
		{ 60 * S, 0, S },      { 3600 * S, S / 100, S },   { 3600 * S, S / 2, 5 * S / 2 },
		{ 60 * S, S / 10, S },
	};

	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_EQ(pace_pause(7 * S + cases[i].since_key, 7 * S, cases[i].cost),
			 cases[i].pause);
}
