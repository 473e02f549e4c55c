/* SPDX-License-Identifier: MIT
 *
 * measure.c - runs a command and measures it with all processes that it leaves behind.
 *
 * Usage: measure [-n TIMES] [-o FILE] [-e NAME=VALUE]... COMMAND ARGUMENT...
 * Prints: wall_ns cpu_ns peak_kib, the first two as the mean of TIMES runs.
 *
 * wall runs from the fork to the end of the command itself. cpu is user + system of all processes,
 * including those that outlive the command or are not its children (the agent's server, a writer at
 * the end of a pipe): measure is their subreaper. peak is the largest process among the command and
 * the children that it waited for. A child's peak starts with its parent's at exec, so this program
 * stays small. Variables are set in the child alone, because measure must not load a preload. The
 * command's output goes to FILE, or to /dev/null.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEFT_BEHIND_S 60 /* a process that stays longer ends us by SIGALRM: an error */

static char *variables[16];
static int variable_count;
static const char *out = "/dev/null";

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_ns(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000u;
}

static void child(char **command)
{
	int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0) {
		perror(out);
		_exit(127);
	}
	dup2(fd, 1);
	close(fd);
	for (int i = 0; i < variable_count; i++)
		putenv(variables[i]);
	execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

/* One run; adds to *wall and *cpu. */
static int once(char **command, uint64_t *wall, uint64_t *cpu, long *peak)
{
	struct rusage usage;
	int status, other;
	uint64_t begin = now_ns();
	pid_t pid = fork();

	if (pid == 0)
		child(command);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror("measure");
		return 1;
	}
	*wall += now_ns() - begin;
	*cpu += cpu_ns(&usage);
	*peak = usage.ru_maxrss > *peak ? usage.ru_maxrss : *peak;
	if (status) {
		fprintf(stderr, "measure: %s ended with %#x\n", command[0], status);
		return 1;
	}
	alarm(LEFT_BEHIND_S);
	while (wait4(-1, &other, __WALL, &usage) > 0)
		*cpu += cpu_ns(&usage);
	alarm(0);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t wall = 0, cpu = 0;
	long peak = 0, times = 1;
	int option;

	while ((option = getopt(argc, argv, "+n:o:e:")) > 0) {
		if (option == 'n')
			times = atol(optarg);
		else if (option == 'o')
			out = optarg;
		else if (option == 'e' && variable_count < 16)
			variables[variable_count++] = optarg;
		else
			return 2;
	}
	if (optind >= argc || times < 1)
		return 2;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (long i = 0; i < times; i++)
		if (once(argv + optind, &wall, &cpu, &peak))
			return 1;
	printf("%lu %lu %ld\n", (unsigned long)(wall / (uint64_t)times),
	       (unsigned long)(cpu / (uint64_t)times), peak);
	return 0;
}
