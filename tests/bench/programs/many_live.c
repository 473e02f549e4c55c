/* SPDX-License-Identifier: MIT
 *
 * many_live.c - five million small blocks, freed in random order: the worst case of a live map,
 * since every free meets a cold entry.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000000;
	void **blocks = malloc(n * sizeof *blocks);
	uint64_t state = 88172645463325252ull;

	if (!blocks)
		return 1;
	for (size_t i = 0; i < n; i++)
		blocks[i] = malloc(16 + i % 113);
	for (size_t i = n; i > 1; i--) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		size_t k = state % i;
		void *p = blocks[k];
		blocks[k] = blocks[i - 1];
		free(p);
	}
	free(blocks[0]);
	free(blocks);
	puts("done");
	return 0;
}
