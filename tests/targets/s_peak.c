/* SPDX-License-Identifier: MIT
 *
 * s_peak.c - heaps with a known top, after which nearly all is freed.
 *
 * Usage: s_peak threads N | turns N | plateau N | filter | waits [N] (after N threads have ended) |
 * ends | fork. It prints the bytes of the top, unless it ends at any time.
 *
 * turns: each of N threads has its old blocks (rise()), then replaces each by a new one that is
 * little larger (renew()), and frees all. At the top all blocks are new.
 * plateau: N threads replace blocks of random sizes for a while, each within its own room.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 20000u
#define BLOCK 700u
#define MORE 3u /* less than 1 in 128 */

static pthread_barrier_t top;

static __attribute__((noinline)) void **rise(unsigned blocks, size_t bytes)
{
	void **list = malloc(blocks * sizeof(*list));

	for (unsigned i = 0; i < blocks; i++)
		list[i] = malloc(bytes);
	return list;
}

static __attribute__((noinline)) void fall(void **list, unsigned blocks)
{
	for (unsigned i = 0; i < blocks; i++)
		free(list[i]);
	free(list);
}

static size_t height(unsigned blocks, size_t bytes)
{
	return blocks * (sizeof(void *) + bytes);
}

static void *go_up_and_down(void *arg)
{
	void **list = rise(BLOCKS, BLOCK);

	(void)arg;
	pthread_barrier_wait(&top);
	fall(list, BLOCKS);
	for (unsigned i = 0; i < 20; i++)
		fall(rise(BLOCKS / 20, BLOCK / 4), BLOCKS / 20);
	return NULL;
}

static __attribute__((noinline)) void renew(void **list, unsigned blocks, size_t bytes)
{
	for (unsigned i = 0; i < blocks; i++) {
		free(list[i]);
		list[i] = malloc(bytes);
	}
}

static void *turn_over(void *arg)
{
	void **list = rise(BLOCKS, BLOCK);

	(void)arg;
	pthread_barrier_wait(&top);
	renew(list, BLOCKS, BLOCK + MORE);
	pthread_barrier_wait(&top);
	fall(list, BLOCKS);
	return NULL;
}

static void *stay_up(void *arg)
{
	void **list = rise(BLOCKS, BLOCK);
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < 20 * BLOCKS; i++) {
		unsigned at = (unsigned)rand_r(&seed) % BLOCKS;
		free(list[at]);
		list[at] = malloc(BLOCK / 2 + (unsigned)rand_r(&seed) % BLOCK);
	}
	fall(list, BLOCKS);
	return NULL;
}

static int threads(unsigned count, void *(*work)(void *), size_t bytes)
{
	pthread_t *id = calloc(count, sizeof(*id));

	pthread_barrier_init(&top, NULL, count);
	for (unsigned i = 0; i < count; i++)
		pthread_create(&id[i], NULL, work, (void *)(uintptr_t)(i + 1));
	for (unsigned i = 0; i < count; i++)
		pthread_join(id[i], NULL);
	free(id);
	printf("%zu\n", count * height(BLOCKS, bytes));
	return 0;
}

#define ALLOW(call)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Only what an allocator calls, and the end. */
static int filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(madvise),
		ALLOW(mremap),
		ALLOW(brk),
		ALLOW(write),
		ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	char text[32];
	int len = snprintf(text, sizeof(text), "%zu\n", height(BLOCKS, BLOCK));

	free(malloc(BLOCK)); /* the first one has calls of its own */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		return errno == EINVAL || errno == ENOSYS ? 77 : 1;
	fall(rise(BLOCKS, BLOCK), BLOCKS);
	fall(rise(BLOCKS / 2, BLOCK), BLOCKS / 2);
	if (write(1, text, (size_t)len) != len)
		return 1;
	syscall(SYS_exit_group, 0);
	return 1;
}

static void *churn(void *arg)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		fall(rise(1, BLOCK), 1);
	pthread_barrier_wait(&top);
	return arg;
}

static void have_ended(unsigned count)
{
	pthread_t *id = calloc(count, sizeof(*id));

	pthread_barrier_init(&top, NULL, count);
	for (unsigned i = 0; i < count; i++)
		pthread_create(&id[i], NULL, churn, NULL);
	for (unsigned i = 0; i < count; i++)
		pthread_join(id[i], NULL);
	free(id);
}

/* Up and down when told. */
static int waits(void)
{
	char c;

	printf("ready\n");
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		return 1;
	fall(rise(BLOCKS, BLOCK), BLOCKS);
	fall(rise(BLOCKS / 2, BLOCK), BLOCKS / 2);
	printf("%zu\n", height(BLOCKS, BLOCK));
	fflush(stdout);
	return read(0, &c, 1) == 1 ? 0 : 1;
}

static void *for_ever(void *arg)
{
	for (;;)
		fall(rise(BLOCKS, (size_t)1 + (size_t)rand() % 300), BLOCKS);
	return arg;
}

static int ends(void)
{
	pthread_t id;

	for (unsigned i = 0; i < 6; i++)
		pthread_create(&id, NULL, for_ever, NULL);
	usleep(300000);
	_exit(0);
}

/* The child is higher than what it inherits, its parent is not any more. */
static int forks(void)
{
	void **list = rise(BLOCKS, BLOCK);
	int status, pid = fork();

	if (!pid) {
		usleep(1000000); /* so long that it is watched */
		fall(rise(BLOCKS / 4, BLOCK), BLOCKS / 4);
		fall(list, BLOCKS);
		return 0;
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 1;
	fall(list, BLOCKS);
	printf("%zu\n", height(BLOCKS, BLOCK));
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "threads") && argc > 2)
		return threads((unsigned)atoi(argv[2]), go_up_and_down, BLOCK);
	if (!strcmp(mode, "turns") && argc > 2)
		return threads((unsigned)atoi(argv[2]), turn_over, BLOCK + MORE);
	if (!strcmp(mode, "plateau") && argc > 2)
		return threads((unsigned)atoi(argv[2]), stay_up, BLOCK);
	if (!strcmp(mode, "waits") && argc > 2)
		have_ended((unsigned)atoi(argv[2]));
	return !strcmp(mode, "filter")  ? filter()
	       : !strcmp(mode, "waits") ? waits()
	       : !strcmp(mode, "ends")  ? ends()
	       : !strcmp(mode, "fork")  ? forks()
					: 2;
}
