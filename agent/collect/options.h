/* SPDX-License-Identifier: MIT
 *
 * options.h - the options in force, and since when. server/commands.c changes them,
 * encode/encode.c sends them.
 */
#ifndef MT_COLLECT_OPTIONS_H
#define MT_COLLECT_OPTIONS_H

#include "base/types.h"
#include "record/filter.h"

#include <memtop/wire.h>

#define OPTIONS_MAX 32
#define FILTERS_MAX 1000 /* changes of a filter in a session */

struct option {
	char name[MTW_NAME_MAX + 1], value[256], who[MTW_NAME_MAX + 1];
	uint32_t changed;
};

/* The filter from then on: MTW_FILTER. */
struct filter_entry {
	uint64_t since_ns, sample, min_size, max_size, merge;
	char libs[256], exclude[256], who[MTW_NAME_MAX + 1];
};

struct options {
	struct option option[OPTIONS_MAX];
	uint32_t count, serial;
	struct filter_entry *filter; /* [FILTERS_MAX] in the order of time; NULL = never any */
	uint32_t filter_count;
	uint32_t half_passes; /* so many in a row found half of the agent's memory taken */
	bool folded;          /* viewers were told that new stacks are cut */
};

#endif
