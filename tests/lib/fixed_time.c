/* SPDX-License-Identifier: MIT
 *
 * fixed_time.c - preloaded into programs that seed a hash with the time of day (libxml2 does),
 * under every tool that is compared: time() stands still.
 */
#include <time.h>

time_t time(time_t *out)
{
	const time_t now = 1600000000;

	if (out)
		*out = now;
	return now;
}
