/* SPDX-License-Identifier: MIT
 *
 * check.c - tells from /proc, before anything is stopped, why a process cannot be attached to. The
 * kernel would mostly answer EPERM.
 *
 * Reasons that no permission can remove come first.
 */
#include "attach/attach.h"

#include "attach/ptrace/inject.h"
#include "launch/agent_server.h"
#include "launch/elsewhere.h"
#include "base/procfs.h"
#include "base/sanitize.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_THREAD 0x00200000 /* PF_KTHREAD */

struct status_text {
	char text[8192];
};

static bool read_status(pid_t pid, struct status_text *s)
{
	char path[64];
	size_t n = 0;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	if (f) {
		n = fread(s->text + 1, 1, sizeof s->text - 2, f);
		fclose(f);
	}
	s->text[0] = '\n';
	s->text[n + 1] = '\0';
	return n > 0;
}

/* Returns the text after "\nNAME:\t"; "" = no such line. */
static const char *value(const struct status_text *s, const char *name)
{
	char key[32];

	snprintf(key, sizeof key, "\n%s:\t", name);
	const char *at = strstr(s->text, key);
	return at ? at + strlen(key) : "";
}

/* The kernel tells a tracer's thread: a user knows the process. */
static pid_t process_of(pid_t thread)
{
	struct status_text its;
	pid_t pid = read_status(thread, &its) ? atoi(value(&its, "Tgid")) : 0;

	return pid > 0 ? pid : thread;
}

static void name_of(pid_t pid, char *name, size_t size)
{
	if (!procfs_name(pid, name, size))
		snprintf(name, size, "?");
	sanitize_clean(name, size, name);
}

static bool is_kernel_thread(pid_t pid)
{
	char path[64], text[1024] = "";
	unsigned flags = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	if (f) {
		text[fread(text, 1, sizeof text - 1, f)] = '\0';
		fclose(f);
	}
	const char *rest = strrchr(text, ')'); /* the name may hold anything */
	return rest && sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       (flags & KERNEL_THREAD);
}

/* Does its user namespace know its own user? Else its agent takes everybody for a stranger. */
static bool is_mapped(pid_t pid, unsigned uid)
{
	char path[64];
	unsigned inner, outer, count;
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/uid_map", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return true;
	while (fscanf(f, "%u %u %u", &inner, &outer, &count) == 3)
		found |= uid >= outer && uid - outer < count;
	fclose(f);
	return found;
}

static int number_in(const char *path)
{
	int n = 0;
	FILE *f = fopen(path, "re");

	if (f && fscanf(f, "%d", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

static void read_users(const struct status_text *its, const struct status_text *own,
		       struct attach_facts *f)
{
	char path[64];
	struct stat st;
	unsigned real = 0, saved = 0;

	f->own_uid = geteuid();
	sscanf(value(its, "Uid"), "%u %u %u", &real, &f->uid, &saved);
	f->other_user = real != f->own_uid || f->uid != f->own_uid || saved != f->own_uid;
	snprintf(path, sizeof path, "/proc/%d/mem", (int)f->thread);
	/* else the kernel gives its files to root */
	f->dumpable = stat(path, &st) == 0 && st.st_uid == f->uid;
	unsigned long long has = strtoull(value(own, "CapEff"), NULL, 16),
			   may = strtoull(value(own, "CapPrm"), NULL, 16);
	f->capable = has >> CAP_SYS_PTRACE & 1;
	int mem = open(path, O_RDONLY | O_CLOEXEC);
	f->allowed = mem >= 0;
	if (mem >= 0)
		close(mem);
	f->more_capable = (strtoull(value(its, "CapPrm"), NULL, 16) & ~may) != 0;
}

void attach_facts(pid_t pid, struct attach_facts *f)
{
	struct status_text its, own;

	*f = (struct attach_facts){ .pid = pid, .self = getpid(), .thread = procfs_thread(pid) };
	if (!read_status(f->thread, &its) || !read_status(f->self, &own)) {
		f->gone = true;
		return;
	}
	name_of(pid, f->name, sizeof f->name);
	f->state = *value(&its, "State");
	f->group = atoi(value(&its, "Tgid"));
	f->parent = atoi(value(&its, "PPid"));
	f->tracer = process_of(atoi(value(&its, "TracerPid")));
	f->threads = atoi(value(&its, "Threads"));
	f->ending = procfs_ended(pid);
	for (const char *at = value(&its, "NSpid"); *at && *at != '\n';
	     at += strcspn(at, "\t\n"), at += *at == '\t')
		f->inner = atoi(at);
	name_of(f->parent, f->parent_name, sizeof f->parent_name);
	name_of(f->tracer, f->tracer_name, sizeof f->tracer_name);
	f->program = agent_server_program(pid);
	name_of(f->program, f->program_name, sizeof f->program_name);
	f->kernel = is_kernel_thread(pid);
	read_users(&its, &own, f);
	f->ptrace_scope = number_in("/proc/sys/kernel/yama/ptrace_scope");
	f->seccomp = atoi(value(&its, "Seccomp"));
	f->filters = atoi(value(&its, "Seccomp_filters"));
	f->own_filters = atoi(value(&own, "Seccomp_filters"));
	const char *features = value(&its, "x86_Thread_features"),
		   *shadow = strstr(features, "shstk");
	f->shadow_stack = shadow && shadow < features + strcspn(features, "\n");
	f->uid_unmapped = elsewhere(pid, "user") && !is_mapped(f->thread, f->uid);
	f->other_network = elsewhere(pid, "net");
}

const char *attach_name(const struct attach_facts *f, char *buf, size_t size)
{
	snprintf(buf, size, *f->name ? "%d (%s)" : "%d", (int)f->pid, f->name);
	return buf;
}

/* Says why memtop's user may not trace the process. */
static int judge_rights(const struct attach_facts *f, const char *name, struct err *err)
{
	if (f->allowed)
		return 0;
	if (f->capable)
		return f->ptrace_scope == 3
			       ? err_set(err, 3,
					 "%s: kernel.yama.ptrace_scope is 3: nobody may trace "
					 "until the next boot; start it with memtop run",
					 name)
			       : 0;
	if (f->other_user && f->own_uid == 0)
		return err_set(err, 3,
			       "%s: belongs to user %u, and this root lacks CAP_SYS_PTRACE, as in "
			       "most containers; add it (docker run --cap-add=SYS_PTRACE), or run "
			       "memtop as that user",
			       name, f->uid);
	if (f->other_user)
		return err_set(err, 3,
			       "%s: belongs to user %u, you are user %u; run memtop as that user "
			       "or as root: sudo memtop attach %d",
			       name, f->uid, f->own_uid, (int)f->pid);
	if (!f->dumpable)
		return err_set(err, 3,
			       "%s: closed to its own user: it was started setuid or with file "
			       "capabilities, or made itself undumpable; run memtop as root: sudo "
			       "memtop attach %d",
			       name, (int)f->pid);
	if (f->more_capable)
		return err_set(err, 3,
			       "%s: has capabilities that you lack; run memtop as root with "
			       "CAP_SYS_PTRACE",
			       name);
	if (f->ptrace_scope > 0)
		return err_set(err, 3,
			       "%s: kernel.yama.ptrace_scope is %d: only root%s may trace it; sudo "
			       "memtop attach %d%s",
			       name, f->ptrace_scope,
			       f->ptrace_scope == 1 ? " and its parents" : "", (int)f->pid,
			       f->ptrace_scope == 1 ? ", or sudo sysctl kernel.yama.ptrace_scope=0"
						    : "");
	return 0;
}

static int refuse_traced(const char *name, pid_t tracer, const char *tracer_name, struct err *err)
{
	if (inject_names_attach(tracer_name))
		return err_set(err, 3,
			       "%s: another memtop attaches to it (process %d); try again when "
			       "that has ended",
			       name, (int)tracer);
	return err_set(err, 3,
		       "%s: already traced by %d (%s), and a process has only one tracer; end "
		       "that tracer first",
		       name, (int)tracer, tracer_name);
}

int attach_refuse_traced(const char *name, pid_t tracer, struct err *err)
{
	char tracer_name[64];

	tracer = process_of(tracer);
	name_of(tracer, tracer_name, sizeof tracer_name);
	return refuse_traced(name, tracer, tracer_name, err);
}

int attach_judge(const struct attach_facts *f, struct err *err)
{
	char name[96];

	attach_name(f, name, sizeof name);
	if (f->gone)
		return err_set(err, 3, "%d: no such process; ps -e lists processes", (int)f->pid);
	if (f->pid == f->self)
		return err_set(err, 3, "%s: this is memtop itself; name the process to watch",
			       name);
	if (f->group && f->group != f->pid)
		return err_set(err, 3, "%s: a thread, not a process; use memtop attach %d", name,
			       (int)f->group);
	if (f->program)
		return agent_server_explain(name, f->program, f->program_name, err);
	if (f->kernel)
		return err_set(
			err, 3,
			"%s: a thread of the kernel: it has no heap; name a program's process",
			name);
	if (f->state == 'Z' && f->threads < 2)
		return err_set(err, 3,
			       "%s: has ended: a zombie that its parent %d (%s) has not waited "
			       "for; start it again",
			       name, (int)f->parent, f->parent_name);
	if (f->ending)
		return err_set(err, 3, "%s: is ending; start it again", name);
	if (f->tracer)
		return refuse_traced(name, f->tracer, f->tracer_name, err);
	if (judge_rights(f, name, err))
		return -1;
	if (f->state == 'T')
		return err_set(err, 3,
			       "%s: stopped (SIGSTOP or job control): one of its threads may hold "
			       "a lock; continue it first: kill -CONT %d",
			       name, (int)f->pid);
	if (f->seccomp == 1)
		return err_set(err, 3,
			       "%s: in seccomp's strict mode: loading the agent would kill it; "
			       "start it with memtop run",
			       name);
	if (f->shadow_stack)
		return err_set(err, 3,
			       "%s: runs with a shadow stack: memtop cannot make it call dlopen; "
			       "start it with memtop run, or without the shadow stack "
			       "(GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK)",
			       name);
	if (f->uid_unmapped)
		return err_set(err, 3,
			       "%s: its user namespace maps no number to its own user %u, so its "
			       "agent would refuse everybody; give it a map (unshare "
			       "--map-current-user)",
			       name, f->uid);
	return 0;
}
