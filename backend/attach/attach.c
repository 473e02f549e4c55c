/* SPDX-License-Identifier: MIT
 *
 * attach.c - `memtop attach`: checks what can be checked beforehand, chooses the agent, its file
 * and its options, and has it loaded (attach/tracer.h). A reason that was found while the process
 * changed is not the reason: it looks again (attach/identity.h).
 *
 * The agent's file. Where the process sees the same file and may read it, dlopen gets its path.
 * Elsewhere (another mount namespace, a chroot, a folder closed to its user) it gets a copy in a
 * memfd, which needs no folder, permission or clean-up, only a mounted /proc. Android's processes
 * always get the memfd: their linker checks an app's namespace for files in folders but not for
 * memfds, and a file that the process made itself has the process' label.
 *
 * Where the agent listens. At @memtop.PID, with the pid that memtop knows, whatever the process'
 * own pid namespace calls it. Abstract names belong to a network namespace: in another one, which
 * not everybody who may trace the process may enter, the agent listens at a socket in a folder of
 * the process' root. memtop finds either by the pid (launch/list.c).
 */
#include "attach/attach.h"

#include "attach/identity.h"
#include "attach/ptrace/inject.h"
#include "attach/ptrace/modules.h"
#include "attach/ptrace/safe_point.h"
#include "attach/tracer.h"
#include "base/procfs.h"
#include "launch/agent_file.h"
#include "launch/launch.h"
#include "launch/progcheck.h"

#include <errno.h>
#include <limits.h>
#include <memtop/memtop.h>
#include <memtop/wire.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* a process that was killed needs a moment to go */
#define GOING_TRIES 10
#define GOING_PAUSE_NS 20000000
/* the last session's server needs a moment to exit, seconds on a busy machine */
#define LEAVING_TRIES 50
#define LEAVING_PAUSE_NS 200000000
/* after an exec the loader needs a moment to map the C library, on a busy machine seconds */
#define LOADING_TRIES 100
#define LOADING_PAUSE_NS 20000000
/* while another memtop attaches, or while the process executes programs */
#define ANOTHER_NS 20000000000ull
#define ANOTHER_PAUSE_NS 20000000

struct plan {
	struct attach_facts facts;
	char name[96];
	char agent[PATH_MAX]; /* as memtop sees it */
	bool loaded;          /* that build of it is there already */
	char said[512];       /* why an agent there has no session; "" = it did not say */
	bool bionic;          /* its C library is Android's */
	bool copy;            /* by a memfd */
	char proc[64];        /* its folder in its own /proc, as it sees it: for the memfd */
	char *options;
	pid_t tracer; /* refused because of this one; else 0 */
	struct inject_result result;
};

int attach_refuse_second(pid_t pid, const char *name, struct err *err)
{
	return err_set(err, 3, "%s: has an agent already; use memtop -p %d", name, (int)pid);
}

static int refuse_second(const struct plan *p, struct err *err)
{
	return attach_refuse_second(p->facts.pid, p->name, err);
}

/* Another libc, word size or machine; no loader at all. */
int attach_choose_agent(pid_t pid, const char *name, const char *given, char *agent, size_t size,
			struct err *err)
{
	char exe[64];
	struct elf_kind k, own;

	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)procfs_thread(pid));
	int rc = progcheck_read(exe, &k);
	if (rc)
		return err_set(
			err, 3,
			"%s: its program cannot be read: %s; run memtop as its user or as root",
			name, strerror(-rc));
	progcheck_read("/proc/self/exe", &own);
	if (k.elf.abi.machine != own.elf.abi.machine || k.elf.abi.bits != own.elf.abi.bits)
		return err_set(err, 3, "%s: a program for %s, but this memtop is for %s; %s", name,
			       progcheck_machine(&k), progcheck_machine(&own),
			       progcheck_if_foreign(&k, "use a memtop for that machine"));
	if (launch_find_agent(given, *k.elf.interp && k.elf.abi.libc == ELF_MUSL, agent, size, err))
		return -1;
	progcheck_read(agent, &own);
	if (*k.elf.interp && k.elf.abi.libc != own.elf.abi.libc)
		return err_set(err, 3,
			       "%s: its C library is %s, but the agent %s is for %s; give an agent "
			       "for that library with --agent",
			       name, progcheck_libc(&k), agent, progcheck_libc(&own));
	struct progmalloc m;
	progmalloc_read(exe, &m);
	return m.sanitizer ? progmalloc_refuse(name, m.sanitizer, err) : 0;
}

/* The sanitizer that a wrapper or the system loads, as on Android; NULL = none. */
static const char *loaded_sanitizer(const struct inject_modules *m)
{
	const char *found = NULL;

	for (size_t i = 0; i < m->count && !found; i++) {
		const char *slash = strrchr(m->list[i].path, '/');
		found = elf_sanitizer_of(slash ? slash + 1 : m->list[i].path);
	}
	return found;
}

/* A C library of its own file, so a loader too. */
static bool has_libc(const struct inject_modules *m)
{
	const struct inject_module *libc = NULL;

	return (inject_symbol(m, "__libc_start_main", &libc) ||
		inject_symbol(m, INJECT_BIONIC, &libc)) &&
	       !(libc->program && m->count <= 2);
}

static bool asks_for_loader(const char *exe)
{
	struct elf_kind k;

	return progcheck_read(exe, &k) == 0 && *k.elf.interp;
}

/* Of a process in the middle of an exec it waits for the C library. 0, or -errno. */
static int read_loaded(pid_t pid, const char *exe, struct inject_modules *m)
{
	for (int tries = 1;; tries++) {
		int rc = inject_modules_read(pid, m);
		if (rc || has_libc(m) || tries == LOADING_TRIES || !asks_for_loader(exe))
			return rc;
		inject_modules_release(m);
		nanosleep(&(struct timespec){ 0, LOADING_PAUSE_NS }, NULL);
	}
}

static int refuse_without_libc(const struct plan *p, const char *exe, struct err *err)
{
	struct elf_kind k;

	if (asks_for_loader(exe))
		return err_set(err, 3,
			       "%s: has no C library yet: it is just starting, or uses none; try "
			       "again",
			       p->name);
	progcheck_read(exe, &k);
	return err_set(err, 3, "%s: statically linked: it has no loader to load an agent; %s",
		       p->name, progcheck_if_static(&k));
}

/* Explains a refusal by memtop_attach. */
static int explain(const struct plan *p, int code, struct err *err)
{
	char said[512];

	switch (code) {
	case MEMTOP_ATTACH_ALREADY:
	case MEMTOP_ATTACH_PRELOADED:
		if (!*p->said || !strcmp(p->said, MTW_SAID_DETACHED))
			return refuse_second(p, err);
		return err_set(err, 3, "%s: has an agent already, without a session: %s", p->name,
			       p->said);
	case MEMTOP_ATTACH_OPTIONS:
		return err_set(err, 3,
			       "%s: its agent does not know these options: %s; correct --options "
			       "or MEMTOP_OPTIONS",
			       p->name, p->options);
	case MEMTOP_ATTACH_ALLOCATOR:
		return err_set(err, 3,
			       "%s: has its own malloc, and an agent that comes later cannot see "
			       "its calls; start it with memtop run",
			       p->name);
	case MEMTOP_ATTACH_MEMORY:
		return err_set(err, 3,
			       "%s: no memory for the agent: the process has a limit (ulimit -d "
			       "or -v, a cgroup); raise it",
			       p->name);
	case MEMTOP_ATTACH_SERVER:
		inject_said(p->facts.pid, said, sizeof said);
		if (*said)
			return err_set(err, 3, "%s: its agent cannot listen: %s", p->name, said);
		return err_set(err, 3,
			       "%s: its agent cannot listen: it can create no process or socket "
			       "(limits, seccomp); start it with memtop run",
			       p->name);
	case MEMTOP_ATTACH_LEAVING:
		return err_set(err, 3, "%s: its last agent is still detaching; try again", p->name);
	case MEMTOP_ATTACH_SETUID:
		return err_set(err, 3,
			       "%s: runs setuid: its agent serves nobody; run a copy without the "
			       "setuid bit",
			       p->name);
	default:
		return err_set(
			err, 3,
			"%s: its agent refused with code %d; use an agent of this memtop's version",
			p->name, code);
	}
}

static bool defines_malloc(const struct inject_modules *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].program && inject_module_symbol(m, &m->list[i], "malloc"))
			return true;
	return false;
}

/* Did the kernel start it with other rights than its caller's? */
static bool is_secure(pid_t pid)
{
	char path[64];
	unsigned long pair[2] = { AT_NULL, 0 };

	snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && fread(pair, sizeof pair, 1, f) == 1 && pair[0] != AT_SECURE)
		;
	if (f)
		fclose(f);
	return pair[0] == AT_SECURE && pair[1];
}

/* What memtop_attach would refuse: the agent's file cannot be taken out of the process again. */
static int foresee(const struct plan *p, const struct inject_modules *m)
{
	return is_secure(p->facts.thread) ? MEMTOP_ATTACH_SETUID
	       : defines_malloc(m)        ? MEMTOP_ATTACH_ALLOCATOR
					  : 0;
}

/* Has it agents of earlier attaches? */
static bool read_agents(struct plan *p, const struct inject_modules *m)
{
	struct inject_agents a = inject_find_agents(m, p->agent);

	p->loaded = a.same != 0;
	if (a.same || a.others)
		inject_said(p->facts.pid, p->said, sizeof p->said);
	return a.same || a.others;
}

static int check_modules(struct plan *p, struct err *err)
{
	char exe[64];

	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)p->facts.thread);
	if (progcheck_linked(exe))
		return launch_listed(p->facts.pid, NULL)
			       ? refuse_second(p, err)
			       : err_set(err, 3,
					 "%s: has an agent linked in, whose server is gone, and "
					 "memtop can start no other there; start the program again",
					 p->name);
	struct inject_modules m;
	int rc = read_loaded(p->facts.pid, exe, &m);

	p->bionic = rc == 0 && inject_symbol(&m, INJECT_BIONIC, NULL);
	if (rc) {
		err_set(err, 3,
			"%s: its memory cannot be read: %s; run memtop as root: sudo memtop attach "
			"%d",
			p->name, strerror(-rc), (int)p->facts.pid);
	} else if (!has_libc(&m)) {
		rc = refuse_without_libc(p, exe, err);
	} else if (loaded_sanitizer(&m)) {
		rc = progmalloc_refuse(p->name, loaded_sanitizer(&m), err);
	} else {
		bool any = read_agents(p, &m);
		if ((any || inject_symbol(&m, "memtop_mark", NULL)) &&
		    (launch_listed(p->facts.pid, NULL) || !any))
			rc = refuse_second(p, err);
		else if (!any && (rc = foresee(p, &m)))
			explain(p, rc, err);
	}
	inject_modules_release(&m);
	return rc ? -1 : 0;
}

/* May user uid reach the path? Tests only the bits of others: this only chooses the way. */
static bool open_to_all(const char *path, unsigned uid)
{
	char at[PATH_MAX];
	struct stat st;

	if (uid == 0)
		return true;
	if (stat(path, &st) || !(st.st_mode & S_IROTH))
		return false;
	snprintf(at, sizeof at, "%s", path);
	for (char *slash; (slash = strrchr(at, '/')) && slash != at;) {
		*slash = '\0';
		if (stat(at, &st) || !(st.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool attach_sees(const struct attach_facts *f, const char *agent)
{
	char there[PATH_MAX + 64];
	struct statvfs fs;

	snprintf(there, sizeof there, "/proc/%d/root%s", (int)f->thread, agent);
	return same_file(agent, there) && open_to_all(agent, f->uid) &&
	       !(statvfs(there, &fs) == 0 && (fs.f_flag & ST_NOEXEC));
}

/* Chooses how the agent's file reaches the process. */
static int place(struct plan *p, struct err *err)
{
	char there[PATH_MAX + 64], exe[64];
	const struct attach_facts *f = &p->facts;
	pid_t numbers[2] = { f->inner ? f->inner : f->thread, f->thread };

	p->copy = p->bionic || !attach_sees(f, p->agent);
	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)f->thread);
	for (int i = 0; p->copy && i < 2; i++) {
		snprintf(there, sizeof there, "/proc/%d/root/proc/%d/exe", (int)f->thread,
			 (int)numbers[i]);
		snprintf(p->proc, sizeof p->proc, "/proc/%d", (int)numbers[i]);
		if (same_file(exe, there))
			return 0;
	}
	if (!p->copy)
		return 0;
	return err_set(err, 3,
		       "%s: cannot see the agent's file %s, and has no /proc to receive a copy; "
		       "put a copy under its root and name it with --agent",
		       p->name, p->agent);
}

/* Finds a folder of the process' own root where its user may make a socket. */
static bool socket_folder(const struct attach_facts *f, char *folder, size_t size)
{
	static const char *const folders[] = { "/tmp", "/var/tmp", "/dev/shm", "/run" };
	char path[PATH_MAX];
	struct stat st;
	struct statvfs fs;

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		snprintf(path, sizeof path, "/proc/%d/root%s", (int)f->thread, folders[i]);
		if (stat(path, &st) || !S_ISDIR(st.st_mode) || statvfs(path, &fs) ||
		    (fs.f_flag & ST_RDONLY))
			continue;
		if (!(st.st_mode & S_IWOTH) && st.st_uid != f->uid && f->uid != 0)
			continue;
		snprintf(folder, size, "%s", folders[i]);
		return true;
	}
	return false;
}

static int make_options(struct plan *p, const struct attach_options *o, struct target *t,
			struct err *err)
{
	const char *mine = getenv("MEMTOP_OPTIONS");
	char folder[64], listen[256];
	int pid = (int)p->facts.pid;

	*t = (struct target){ .kind = TARGET_PID, .pid = pid };
	snprintf(t->text, sizeof t->text, "-p %d", pid);
	char *given = xasprintf("%s%s%s", mine ? mine : "", mine && o->options ? " " : "",
				o->options ? o->options : "");
	int rc = 0;
	agent_file_option(given, "listen", listen, sizeof listen);
	if (*listen) {
		rc = err_set(err, 2,
			     "attach: memtop chooses listen= here (@memtop.PID); leave it out of "
			     "the options");
	} else if (p->facts.other_network && socket_folder(&p->facts, folder, sizeof folder)) {
		p->options = xasprintf("listen=unix:%s/memtop-%d.sock %s", folder, pid, given);
	} else {
		p->options = xasprintf("listen=@memtop.%d %s", pid, given);
	}
	free(given);
	return rc;
}

static int prepare(struct plan *p, const struct attach_options *o, struct target *t,
		   struct err *err)
{
	if (attach_judge(&p->facts, err)) {
		p->tracer = p->facts.tracer;
		return -1;
	}
	if (attach_choose_agent(p->facts.pid, p->name, o->agent, p->agent, sizeof p->agent, err) ||
	    check_modules(p, err) ||
	    agent_file_check(p->agent, getenv("MEMTOP_OPTIONS"), o->options, 2, err) ||
	    make_options(p, o, t, err))
		return -1;
	return p->loaded ? 0 : place(p, err);
}

static int load(struct plan *p, struct err *err)
{
	struct inject_result *r = &p->result;
	const struct attach_facts *f = &p->facts;
	struct inject_job job = { .pid = f->pid,
				  .name = p->name,
				  .path = p->agent,
				  .copy = p->copy,
				  .proc = p->proc,
				  .options = p->options,
				  /* as many as we have: the same container's, under which we live,
				   * too */
				  .filtered = f->seccomp == 2 && f->filters != f->own_filters };
	int rc = 0;

	for (int tries = 0; tries < LEAVING_TRIES; tries++) {
		rc = attach_trace(&job, r, err);
		if (rc || r->code != MEMTOP_ATTACH_LEAVING)
			break;
		nanosleep(&(struct timespec){ 0, LEAVING_PAUSE_NS }, NULL);
	}
	if (rc || !r->rc)
		return rc;
	if (r->code < 0)
		return explain(p, r->code, err);
	p->tracer = r->tracer;
	if (r->tracer)
		return attach_refuse_traced(p->name, r->tracer, err);
	*err = r->err;
	return -1;
}

/* After a refusal: is its reason still true of the process? 0: no, another attempt may succeed.
 * Else -1; an end of the process replaces *err. */
static int look_again(const struct plan *p, const struct attach_identity *was, uint64_t until_ns,
		      struct err *err)
{
	if (err->status == 2 || !was->start_ns)
		return -1;
	enum identity is = attach_identity_look(was);
	for (int n = 0; n < GOING_TRIES && is == IDENTITY_SAME && !p->tracer; n++) {
		nanosleep(&(struct timespec){ 0, GOING_PAUSE_NS }, NULL);
		is = attach_identity_look(was);
	}
	if (is == IDENTITY_ENDED)
		return err_set(err, 3, "%s: ended during the attach; start it again", p->name);
	bool let_go = p->tracer && procfs_ended(p->tracer);
	if (is == IDENTITY_SAME && !let_go) {
		if (!p->tracer || !inject_is_attach(p->tracer) || now_ns() >= until_ns)
			return -1;
		if (launch_listed(p->facts.pid, NULL))
			return refuse_second(p, err);
	} else if (now_ns() >= until_ns && !let_go) {
		return err_set(err, 3,
			       "%s: executes programs faster than an agent is loaded; try again "
			       "when it stays, or start it with memtop run",
			       p->name);
	}
	nanosleep(&(struct timespec){ 0, ANOTHER_PAUSE_NS }, NULL);
	return 0;
}

/* Of the file, or of the module that starts there in the process. */
static void version_of(const struct plan *p, uint64_t start, char *version, size_t size)
{
	struct elf_kind k = { 0 };
	struct inject_modules m;

	if (!start)
		progcheck_read(p->agent, &k);
	else if (inject_modules_read(p->facts.pid, &m) == 0)
		progcheck_read_loaded(m.mem, start, &k);
	if (start)
		inject_modules_release(&m);
	agent_file_version(&k, version, size);
}

/* What the user may not expect. */
static void note(const struct plan *p, const struct attach_options *o, struct attached *a)
{
	const struct inject_result *r = &p->result;
	const char *colon = strstr(r->err.text, ": ");
	char uses[64], new[64];

	version_of(p, r->older, uses, sizeof uses);
	version_of(p, 0, new, sizeof new);
	if (r->code == MEMTOP_ATTACH_AGAIN)
		snprintf(a->note, sizeof a->note,
			 "%s: its agent%s%.*s; a new one serves the same counters, "
			 "by the same agent (%s), without the marks and the graph of the past%s",
			 p->name, *p->said ? " had no server: " : "'s server was killed",
			 (int)strcspn(p->said, ";"), p->said, uses,
			 o->options ? "; --options: ignored, the session keeps its own" : "");
	else if (r->older)
		snprintf(a->note, sizeof a->note,
			 "%s: the agent of an earlier attach counts, version %s, not version %s: "
			 "%.180s",
			 p->name, uses, new,
			 colon ? colon + 2 : "its loader takes the one file for the other");
	else if (p->facts.seccomp)
		snprintf(a->note, sizeof a->note,
			 "%s: runs under a seccomp filter: the agent is loaded, and works without "
			 "the system calls that the filter forbids; see the Agent view (A)",
			 p->name);
}

static void tell(const struct plan *p, const struct attach_options *o, uint64_t began,
		 struct attached *a)
{
	const struct inject_result *r = &p->result;

	a->stopped_ns = r->stopped_ns;
	a->whole_ns = now_ns() - began;
	a->threads = r->threads;
	a->looks = r->looks;
	a->idle = r->idle;
	debug_log("attach", 1,
		  "%s: thread %d %s; %u stopped, %u looks; held for %.2f ms, %.2f ms of them for "
		  "the calls; %.2f ms in all",
		  p->name, (int)r->tid, r->idle ? "waited" : "ran", r->threads, r->looks,
		  (double)r->stopped_ns / 1e6, (double)r->called_ns / 1e6,
		  (double)a->whole_ns / 1e6);
	note(p, o, a);
}

int attach_program(pid_t pid, const struct attach_options *o, struct attached *a, struct err *err)
{
	uint64_t began = now_ns(), until = began + ANOTHER_NS;
	struct err why = { 0 };
	struct attach_identity was;
	int rc, again;

	do {
		struct plan *p = xcalloc(1, sizeof *p);

		*a = (struct attached){ .pid = pid };
		attach_identity_take(&was, pid);
		attach_facts(pid, &p->facts);
		attach_name(&p->facts, p->name, sizeof p->name);
		snprintf(a->name, sizeof a->name, "%s", p->facts.name);
		rc = prepare(p, o, &a->target, &why) || load(p, &why) ? -1 : 0;
		again = rc ? look_again(p, &was, until, &why) : -1;
		if (rc == 0)
			tell(p, o, began, a);
		attach_identity_release(&was);
		free(p->options);
		free(p);
	} while (again == 0);
	if (rc && err)
		*err = why;
	return rc;
}
