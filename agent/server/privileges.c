/* SPDX-License-Identifier: MIT
 *
 * privileges.c - the server gives up the rights that its target gives up.
 *
 * The two share their memory, so an attacker who takes over the target owns the server, too. The
 * server compares rights once a second, and when a hook has seen a prctl() that gives something up.
 * It sets no_new_privs at the start: it executes no file.
 *
 *   user, groups, capabilities   become the target's, also back again as far as the target itself
 *                                could
 *   anything else                the server seals itself
 *
 * No process can copy another's seccomp filter, and another root directory would take /proc away.
 * So the server seals itself when its target has one more filter, another root or user namespace,
 * an unreadable root, or another user where a filter would kill the server for following. It gives
 * up all capabilities and installs a filter of its own. That filter admits only its work: serving
 * connected and new viewers, reading counters, and reading the few files that it opens before. It
 * admits no path, no new socket, no other process. Viewers then lose names of new threads, the
 * count of children, and files of libraries that were loaded by a relative name.
 *
 * A raw thread (server/loop.c) follows users and capabilities alone: a filter of its own would make
 * the program's SECCOMP_FILTER_FLAG_TSYNC fail.
 */
#include "server/privileges.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/syscalls.h"
#include "collect/output.h"
#include "collect/proc.h"
#include "collect/server.h"
#include "dump/preconditions.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH AUDIT_ARCH_ARM
#endif

#define GROUPS_MAX 64
#define STATUS_BYTES 32768 /* a user may have thousands of groups, listed before the rest */
#define RULES_MAX 192
#define NEED_LINKS 64

static uint64_t hex(const char *status, const char *name)
{
	const char *at = proc_status(status, name);
	uint64_t v = 0;

	for (; at; at++) {
		if (*at >= '0' && *at <= '9')
			v = v << 4 | (uint64_t)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			v = v << 4 | (uint64_t)(*at - 'a' + 10);
		else
			break;
	}
	return v;
}

static uint32_t numbers(const char *at, uint32_t *to, uint32_t max)
{
	uint32_t n = 0;

	while (at && n < max) {
		while (*at == '\t' || *at == ' ')
			at++;
		if (*at < '0' || *at > '9')
			break;
		for (to[n] = 0; *at >= '0' && *at <= '9'; at++)
			to[n] = to[n] * 10 + (uint32_t)(*at - '0');
		n++;
	}
	return n;
}

/* Follows the link, so that it needs the right to read that process. */
static bool root_of(int number, uint64_t root[2])
{
	char path[PROC_PATH];
	call_stat st;

	proc_path(path, number, "root");
	if (mt_prim_call(CALL_FSTATAT, AT_FDCWD, (long)path, (long)&st, 0, 0, 0) != 0)
		return false;
	root[0] = st.st_dev;
	root[1] = st.st_ino;
	return true;
}

static bool user_space_of(int number, char link[NEED_LINKS])
{
	char path[PROC_PATH];

	proc_path(path, number, "ns/user");
	long n = mt_prim_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)link, NEED_LINKS - 1, 0,
			      0);
	link[n > 0 ? n : 0] = 0;
	return n > 0;
}

static bool read_rights(int number, struct rights *r)
{
	char text[STATUS_BYTES];

	memset(r, 0, sizeof(*r));
	if (proc_read(number, "status", text, sizeof(text)) <= 0 ||
	    numbers(proc_status(text, "Uid"), r->uid, 3) != 3 ||
	    numbers(proc_status(text, "Gid"), r->gid, 3) != 3)
		return false;
	r->groups = numbers(proc_status(text, "Groups"), r->group, GROUPS_MAX);
	r->inheritable = hex(text, "CapInh");
	r->permitted = hex(text, "CapPrm");
	r->effective = hex(text, "CapEff");
	r->bounding = hex(text, "CapBnd");
	r->filtered = proc_status_number(text, "Seccomp") != 0;
	r->filters = (uint32_t)proc_status_number(text, "Seccomp_filters"); /* since Linux 5.9 */
	return true;
}

/* No hook has seen what a program gave up before the attach. */
static void note_seals(const struct target *target)
{
	char text[STATUS_BYTES];

	if (!mt_state_attached() || proc_read(target->number, "status", text, sizeof(text)) <= 0)
		return;
	if (proc_status_number(text, "NoNewPrivs"))
		mt_state_seal(SEAL_RIGHTS);
	if (proc_status_number(text, "Seccomp"))
		mt_state_seal(SEAL_FILTER);
}

void privileges_begin(struct server *s)
{
	note_seals(&s->target);
	if (!read_rights(mt_prim_getpid(),
			 &s->privileges.rights)) { /* no /proc: nothing can be followed */
		uint32_t *uid = s->privileges.rights.uid;
		mt_prim_call(CALL_GETRESUID, (long)&uid[0], (long)&uid[1], (long)&uid[2], 0, 0, 0);
	}
	s->privileges.root_seen = root_of(s->target.number, s->privileges.root);
	if (!s->thread_mode)
		mt_prim_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
}

static uint64_t both_words(const struct __user_cap_data_struct data[2], size_t at)
{
	uint32_t low, high;

	memcpy(&low, (const char *)&data[0] + at, sizeof(low));
	memcpy(&high, (const char *)&data[1] + at, sizeof(high));
	return low | (uint64_t)high << 32;
}

static void follow_bounding(const struct rights *to)
{
	for (int cap = 0; cap < 64; cap++)
		if (!(to->bounding >> cap & 1) &&
		    mt_prim_call(SYS_prctl, PR_CAPBSET_READ, cap, 0, 0, 0, 0) == 1)
			mt_prim_call(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0, 0);
}

/* Never more than we have. */
static void follow_capabilities(const struct rights *to)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (mt_prim_call(SYS_capget, (long)&header, (long)data, 0, 0, 0, 0) != 0)
		return;
	uint64_t may = both_words(data, offsetof(struct __user_cap_data_struct, permitted));
	for (int i = 0; i < 2; i++) {
		data[i].permitted = (uint32_t)((to->permitted & may) >> 32 * i);
		data[i].effective = (uint32_t)((to->effective & to->permitted & may) >> 32 * i);
		data[i].inheritable = (uint32_t)((to->inheritable & to->permitted & may) >> 32 * i);
	}
	mt_prim_call(SYS_capset, (long)&header, (long)data, 0, 0, 0, 0);
}

/* Changing the user clears the memory's "dumpable" flag, which is the program's, too: put it
 * back. */
static void follow_ids(const struct rights *to)
{
	long dumpable = mt_prim_call(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0, 0);

	/* A program may keep capabilities when it changes its user; those that it has not kept go
	 * right after. */
	mt_prim_call(SYS_prctl, PR_SET_KEEPCAPS, 1, 0, 0, 0, 0);
	/* Twice: first to get rights back that the rest needs, last to give rights up. */
	for (int i = 0; i < 2; i++) {
		mt_prim_call(CALL_SETGROUPS, to->groups, (long)to->group, 0, 0, 0, 0);
		mt_prim_call(CALL_SETRESGID, to->gid[0], to->gid[1], to->gid[2], 0, 0, 0);
		mt_prim_call(CALL_SETRESUID, to->uid[0], to->uid[1], to->uid[2], 0, 0, 0);
	}
	mt_prim_call(SYS_prctl, PR_SET_KEEPCAPS, 0, 0, 0, 0, 0);
	if (dumpable == 1)
		mt_prim_call(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0, 0);
}

struct rules {
	struct sock_filter rule[RULES_MAX];
	unsigned short count;
};

static void put(struct rules *r, unsigned code, unsigned k, unsigned true_skip, unsigned false_skip)
{
	r->rule[r->count++] =
		(struct sock_filter){ (uint16_t)code, (uint8_t)true_skip, (uint8_t)false_skip, k };
}

static void allow(struct rules *r, long call)
{
	put(r, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
	put(r, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* Only if the argument, masked, has that value. No such argument has a meaning in its upper
 * half. */
static void allow_with(struct rules *r, long call, unsigned argument, uint32_t matters,
		       uint32_t value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const unsigned low = 0;
#else
	const unsigned low = 4;
#endif
	put(r, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 5);
	put(r, BPF_LD | BPF_W | BPF_ABS,
	    (unsigned)(offsetof(struct seccomp_data, args) + 8 * argument + low), 0, 0);
	put(r, BPF_ALU | BPF_AND | BPF_K, matters, 0, 0);
	put(r, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	put(r, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	put(r, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
}

static bool filter_ourselves(const struct target *target)
{
	static const long calls[] = {
		SYS_read,         SYS_close,   SYS_lseek,      SYS_sendto,
		SYS_recvfrom,     SYS_accept4, SYS_shutdown,   SYS_getsockopt,
		SYS_ppoll,        SYS_futex,   SYS_nanosleep,  SYS_clock_gettime,
		SYS_madvise,      SYS_munmap,  SYS_mincore,    SYS_membarrier,
		SYS_getpid,       SYS_gettid,  CALL_GETEUID,   SYS_rt_sigprocmask,
		SYS_rt_sigreturn, SYS_exit,    SYS_exit_group,
	};
	struct rules r = { .count = 0 };
	uint32_t self = (uint32_t)mt_prim_getpid();

	put(&r, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	put(&r, BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
	put(&r, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1, 0, 0);
	put(&r, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		allow(&r, calls[i]);
	allow_with(&r, CALL_MMAP, 2, PROT_EXEC, 0);
	allow_with(&r, SYS_mprotect, 2, PROT_EXEC, 0);          /* a detach */
	allow_with(&r, SYS_clone, 0, UINT32_MAX, CLONE_PARENT); /* target_release() */
	allow_with(&r, SYS_tgkill, 2, UINT32_MAX, 0);           /* is a thread there? */
	allow_with(&r, SYS_kill, 1, UINT32_MAX, 0);
	allow_with(&r, SYS_kcmp, 0, UINT32_MAX, self);
	allow_with(&r, SYS_prlimit64, 0, UINT32_MAX, 0); /* its own limit of processor time */
	allow_with(&r, SYS_ioctl, 0, UINT32_MAX, (uint32_t)target->pid_fd);
	allow_with(&r, SYS_prctl, 0, UINT32_MAX, PR_GET_SECCOMP);
	put(&r, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */, 0, 0);
	struct sock_fprog program = { r.count, r.rule };
	return mt_prim_call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program, 0, 0,
			    0) == 0;
}

static void seal(struct server *s, const char *why)
{
	char text[NOTICE_MAX];
	const struct rights nothing = { .permitted = 0 };

	dump_sealed(s, why);
	proc_keep(s->target.number);
	follow_capabilities(&nothing);
	s->privileges.sealed = true;
	bool filtered = filter_ourselves(&s->target);
	mt_format(text, sizeof(text), "the program %s: the agent's server gave up its own rights%s",
		  why,
		  filtered ? ", and sees no names of new threads and no children from now on"
			   : ", but the system refuses it a filter of its own");
	viewers_notice(&s->notices, -1, -1, text);
}

/* A process that is just ending has no root any more, for a moment before the kernel calls it gone.
 * That is no reason to seal: a dump may be due. */
static bool is_ending(const struct target *target)
{
	struct pollfd p = { target->pid_fd, POLLIN, 0 };
	long patience[2] = { 0, 50 * 1000000 };

	return target->pid_fd >= 0 &&
	       mt_prim_call(SYS_ppoll, (long)&p, 1, (long)patience, 0, 8, 0) > 0;
}

/* The change that cannot be followed, in words; NULL = none. */
static const char *why_seal(struct server *s, const struct rights *now, bool ids)
{
	char own[NEED_LINKS], theirs[NEED_LINKS];
	uint64_t root[2];
	bool may_move = now->permitted >> CAP_SYS_CHROOT & 1,
	     seen = root_of(s->target.number, root);

	if ((now->filtered && !s->privileges.rights.filtered) ||
	    now->filters > s->privileges.rights.filters)
		return "runs under a filter of system calls now";
	if (user_space_of(s->target.number, theirs) && user_space_of(PROC_SELF, own) &&
	    strcmp(own, theirs))
		return "is in another user namespace now";
	if (s->privileges.root_seen && seen &&
	    (root[0] != s->privileges.root[0] || root[1] != s->privileges.root[1]))
		return "has another root directory now";
	if (s->privileges.root_seen && !seen && !s->privileges.root_settled &&
	    !is_ending(&s->target))
		return "cannot be looked at any more, and may have another root directory";
	/* No more looks are needed: a program that cannot change its root keeps it. */
	s->privileges.root_settled |= seen && !may_move;
	return ids && s->privileges.user_is_fixed
		       ? "changed its user, and its filter of system calls lets nobody follow"
		       : NULL;
}

/* Makes calls that test PTRACE_MODE_READ on the target. A zombie has no root: readers with the
 * right get "not there" for the link. A sealed server may follow no link; without capabilities,
 * kcmp makes the same test. */
bool privileges_over_target(const struct server *s)
{
	char path[PROC_PATH], link[NEED_LINKS];

	proc_path(path, s->target.number, "root");
	long n = mt_prim_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)link, sizeof(link), 0, 0);
	if (n >= 0 || n == -ENOENT)
		return true;
	return s->privileges.sealed &&
	       mt_prim_call_seldom(SYS_kcmp, mt_prim_getpid(), s->target.pid, KCMP_VM) >= 0;
}

void privileges_follow(struct server *s)
{
	const struct rights all = { .inheritable = s->privileges.rights.inheritable,
				    .permitted = ~0ull,
				    .effective = ~0ull };
	struct rights now;

	if (s->privileges.sealed || !read_rights(s->target.number, &now))
		return;
	bool raised = s->privileges.rights.effective != s->privileges.rights.permitted;
	if (raised) /* rights that the program may take back: needed to read it, and to follow */
		follow_capabilities(&all);
	bool ids = memcmp(now.uid, s->privileges.rights.uid, sizeof(now.uid)) ||
		   memcmp(now.gid, s->privileges.rights.gid, sizeof(now.gid)) ||
		   now.groups != s->privileges.rights.groups ||
		   memcmp(now.group, s->privileges.rights.group, sizeof(now.group));
	const char *why = s->thread_mode ? NULL : why_seal(s, &now, ids);
	if (now.bounding != s->privileges.rights.bounding)
		follow_bounding(&now);
	if (ids && !s->privileges.user_is_fixed)
		follow_ids(&now);
	if (raised || ids || now.inheritable != s->privileges.rights.inheritable ||
	    now.permitted != s->privileges.rights.permitted ||
	    now.effective != s->privileges.rights.effective)
		follow_capabilities(&now);
	s->privileges.rights = now;
	if (why)
		seal(s, why);
}
