/* SPDX-License-Identifier: MIT
 *
 * random.h - the tests' random numbers (xorshift64): reproducible from a seed other than 0.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

static uint64_t seed;

static inline uint32_t below(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 24) % n;
}

#endif
