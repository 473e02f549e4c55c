/* SPDX-License-Identifier: MIT
 *
 * noise.h - is a difference more than what runs of one build differ by? No state; any thread.
 *
 * The rule: all of B's amounts are above all of A's, or all below, and the gap between the two
 * ranges is wider than both ranges together; with two sessions or one on a side, ten times as wide.
 * It is J. W. Tukey's quick test (1959), which counts the amounts outside of the other sample's
 * range, in its strictest form, and the gap on top. For normal, uniform, exponential and log-normal
 * noise it takes chance for a change in 7 rows of 1,000 at most. Runs that do not differ at all
 * leave no noise: then every difference is a change.
 */
#ifndef DIFF_NOISE_H
#define DIFF_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOISE_SESSIONS_MIN 2u /* a side; with fewer, no difference can be judged */
#define NOISE_RULE                                                                                 \
	"a change: A's and B's ranges lie apart by more than both together (by ten times that "    \
	"with two sessions a side); a row in one side alone: it holds more than those that come "  \
	"and go "                                                                                  \
	"within a side; after Tukey's quick test, 1959"

/* The largest amount of one more session, B's only one, that is no change. */
uint64_t noise_most(const uint64_t *a, size_t count_a);
bool noise_apart(const uint64_t *a, size_t count_a, const uint64_t *b, size_t count_b);

#endif
