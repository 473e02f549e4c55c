/* SPDX-License-Identifier: MIT
 *
 * forks.c COUNT [BLOCKS] - a program with 200 blocks that forks COUNT times; each child allocates
 * BLOCKS (1) and ends. Prints the page faults of a child, the mean.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static void *volatile blocks[200], *volatile block;
	long count = argc > 1 ? atol(argv[1]) : 1000, own = argc > 2 ? atol(argv[2]) : 1;
	struct rusage children;

	for (int i = 0; i < 200; i++)
		blocks[i] = malloc(100);
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (long n = 0; n < own; n++) {
				block = malloc(100);
				free(block);
			}
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	getrusage(RUSAGE_CHILDREN, &children);
	fprintf(stderr, "%ld page faults a child\n", children.ru_minflt / count);
	for (int i = 0; i < 200; i++)
		free(blocks[i]);
	puts("done");
	return 0;
}
