/* SPDX-License-Identifier: MIT
 *
 * gap_lib.c - a library with gaps, for gaps.c.
 */
#include "gap.h"

void gap_lib_run(size_t bytes, void (*keep)(size_t));
void *gap_lib_code(void);
int gap_lib_data[5000] = { 1 };

KEEP static void inner(size_t bytes, void (*keep)(size_t))
{
	keep(bytes);
	__asm__ volatile("" ::: "memory");
}

void gap_lib_run(size_t bytes, void (*keep)(size_t))
{
	inner(bytes, keep);
	__asm__ volatile("" ::: "memory");
}

void *gap_lib_code(void)
{
	return (void *)code_in_gap(gap_lib_data);
}
