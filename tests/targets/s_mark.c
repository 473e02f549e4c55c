/* SPDX-License-Identifier: MIT
 *
 * s_mark.c - sets two marks by itself: 10 blocks of 100 bytes are born before the first, 20 of 200
 * between them (5 of the first are freed meanwhile), 30 of 300 after. Prints the marks' numbers.
 */
#include "target.h"

#include <memtop/memtop.h>

static void *old[10];

static void fill(int count, size_t size)
{
	while (count-- > 0)
		*(void *volatile *)&old[count % 10] = malloc(size);
}

int main(void)
{
	static char buffer[256];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer)); /* printf allocates nothing */
	fill(10, 100);
	printf("%u", memtop_set_mark("first"));
	for (int i = 0; i < 5; i++)
		free(old[i]);
	fill(20, 200);
	printf(" %u\n", memtop_set_mark(NULL));
	fill(30, 300);
	return 0;
}
