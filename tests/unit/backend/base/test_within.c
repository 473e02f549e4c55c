/* SPDX-License-Identifier: MIT
 *
 * test_within.c - files below another root folder, with openat2() and on kernels that have none.
 */
#include "base/within.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char root[64];

static const char *below(const char *path)
{
	static char text[2][128];
	static int turn;

	turn = !turn;
	snprintf(text[turn], sizeof text[turn], "%s/%s", root, path);
	return text[turn];
}

/* root/real/file; links: root/linked -> /real, root/last -> /real/file */
static void enter(void)
{
	snprintf(root, sizeof root, "/tmp/memtop-within-XXXXXX");
	CHECK(mkdtemp(root) != NULL);
	CHECK_EQ(mkdir(below("real"), 0700), 0);
	int fd = open(below("real/file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	CHECK_EQ(symlink("/real", below("linked")), 0);
	CHECK_EQ(symlink("/real/file", below("last")), 0);
}

static void leave(void)
{
	unlink(below("linked"));
	unlink(below("last"));
	unlink(below("real/file"));
	rmdir(below("real"));
	CHECK_EQ(rmdir(root), 0);
}

/* 0 = it is root/real/file; else errno, -1 = another file */
static int opens(const char *path, int flags)
{
	struct stat its, file;
	int fd = within_open(root, path, flags);

	if (fd < 0)
		return errno;
	fstat(fd, &its);
	close(fd);
	return !stat(below("real/file"), &file) && its.st_ino == file.st_ino &&
			       its.st_dev == file.st_dev
		       ? 0
		       : -1;
}

static void refuse_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof code / sizeof *code, code };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

TEST(links_stay_below_the_root)
{
	enter();
	CHECK_EQ(opens("/real/file", O_RDONLY), 0);
	CHECK_EQ(opens("/linked/file", O_RDONLY), 0);
	CHECK_EQ(opens("last", O_RDONLY), 0);
	CHECK_EQ(opens("/../../real//file", O_RDONLY), 0);
	CHECK_EQ(opens("/linked/file", O_PATH | O_NOFOLLOW), 0);
	CHECK_EQ(opens("nowhere", O_RDONLY), ENOENT);
	leave();
}

TEST(a_kernel_without_openat2)
{
	enter();
	refuse_openat2();
	CHECK_EQ(opens("/real/file", O_RDONLY), 0);
	CHECK_EQ(opens("/real//file", O_RDONLY | O_NOFOLLOW), 0);
	CHECK_EQ(opens("/../../real/file", O_RDONLY | O_NOFOLLOW), 0);
	CHECK(opens("/linked/file", O_RDONLY | O_NOFOLLOW) > 0);
	CHECK_EQ(opens("last", O_RDONLY | O_NOFOLLOW), ELOOP);
	CHECK_EQ(opens("nowhere", O_RDONLY | O_NOFOLLOW), ENOENT);
	leave();
}
