/* SPDX-License-Identifier: MIT
 *
 * test_descriptors.c - every descriptor is closed where there is no close_range(), and few calls
 * are made for it.
 */
#include "check.h"
#include "refuse.h"
#include "server/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define HIGH 3000

static void no_close_range(void)
{
	CHECK(refuse(SYS_close_range, REFUSE_ANY, 0, ENOSYS));
}

static void set_limit(rlim_t soft)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = soft;
	if (limit.rlim_max < soft)
		limit.rlim_max = soft;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
}

static int open_count(void)
{
	int n = 0;

	for (int fd = 0; fd < 2 * HIGH; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Output is closed, too: a failure shows in the exit status alone. */
static void all_closed(void)
{
	descriptors_close();
	if (open_count())
		_exit(2);
}

static void some_open(void)
{
	set_limit(2 * HIGH);
	for (int i = 0; i < 500; i++)
		CHECK(dup(0) >= 0);
	CHECK(dup2(0, HIGH) == HIGH && dup2(0, 2 * HIGH - 1) == 2 * HIGH - 1);
}

TEST(by_close_range)
{
	some_open();
	all_closed();
}

TEST(by_the_list)
{
	some_open();
	no_close_range();
	all_closed();
}

TEST(refused_as_containers_do)
{
	some_open();
	CHECK(refuse(SYS_close_range, REFUSE_ANY, 0, EPERM));
	all_closed();
}

TEST(a_full_table)
{
	set_limit(200);
	while (dup(0) >= 0)
		;
	CHECK_EQ(errno, EMFILE);
	no_close_range();
	all_closed();
}

/* What was opened before the limit was lowered stays open, and there is no number left below it. */
TEST(a_lowered_limit)
{
	some_open();
	set_limit(0);
	no_close_range();
	all_closed();
}

TEST(without_a_list)
{
	some_open();
	no_close_range();
	CHECK(refuse(SYS_openat, REFUSE_ANY, 0, ENOENT));
	all_closed();
}

TEST(a_list_that_ends_early)
{
	some_open();
	no_close_range();
	CHECK(refuse(SYS_getdents64, REFUSE_ANY, 0, EIO));
	all_closed();
}

/* A close of a number that is not open ends the process. */
TEST(only_what_is_open_is_closed)
{
	some_open();
	no_close_range();
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, HIGH - 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	all_closed();
}

static void *with_a_table_of_its_own(void *arg)
{
	CHECK(!unshare(CLONE_FILES));
	CHECK(dup2(0, 1000) == 1000); /* the other threads do not have it */
	descriptors_close();
	return open_count() ? NULL : arg;
}

TEST(of_a_thread_with_a_table_of_its_own)
{
	pthread_t t;
	void *good = NULL;

	some_open();
	int before = open_count();
	no_close_range();
	CHECK(!pthread_create(&t, NULL, with_a_table_of_its_own, &before) &&
	      !pthread_join(t, &good));
	CHECK(good);
	CHECK_EQ(open_count(), before);
}
