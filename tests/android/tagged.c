/* SPDX-License-Identifier: MIT
 *
 * tagged.c - prints how many different tags malloc gives its blocks (AArch64 memory tagging): "tags
 * 1" without tagging.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	unsigned seen = 0, count = 0;

	for (int i = 0; i < 64; i++) {
		char *volatile p = malloc(100);
		p[99] = 1;
		seen |= 1u << ((uintptr_t)p >> 56 & 15);
	}
	for (; seen; seen &= seen - 1)
		count++;
	printf("tags %u\n", count);
	return 0;
}
