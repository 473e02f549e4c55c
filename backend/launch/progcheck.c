/* SPDX-License-Identifier: MIT
 *
 * progcheck.c - tells whether the loader will load the agent into a program, and says why not.
 *
 * The judge is memtop/elf.h. This file finds the program that a name and a script's first line lead
 * to, and has the sentences for the user.
 */
#include "launch/progcheck.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A file, or a module in a process' memory, which begins at `from`. */
struct source {
	int fd;
	uint64_t from;
};

static size_t read_at(void *file, void *to, size_t bytes, uint64_t at)
{
	const struct source *s = file;
	ssize_t n = s->from + at < INT64_MAX ? pread(s->fd, to, bytes, (off_t)(s->from + at)) : 0;

	return n > 0 ? (size_t)n : 0;
}

static void read_agent(struct source *s, struct elf_kind *k)
{
	size_t size =
		k->elf.agent_bytes < sizeof k->agent ? k->elf.agent_bytes : sizeof k->agent - 1;

	k->agent[read_at(s, k->agent, size, k->elf.agent_at)] = '\0';
}

static void read_script(char *head, size_t len, struct elf_kind *k)
{
	const char *interpreter = elf_script(head);

	k->text = !interpreter && strncmp(head, "#!", 2) && !memchr(head, '\0', len);
	snprintf(k->script, sizeof k->script, "%s", interpreter ? interpreter : "");
}

static int read_kind(struct source s, struct elf_kind *k)
{
	char head[512];
	ssize_t n = pread(s.fd, head, sizeof head - 1, (off_t)s.from);
	int rc = n < 0 ? -errno : 0;

	*k = (struct elf_kind){ .text = false };
	head[n > 0 ? n : 0] = '\0';
	if (elf_look(&k->elf, read_at, &s))
		read_agent(&s, k);
	else if (n > 0)
		read_script(head, (size_t)n, k);
	return rc;
}

int progcheck_read(const char *path, struct elf_kind *k)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*k = (struct elf_kind){ .text = false };
	if (fd < 0)
		return -errno;
	int rc = read_kind((struct source){ .fd = fd }, k);
	close(fd);
	return rc;
}

int progcheck_read_loaded(int mem, uint64_t start, struct elf_kind *k)
{
	return read_kind((struct source){ .fd = mem, .from = start }, k);
}

const char *progcheck_machine(const struct elf_kind *k)
{
	static const struct {
		unsigned machine, bits;
		const char *name;
	} names[] = {
		{ EM_X86_64, 64, "x86-64" },    { EM_X86_64, 32, "x32 (32-bit x86-64)" },
		{ EM_386, 32, "32-bit i386" },  { EM_AARCH64, 64, "aarch64" },
		{ EM_ARM, 32, "32-bit arm" },   { EM_RISCV, 64, "riscv64" },
		{ EM_PPC64, 64, "powerpc64" },  { EM_S390, 64, "s390x" },
		{ EM_MIPS, 32, "32-bit mips" }, { EM_MIPS, 64, "mips64" },
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i].machine == k->elf.abi.machine && names[i].bits == k->elf.abi.bits)
			return names[i].name;
	return k->elf.abi.bits == 64 ? "another 64-bit machine" : "another 32-bit machine";
}

const char *progcheck_if_static(const struct elf_kind *k)
{
	return k->elf.go ? "Go's heap is its own, not malloc's; go tool pprof shows it"
			 : "link it dynamically, or link libmemtop-wrap.a into it";
}

const char *progcheck_if_foreign(const struct elf_kind *k, const char *otherwise)
{
	const struct elf_abi *a = &k->elf.abi;
	bool made = (a->machine == EM_X86_64 || a->machine == EM_AARCH64) && a->bits == 64;

	return (made || (a->machine == EM_ARM && a->bits == 32)) && !a->big_endian
		       ? otherwise
		       : "memtop has no agent for that machine; build the program for one that "
			 "man memtop-machines lists";
}

/* Checks one candidate: 0 runnable, else the errno with the reason. */
static int runnable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode))
		return ENODEV;
	return access(path, X_OK) ? errno : 0;
}

int progcheck_find(const char *name, char *path, size_t size, struct err *err)
{
	const char *dirs = getenv("PATH");
	int why = ENOENT;

	if (strchr(name, '/')) {
		snprintf(path, size, "%s", name);
		why = runnable(path);
	} else {
		for (const char *d = dirs ? dirs : "/bin:/usr/bin"; *name; d++) {
			size_t len = strcspn(d, ":");
			snprintf(path, size, "%.*s%s%s", (int)len, d, len ? "/" : "", name);
			int rc = runnable(path);
			if (rc == 0 || why == ENOENT)
				why = rc == ENOTDIR || rc == EISDIR ? ENOENT : rc;
			d += len;
			if (why == 0 || !*d)
				break;
		}
	}
	if (why == 0)
		return 0;
	if (why == EISDIR)
		return err_set(err, 126,
			       "%s: not a program: it is a directory; name a program in it", name);
	if (why == ENODEV)
		return err_set(err, 126, "%s: not a program: not a plain file; check the path",
			       name);
	if (why == EACCES)
		return err_set(err, 126, "%s: not executable: permission denied; chmod +x %s", name,
			       name);
	if (why == ENOENT || why == ENOTDIR)
		return err_set(err, 127,
			       strchr(name, '/')
				       ? "%s: not found: no such file; check the path"
				       : "%s: not found: no such program in PATH; give its path",
			       name);
	return err_set(err, 126, "%s: cannot be run: %s; check the path", name, strerror(why));
}

/* The kernel's rule for AT_SECURE, under which the loader drops LD_PRELOAD. */
static int check_privileges(const char *name, const char *path, struct err *err)
{
	struct stat st;
	char cap[64];

	if (stat(path, &st))
		return err_set(err, 126, "%s: cannot be examined: %s; check the path", name,
			       strerror(errno));
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return err_set(err, 126,
			       "%s: setuid: the loader preloads no agent into such a program; run "
			       "a copy without the setuid bit",
			       name);
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid())
		return err_set(err, 126,
			       "%s: setgid: the loader preloads no agent into such a program; run "
			       "a copy without the setgid bit",
			       name);
	if (getuid() != 0 && getxattr(path, "security.capability", cap, sizeof cap) > 0)
		return err_set(err, 126,
			       "%s: has file capabilities: the loader preloads no agent into such "
			       "a program; run a copy without them",
			       name);
	return 0;
}

const char *progcheck_libc(const struct elf_kind *k)
{
	static const char *const names[] = {
		[ELF_GLIBC] = "glibc", [ELF_MUSL] = "musl", [ELF_BIONIC] = "bionic"
	};

	return names[k->elf.abi.libc];
}

static int refuse_static(const char *name, const struct elf_kind *k, struct err *err)
{
	return err_set(err, 126,
		       "%s: statically linked%s: no agent can be preloaded into it; %s, or, if it "
		       "only starts other programs, give --options follow_static=yes",
		       name, k->elf.type == ET_DYN ? ", or a shared library" : "",
		       progcheck_if_static(k));
}

/* 0; -1 and *err. A sanitizer is left to check_malloc(). */
static int check_elf(const char *name, const struct elf_kind *k, const char *agent, struct err *err)
{
	struct elf_kind a = { .text = false };

	if (agent)
		progcheck_read(agent, &a);
	enum board_why why = elf_judge(&k->elf, &a.elf.abi);
	if (why == BOARD_MACHINE)
		return err_set(
			err, 126, "%s: built for %s, but the agent %s is for %s; %s", name,
			progcheck_machine(k), agent, progcheck_machine(&a),
			progcheck_if_foreign(k, "give an agent for that machine with --agent"));
	if (k->elf.type != ET_EXEC && k->elf.type != ET_DYN)
		return err_set(err, 126,
			       "%s: not a program: an object file that was never linked; link it",
			       name);
	if (why == BOARD_UNREADABLE)
		return err_set(err, 126,
			       "%s: not a program: its headers are cut off or damaged; build it "
			       "again",
			       name);
	if (why == BOARD_STATIC)
		return refuse_static(name, k, err);
	if (why == BOARD_LIBC)
		return err_set(err, 126,
			       "%s: its C library is %s, but the agent %s is for %s; give an agent "
			       "for that library with --agent",
			       name, progcheck_libc(k), agent, progcheck_libc(&a));
	return 0;
}

/* Checks the program's malloc: -1 and *err when no agent can work, else *note for the user, "" =
 * nothing. */
static int check_malloc(const char *name, const char *path, const struct elf *e, char *note,
			size_t note_size, struct err *err)
{
	struct progmalloc m;

	progmalloc_read(path, &m);
	*note = '\0';
	if (m.sanitizer)
		return err_set(err, 126,
			       "%s: built with %s: it has its own malloc, which cannot be "
			       "interposed; build it without, or %s",
			       name, m.sanitizer,
			       strstr(m.sanitizer, "=address") || strstr(m.sanitizer, "=leak")
				       ? "run it without memtop: it has its own leak check"
				       : "run it without memtop");
	if (e->linked || e->loader)
		return 0;
	if (e->malloc || m.own_hidden)
		snprintf(note, note_size,
			 "%s: has a malloc of its own: memtop misses what %s, unless it passes the "
			 "calls on; to see all, build it with the system's malloc, or link "
			 "libmemtop-wrap.a into it",
			 name,
			 e->malloc ? "it and its libraries allocate there" : "it allocates there");
	else if (m.other)
		snprintf(note, note_size,
			 "%s: calls %s itself: memtop misses these blocks; let it call malloc to "
			 "see all",
			 name, m.other);
	return 0;
}

/*
 * Finds the ELF file behind scripts, which the loader sees. *at begins as the requested file, *what
 * as its name for messages. 1: found; 0: executable but not readable, so nothing is known; -1 and
 * *err.
 */
static int behind_scripts(const char *name, char at[PATH_MAX], char what[PATH_MAX + 64],
			  struct elf_kind *k, struct err *err)
{
	for (int depth = 0; depth <= ELF_SCRIPT_DEPTH; depth++) {
		int rc = progcheck_read(at, k);
		if (rc == -EACCES)
			return 0;
		if (rc)
			return err_set(err, 126, "%s: cannot be read: %s; check the path", what,
				       strerror(-rc));
		if (k->elf.abi.bits)
			return 1;
		if (!*k->script) {
			if (!k->text)
				return err_set(err, 126,
					       "%s: not a program: neither ELF nor a script; check "
					       "the path",
					       what);
			snprintf(k->script, sizeof k->script, "/bin/sh"); /* as execvp does */
		}
		snprintf(at, PATH_MAX, "%s", k->script);
		int why = runnable(at);
		if (why)
			return err_set(
				err, 126,
				"%s: its interpreter %s: %s; correct the script's first line", name,
				at, strerror(why));
		snprintf(what, PATH_MAX + 64, "%s (interpreter %s)", name, at);
	}
	return err_set(err, 126,
		       "%s: not executable: too many nested scripts; run the program itself", name);
}

/* false: nothing is known */
static bool what_runs(const char *path, struct elf_kind *k)
{
	char now[PATH_MAX], what[PATH_MAX + 64] = "";

	snprintf(now, sizeof now, "%s", path);
	return behind_scripts(path, now, what, k, NULL) > 0;
}

bool progcheck_wants_musl(const char *path)
{
	struct elf_kind k;

	return what_runs(path, &k) && *k.elf.interp && k.elf.abi.libc == ELF_MUSL;
}

bool progcheck_linked(const char *path)
{
	struct elf_kind k;

	return what_runs(path, &k) && k.elf.linked;
}

bool progcheck_static(const char *path)
{
	struct elf_kind k;

	return what_runs(path, &k) && (k.elf.type == ET_EXEC || k.elf.type == ET_DYN) &&
	       elf_is_static(&k.elf);
}

/* A launcher's arguments, and where the last one was found. */
struct words {
	char *const *argv;
	char *path; /* PATH_MAX bytes */
};

static const char *word_of(void *of, size_t i)
{
	return ((const struct words *)of)->argv[i];
}

static bool starts(void *of, const char *word)
{
	char *path = ((struct words *)of)->path;

	return !progcheck_find(word, path, PATH_MAX, NULL) && !progcheck_static(path);
}

const char *progcheck_launched(char *const argv[], char *path)
{
	struct words w = { .argv = argv, .path = path };

	return elf_launched(word_of, starts, &w);
}

int progcheck(const char *name, const char *path, const char *agent, char *note, size_t note_size,
	      struct err *err)
{
	char now[PATH_MAX], what[PATH_MAX + 64];
	struct elf_kind k;

	*note = '\0';
	snprintf(now, sizeof now, "%s", path);
	snprintf(what, sizeof what, "%s", name);
	int found = behind_scripts(name, now, what, &k, err);
	if (found < 0 || check_privileges(what, now, err))
		return -1;
	if (!found)
		return 0;
	return check_elf(what, &k, agent, err)
		       ? -1
		       : check_malloc(what, now, &k.elf, note, note_size, err);
}
