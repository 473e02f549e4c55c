// SPDX-License-Identifier: MIT
/*
 * contain - runs a program as a container engine would: under its default filter of system calls,
 * with its few capabilities, as process 1 of a pid namespace or below an init, as root or as
 * somebody else.
 *
 *   contain [--profile docker|podman] [--pid1 | --init] [--userns] [--uid N] [--no-new-privs] --
 * PROG ARGS...
 *
 * The program's status or signal becomes contain's own. contain is a static program: what
 * LD_PRELOAD names is loaded into PROG alone.
 *
 * The filters answer each system call as these files do, on x86-64 and Linux 4.8 or later, with the
 * 14 capabilities that both engines leave to root: moby/moby profiles/seccomp/default.json of 2023,
 * containers/common pkg/seccomp/seccomp.json of 2023. Docker refuses what it does not list with
 * EPERM, podman with ENOSYS.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* CLONE_NEW* but the time namespace's, which clone(2) does not take */
#define NAMESPACES 0x7e020000u

enum profile { NO_PROFILE, DOCKER, PODMAN, PROFILES };
static const char *const profile_names[PROFILES] = { "", "docker", "podman" };

/* Both let these pass whatever the arguments are. */
/* clang-format off */
#define BOTH(_)                                                                                    \
	_(accept) _(accept4) _(access) _(adjtimex) _(alarm) _(arch_prctl) _(bind) _(brk)           \
	_(capget) _(capset) _(chdir) _(chmod) _(chown) _(chroot) _(clock_adjtime) _(clock_getres)  \
	_(clock_gettime) _(clock_nanosleep) _(close) _(close_range) _(connect) _(copy_file_range)  \
	_(creat) _(dup) _(dup2) _(dup3) _(epoll_create) _(epoll_create1) _(epoll_ctl)              \
	_(epoll_ctl_old) _(epoll_pwait) _(epoll_pwait2) _(epoll_wait) _(epoll_wait_old)            \
	_(eventfd) _(eventfd2) _(execve) _(execveat) _(exit) _(exit_group) _(faccessat)            \
	_(faccessat2) _(fadvise64) _(fallocate) _(fanotify_mark) _(fchdir) _(fchmod) _(fchmodat)   \
	_(fchown) _(fchownat) _(fcntl) _(fdatasync) _(fgetxattr) _(flistxattr) _(flock) _(fork)    \
	_(fremovexattr) _(fsetxattr) _(fstat) _(fstatfs) _(fsync) _(ftruncate) _(futex)            \
	_(futimesat) _(get_robust_list) _(get_thread_area) _(getcpu) _(getcwd) _(getdents)         \
	_(getdents64) _(getegid) _(geteuid) _(getgid) _(getgroups) _(getitimer) _(getpeername)     \
	_(getpgid) _(getpgrp) _(getpid) _(getppid) _(getpriority) _(getrandom) _(getresgid)        \
	_(getresuid) _(getrlimit) _(getrusage) _(getsid) _(getsockname) _(getsockopt) _(gettid)    \
	_(gettimeofday) _(getuid) _(getxattr) _(inotify_add_watch) _(inotify_init)                 \
	_(inotify_init1) _(inotify_rm_watch) _(io_cancel) _(io_destroy) _(io_getevents)            \
	_(io_setup) _(io_submit) _(ioctl) _(ioprio_get) _(ioprio_set) _(kill) _(lchown)            \
	_(lgetxattr) _(link) _(linkat) _(listen) _(listxattr) _(llistxattr) _(lremovexattr)        \
	_(lseek) _(lsetxattr) _(lstat) _(madvise) _(memfd_create) _(mincore) _(mkdir) _(mkdirat)   \
	_(mknod) _(mknodat) _(mlock) _(mlock2) _(mlockall) _(mmap) _(modify_ldt) _(mprotect)       \
	_(mq_getsetattr) _(mq_notify) _(mq_open) _(mq_timedreceive) _(mq_timedsend) _(mq_unlink)   \
	_(mremap) _(msgctl) _(msgget) _(msgrcv) _(msgsnd) _(msync) _(munlock) _(munlockall)        \
	_(munmap) _(name_to_handle_at) _(nanosleep) _(newfstatat) _(open) _(openat) _(openat2)     \
	_(pause) _(pidfd_open) _(pidfd_send_signal) _(pipe) _(pipe2) _(pkey_alloc) _(pkey_free)    \
	_(pkey_mprotect) _(poll) _(ppoll) _(prctl) _(pread64) _(preadv) _(preadv2) _(prlimit64)    \
	_(pselect6) _(pwrite64) _(pwritev) _(pwritev2) _(read) _(readahead) _(readlink)            \
	_(readlinkat) _(readv) _(recvfrom) _(recvmmsg) _(recvmsg) _(remap_file_pages)              \
	_(removexattr) _(rename) _(renameat) _(renameat2) _(restart_syscall) _(rmdir) _(rseq)      \
	_(rt_sigaction) _(rt_sigpending) _(rt_sigprocmask) _(rt_sigqueueinfo) _(rt_sigreturn)      \
	_(rt_sigsuspend) _(rt_sigtimedwait) _(rt_tgsigqueueinfo) _(sched_get_priority_max)         \
	_(sched_get_priority_min) _(sched_getaffinity) _(sched_getattr) _(sched_getparam)          \
	_(sched_getscheduler) _(sched_rr_get_interval) _(sched_setaffinity) _(sched_setattr)       \
	_(sched_setparam) _(sched_setscheduler) _(sched_yield) _(seccomp) _(select) _(semctl)      \
	_(semget) _(semop) _(semtimedop) _(sendfile) _(sendmmsg) _(sendmsg) _(sendto)              \
	_(set_robust_list) _(set_thread_area) _(set_tid_address) _(setfsgid) _(setfsuid)           \
	_(setgid) _(setgroups) _(setitimer) _(setpgid) _(setpriority) _(setregid) _(setresgid)     \
	_(setresuid) _(setreuid) _(setrlimit) _(setsid) _(setsockopt) _(setuid) _(setxattr)        \
	_(shmat) _(shmctl) _(shmdt) _(shmget) _(shutdown) _(sigaltstack) _(signalfd) _(signalfd4)  \
	_(socketpair) _(splice) _(stat) _(statfs) _(statx) _(symlink) _(symlinkat) _(sync)         \
	_(sync_file_range) _(syncfs) _(sysinfo) _(tee) _(tgkill) _(time) _(timer_create)           \
	_(timer_delete) _(timer_getoverrun) _(timer_gettime) _(timer_settime) _(timerfd_create)    \
	_(timerfd_gettime) _(timerfd_settime) _(times) _(tkill) _(truncate) _(umask) _(uname)      \
	_(unlink) _(unlinkat) _(utime) _(utimensat) _(utimes) _(vfork) _(wait4) _(waitid)          \
	_(write) _(writev)

#define DOCKERS(_)                                                                                 \
	_(futex_waitv) _(io_pgetevents) _(io_uring_enter) _(io_uring_register) _(io_uring_setup)   \
	_(landlock_add_rule) _(landlock_create_ruleset) _(landlock_restrict_self) _(membarrier)    \
	_(memfd_secret) _(process_mrelease) _(process_vm_readv) _(process_vm_writev) _(ptrace)     \
	_(vmsplice)

#define PODMANS(_)                                                                                 \
	_(clone) _(clone3) _(fsconfig) _(fsmount) _(fsopen) _(fspick) _(keyctl) _(mount)           \
	_(move_mount) _(open_tree) _(pidfd_getfd) _(pivot_root) _(reboot) _(setns) _(syslog)       \
	_(umount2) _(unshare)

/* podman refuses these with EPERM, and not with ENOSYS. */
#define PODMANS_FORBIDDEN(_)                                                                       \
	_(acct) _(bpf) _(clock_settime) _(delete_module) _(fanotify_init) _(finit_module)          \
	_(get_mempolicy) _(init_module) _(io_pgetevents) _(ioperm) _(iopl) _(kcmp)                 \
	_(kexec_file_load) _(kexec_load) _(lookup_dcookie) _(mbind) _(membarrier)                  \
	_(migrate_pages) _(move_pages) _(open_by_handle_at) _(perf_event_open) _(process_madvise)  \
	_(process_vm_readv) _(process_vm_writev) _(ptrace) _(quotactl) _(set_mempolicy)            \
	_(setdomainname) _(sethostname) _(settimeofday) _(swapoff) _(swapon) _(sysfs)              \
	_(userfaultfd) _(ustat) _(vhangup) _(vmsplice)
/* clang-format on */

#define NUMBER(name) SYS_##name,
static const int both[] = { BOTH(NUMBER) }, dockers[] = { DOCKERS(NUMBER) },
		 podmans[] = { PODMANS(NUMBER) },
		 podmans_forbidden[] = { PODMANS_FORBIDDEN(NUMBER) };

/* Capabilities that both engines leave to root. */
static const int kept[] = { CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_FSETID,           CAP_FOWNER,
			    CAP_MKNOD,   CAP_NET_RAW,      CAP_SETGID,           CAP_SETUID,
			    CAP_SETFCAP, CAP_SETPCAP,      CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
			    CAP_KILL,    CAP_AUDIT_WRITE };

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "contain: %s: %s\n", what, strerror(errno));
	exit(125);
}

static struct sock_filter code[4096];
static unsigned length;

static void put(uint16_t op, uint8_t yes, uint8_t no, uint32_t value)
{
	if (length == sizeof(code) / sizeof(code[0]))
		fail("the filter has no room");
	code[length++] = (struct sock_filter){ op, yes, no, value };
}

static void load(size_t offset)
{
	put(BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void answer(const int *numbers, size_t count, uint32_t with)
{
	for (size_t i = 0; i < count; i++) {
		put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)numbers[i]);
		put(BPF_RET | BPF_K, 0, 0, with);
	}
}
#define ANSWER(list, with) answer(list, sizeof(list) / sizeof((list)[0]), with)

/* The call `number`, whose argument `index` masked with `mask` is one of the values: passes, else
 * the answer `no`. */
static void when(int number, unsigned index, uint32_t mask, const uint32_t *value, uint8_t values,
		 uint32_t no)
{
	put(BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(values + 4), (uint32_t)number);
	load(offsetof(struct seccomp_data, args) + 8 * index);
	put(BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
	for (uint8_t i = 0; i < values; i++)
		put(BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(values - i), 0, value[i]);
	put(BPF_RET | BPF_K, 0, 0, no);
	put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

#define REFUSE(number) (SECCOMP_RET_ERRNO | (number))
#define COUNT(array) ((uint8_t)(sizeof(array) / sizeof((array)[0])))

static void filter(enum profile p)
{
	static const uint32_t persons[] = { 0, 8, 0x20000, 0x20008, 0xffffffff };
	/* of those that exist: unspecified to packet */
	static const uint32_t families[] = { 0, 1, 2, 10, 16, 17 };
	static const int clone3[] = { SYS_clone3 };
	uint32_t otherwise = p == DOCKER ? REFUSE(EPERM) : REFUSE(ENOSYS);

	load(offsetof(struct seccomp_data, arch));
	put(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
	put(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW); /* 32-bit programs: not what is tested */
	load(offsetof(struct seccomp_data, nr));
	ANSWER(both, SECCOMP_RET_ALLOW);
	when(SYS_personality, 0, ~0u, persons, COUNT(persons), otherwise);
	when(SYS_socket, 0, ~0u, families, COUNT(families), otherwise);
	if (p == DOCKER) {
		static const uint32_t none[] = { 0 };
		ANSWER(dockers, SECCOMP_RET_ALLOW);
		ANSWER(clone3, REFUSE(ENOSYS));
		when(SYS_clone, 0, NAMESPACES, none, COUNT(none), REFUSE(EPERM));
	} else {
		ANSWER(podmans, SECCOMP_RET_ALLOW);
		ANSWER(podmans_forbidden, REFUSE(EPERM));
	}
	put(BPF_RET | BPF_K, 0, 0, otherwise);
	struct sock_fprog program = { (unsigned short)length, code };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		fail("seccomp");
}

static void keep_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		data[kept[i] / 32].permitted |= 1u << kept[i] % 32;
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(data[cap / 32].permitted & 1u << cap % 32) &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			fail("PR_CAPBSET_DROP");
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	if (syscall(SYS_capset, &header, data))
		fail("capset");
}

static void become(unsigned uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		fail("setresuid");
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as after an execve */
}

static void put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	close(fd);
}

static void pass_on(int status)
{
	static const struct rlimit no_core = { 0, 0 };

	if (WIFEXITED(status))
		exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	kill(getpid(), WTERMSIG(status));
	exit(128 + WTERMSIG(status)); /* process 1 takes no signal that it does not handle */
}

/* Waits for `child` and for whatever else falls to us. */
static _Noreturn void wait_for(pid_t child)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, 0);
		if (pid == child && !WIFSTOPPED(status)) {
			pass_on(status);
			abort();
		}
		if (pid < 0 && errno != EINTR)
			fail("waitpid");
	}
}

static pid_t below;

static void forward(int number)
{
	kill(below, number);
}

static void start_below(void)
{
	static const int forwarded[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 };

	below = fork();
	if (below < 0)
		fail("fork");
	if (!below) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		return;
	}
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		signal(forwarded[i], forward);
	for (int fd = 0; fd < 3; fd++)
		close(fd); /* the ends of the program's pipes are its own */
	wait_for(below);
}

/* A user namespace with all ids as they are: root in it has its rights in it alone. Only a process
 * outside may map more than one id. */
static void enter_user_namespace(void)
{
	char path[64];
	int go[2], status;

	if (pipe(go))
		fail("pipe");
	pid_t us = getpid(), outside = fork();
	if (outside < 0)
		fail("fork");
	if (!outside) {
		char c;
		close(go[1]);
		if (read(go[0], &c, 1) < 0)
			fail("read");
		snprintf(path, sizeof(path), "/proc/%d/uid_map", us);
		put_text(path, "0 0 65536");
		snprintf(path, sizeof(path), "/proc/%d/gid_map", us);
		put_text(path, "0 0 65536");
		_exit(0);
	}
	if (unshare(CLONE_NEWUSER))
		fail("unshare");
	close(go[0]);
	close(go[1]);
	if (waitpid(outside, &status, 0) != outside || status)
		fail("the map of users");
	if (setresgid(0, 0, 0) || setresuid(0, 0, 0))
		fail("setresuid");
}

static void enter_pid_namespace(void)
{
	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		fail("unshare");
	start_below();
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, NULL))
		fail("mount /proc");
}

int main(int argc, char **argv)
{
	enum profile profile = NO_PROFILE;
	bool pid1 = false, init = false, users = false, no_new = false;
	long uid = -1;
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--profile") && i + 1 < argc)
			for (i++, profile = PODMAN;
			     profile && strcmp(argv[i], profile_names[profile]);)
				profile--;
		else if (!strcmp(argv[i], "--uid") && i + 1 < argc)
			uid = atol(argv[++i]);
		else if (!strcmp(argv[i], "--pid1"))
			pid1 = true;
		else if (!strcmp(argv[i], "--init"))
			init = true;
		else if (!strcmp(argv[i], "--userns"))
			users = true;
		else if (!strcmp(argv[i], "--no-new-privs"))
			no_new = true;
		else
			break;
	}
	if (i + 1 >= argc || strcmp(argv[i], "--")) {
		fprintf(stderr, "contain: [--profile docker|podman] [--pid1 | --init] [--userns] "
				"[--uid N] [--no-new-privs] -- PROG ARGS...\n");
		return 125;
	}
	if (users)
		enter_user_namespace();
	if (pid1 || init)
		enter_pid_namespace();
	if (init)
		start_below();
	if (no_new && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail("PR_SET_NO_NEW_PRIVS");
	if (profile)
		filter(profile);
	if (!geteuid())
		keep_capabilities();
	if (uid >= 0)
		become((unsigned)uid);
	execvp(argv[i + 1], argv + i + 1);
	fail(argv[i + 1]);
}
