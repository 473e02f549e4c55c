/* SPDX-License-Identifier: MIT */
#include "base/ages.h"

#include <stdlib.h>

#define NS 1000000000ull

static const struct {
	uint64_t younger_ns, apart_ns;
} rule[] = {
	{ 60 * NS, 0 },          { 600 * NS, NS },         { AGES_FINE_NS, 10 * NS },
	{ 86400 * NS, 60 * NS }, { UINT64_MAX, 600 * NS },
};

/* In tests all is old earlier. */
static uint64_t faster(void)
{
	const char *test = getenv("MEMTOP_TEST_THIN_AGES");

	return test ? strtoull(test, NULL, 10) : 1;
}

uint64_t ages_apart(uint64_t age_ns)
{
	uint64_t times = faster();
	size_t i = 0;

	while (rule[i].younger_ns != UINT64_MAX && age_ns >= rule[i].younger_ns / times)
		i++;
	return rule[i].apart_ns;
}

uint64_t ages_whole_ns(void)
{
	return rule[0].younger_ns / faster();
}

bool ages_keep(uint64_t age_ns, uint64_t before_ns, uint64_t time_ns, uint64_t times)
{
	uint64_t apart = ages_apart(age_ns) * times;

	return !apart || time_ns / apart != before_ns / apart;
}
