/* SPDX-License-Identifier: MIT
 *
 * test_amount.c - sizes, times and other amounts as users write them, and what is none.
 */
#include "check.h"

#include <memtop/amount.h>

#define NS 1000000000ull

TEST(amounts)
{
	static const struct {
		const char *text;
		enum mtw_amount_kind kind;
		uint64_t is;
	} all[] = {
		{ "0", MTW_AMOUNT_BYTES, 0 },
		{ "17", MTW_AMOUNT_BYTES, 17 },
		{ "17B", MTW_AMOUNT_BYTES, 17 },
		{ "64k", MTW_AMOUNT_BYTES, 65536 },
		{ "64K", MTW_AMOUNT_BYTES, 65536 },
		{ "64KB", MTW_AMOUNT_BYTES, 65536 },
		{ "64KiB", MTW_AMOUNT_BYTES, 65536 },
		{ "64kib", MTW_AMOUNT_BYTES, 65536 },
		{ "1.5M", MTW_AMOUNT_BYTES, 3 << 19 },
		{ ".5k", MTW_AMOUNT_BYTES, 512 },
		{ "2.000000001G", MTW_AMOUNT_BYTES, (2ull << 30) + 1 },
		{ "1T", MTW_AMOUNT_BYTES, 1ull << 40 },
		{ "0.999999999T", MTW_AMOUNT_BYTES, 1099511626676 },
		{ "18446744073709551615", MTW_AMOUNT_BYTES, UINT64_MAX },
		{ "16777215T", MTW_AMOUNT_BYTES, 16777215ull << 40 },
		{ "16777215.999999999T", MTW_AMOUNT_BYTES, (16777215ull << 40) + 1099511626676 },
		{ "10K", MTW_AMOUNT_BLOCKS, 10000 },
		{ "1.5m", MTW_AMOUNT_BLOCKS, 1500000 },
		{ "90", MTW_AMOUNT_NS, 90 * NS },
		{ "90s", MTW_AMOUNT_NS, 90 * NS },
		{ "0.25", MTW_AMOUNT_NS, NS / 4 },
		{ "250ms", MTW_AMOUNT_NS, NS / 4 },
		{ "1.5m", MTW_AMOUNT_NS, 90 * NS },
		{ "2H", MTW_AMOUNT_NS, 7200 * NS },
		{ "3d", MTW_AMOUNT_NS, 3 * 86400 * NS },
		{ "12", MTW_AMOUNT_COUNT, 12 },
		{ "2.5", MTW_AMOUNT_MICRO, 2500000 },
		{ "100", MTW_AMOUNT_MICRO, 100000000 },
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		uint64_t found = 1;
		if (!mtw_amount(all[i].text, all[i].kind, &found) || found != all[i].is)
			printf("  %s: %llu\n", all[i].text, (unsigned long long)found);
		CHECK(mtw_amount(all[i].text, all[i].kind, &found));
		CHECK_EQ(found, all[i].is);
	}
}

TEST(what_is_no_amount)
{
	static const struct {
		const char *text;
		enum mtw_amount_kind kind;
	} all[] = {
		{ "", MTW_AMOUNT_BYTES },
		{ "k", MTW_AMOUNT_BYTES },
		{ ".", MTW_AMOUNT_BYTES },
		{ "1.k", MTW_AMOUNT_BYTES },
		{ "1.5", MTW_AMOUNT_BYTES },
		{ "1,5M", MTW_AMOUNT_BYTES },
		{ "-1", MTW_AMOUNT_BYTES },
		{ "+1", MTW_AMOUNT_BYTES },
		{ " 1", MTW_AMOUNT_BYTES },
		{ "1 ", MTW_AMOUNT_BYTES },
		{ "1 k", MTW_AMOUNT_BYTES },
		{ "0x10", MTW_AMOUNT_BYTES },
		{ "1e3", MTW_AMOUNT_BYTES },
		{ "inf", MTW_AMOUNT_BYTES },
		{ "1Q", MTW_AMOUNT_BYTES },
		{ "1Ki", MTW_AMOUNT_BLOCKS },
		{ "1Bk", MTW_AMOUNT_BYTES },
		{ "1kk", MTW_AMOUNT_BYTES },
		{ "1iB", MTW_AMOUNT_BYTES },
		{ "1KB", MTW_AMOUNT_BLOCKS },
		{ "1.5.5M", MTW_AMOUNT_BYTES },
		{ "1.0000000001M", MTW_AMOUNT_BYTES },
		{ "18446744073709551616", MTW_AMOUNT_BYTES },
		{ "16777216T", MTW_AMOUNT_BYTES },
		{ "18446744073709551615K", MTW_AMOUNT_BYTES },
		{ "1.5", MTW_AMOUNT_COUNT },
		{ "1k", MTW_AMOUNT_COUNT },
		{ "5x", MTW_AMOUNT_NS },
		{ "1s2", MTW_AMOUNT_NS },
		{ "1mss", MTW_AMOUNT_NS },
		{ "1sm", MTW_AMOUNT_NS },
		{ "999999999999d", MTW_AMOUNT_NS },
		{ "5%", MTW_AMOUNT_MICRO },
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		uint64_t found = 1;
		if (mtw_amount(all[i].text, all[i].kind, &found))
			printf("  taken: %s\n", all[i].text);
		CHECK(!mtw_amount(all[i].text, all[i].kind, &found));
	}
}
