/* SPDX-License-Identifier: MIT
 *
 * fixed_time.c - makes time() constant for programs that seed a hash with it (libxml2 does).
 * Preloaded under every compared tool.
 */
#include <time.h>

time_t time(time_t *out)
{
	const time_t now = 1600000000;

	if (out)
		*out = now;
	return now;
}
