/* SPDX-License-Identifier: MIT
 *
 * amount.h - the one parser of sizes, times and other amounts, as users write them: 64k, 64KiB,
 * 1.5M, 1T, 90s, 1.5h. Integers only: the same in every locale, and nothing is lost below 2^64.
 *
 * An amount is digits, perhaps a dot with up to nine more, and a unit. It starts with a digit or
 * that dot, and the text ends behind it. Upper and lower case of a unit are the same.
 */
#ifndef MEMTOP_AMOUNT_H
#define MEMTOP_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MTW_AMOUNT_FRACTION 9 /* digits */

enum mtw_amount_kind {
	MTW_AMOUNT_BYTES,  /* K, M, G, T: 1024 each, also as KB or KiB; B: bytes */
	MTW_AMOUNT_BLOCKS, /* K, M, G, T: 1000 each */
	MTW_AMOUNT_NS,     /* ms, s, m, h, d; seconds without a unit */
	MTW_AMOUNT_COUNT,  /* whole, no unit */
	MTW_AMOUNT_MICRO,  /* no unit; the result is in millionths */
};

/* What 1 of the unit is; 0 = there is no such unit. */
static inline uint64_t mtw_amount_worth(const char *unit, enum mtw_amount_kind kind)
{
	const uint64_t second = 1000000000, step = kind == MTW_AMOUNT_BYTES ? 1024 : 1000;
	static const char letters[] = "kmgtKMGT";
	const char *letter = *unit ? strchr(letters, *unit) : NULL;
	uint64_t worth = 1;

	if (kind == MTW_AMOUNT_COUNT || kind == MTW_AMOUNT_MICRO)
		return *unit ? 0 : kind == MTW_AMOUNT_MICRO ? 1000000 : 1;
	if (kind == MTW_AMOUNT_NS) {
		if ((*unit | 0x20) == 'm' && (unit[1] | 0x20) == 's' && !unit[2])
			return second / 1000;
		if (!*unit)
			return second;
		if (unit[1])
			return 0;
		switch (*unit | 0x20) {
		case 's': return second;
		case 'm': return 60 * second;
		case 'h': return 3600 * second;
		case 'd': return 86400 * second;
		default: return 0;
		}
	}
	for (ptrdiff_t i = letter ? (letter - letters) % 4 : -1; i >= 0; i--)
		worth *= step;
	unit += letter != NULL;
	if (kind == MTW_AMOUNT_BYTES && letter && (*unit | 0x20) == 'i')
		unit++;
	if (kind == MTW_AMOUNT_BYTES && (*unit | 0x20) == 'b')
		unit++;
	return *unit ? 0 : worth;
}

/* False: it is none, or does not fit. */
static inline bool mtw_amount(const char *text, enum mtw_amount_kind kind, uint64_t *out)
{
	uint64_t whole = 0, part = 0, parts = 1;
	const char *at = text, *dot = NULL;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *at - '0', &whole))
			return false;
	if (*at == '.')
		for (dot = at++; *at >= '0' && *at <= '9'; at++, parts *= 10) {
			if (at - dot > MTW_AMOUNT_FRACTION)
				return false;
			part = part * 10 + (uint64_t)(*at - '0');
		}
	uint64_t worth = mtw_amount_worth(at, kind);
	if (at == text || (dot && (parts == 1 || worth == 1)))
		return false; /* a dot needs digits behind it, and a unit that has parts */
	if (!worth || __builtin_mul_overflow(whole, worth, &whole))
		return false;
	/* without an overflow: part < parts <= 10^9 */
	part = part * (worth / parts) + part * (worth % parts) / parts;
	return !__builtin_add_overflow(whole, part, out);
}

#endif
