/* SPDX-License-Identifier: MIT
 *
 * progcheck.c - reads just enough of a file to tell whether the loader will load the agent.
 *
 * It uses no ELF library: the few fields lie at fixed places, and the file is untrusted, so every
 * offset is checked against what pread returned. It reads both word sizes and byte orders, since it
 * must name a wrong architecture.
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

#include <memtop/options.h>

#define SCRIPT_DEPTH 4    /* the kernel's own limit of interpreters of interpreters */
#define HEADERS_MAX 128   /* program headers looked at */
#define LAUNCHER_WORDS 32 /* arguments looked at, as by the agent */

static uint64_t field(const unsigned char *p, int bytes, bool big)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * (big ? bytes - 1 - i : i);
	return v;
}

/* Each note: the owner's size, its text's, a type, the owner with its end, the text. */
static void read_notes(const unsigned char *notes, size_t len, struct elf_kind *k)
{
	for (size_t at = 0; at + 12 <= len;) {
		size_t owner_len = field(notes + at, 4, k->big_endian),
		       text_len = field(notes + at + 4, 4, k->big_endian),
		       text = at + 12 + ((owner_len + 3) & ~(size_t)3);
		uint64_t type = field(notes + at + 8, 4, k->big_endian);
		const char *owner = (const char *)notes + at + 12;
		if (text > len || text_len > len - text)
			return;
		bool ours = owner_len == sizeof MTW_NOTE_OWNER &&
			    !memcmp(owner, MTW_NOTE_OWNER, sizeof MTW_NOTE_OWNER);
		k->linked |= ours && type == MTW_NOTE_LINKED;         /* agent/linked/note.c */
		k->go |= owner_len == 4 && !memcmp(owner, "Go\0", 4); /* its build id */
		if (ours && type == MTW_NOTE_AGENT)                   /* agent/base/conf.c */
			snprintf(k->agent, sizeof k->agent, "%.*s", (int)text_len, notes + text);
		at = text + ((text_len + 3) & ~(size_t)3);
	}
}

static void read_note(int fd, uint64_t offset, uint64_t len, struct elf_kind *k)
{
	unsigned char notes[MTW_NOTE_MAX];
	ssize_t n = offset < INT64_MAX ? pread(fd, notes, len < sizeof notes ? len : sizeof notes,
					       (off_t)offset)
				       : -1;

	if (n > 0)
		read_notes(notes, (size_t)n, k);
}

/* from: where the file begins, in a process' memory; else 0 */
static void read_headers(int fd, uint64_t from, const unsigned char *head, struct elf_kind *k)
{
	bool wide = k->class_bits == 64;
	uint64_t at = field(head + (wide ? 32 : 28), wide ? 8 : 4, k->big_endian);
	unsigned size = (unsigned)field(head + (wide ? 54 : 42), 2, k->big_endian);
	unsigned count = (unsigned)field(head + (wide ? 56 : 44), 2, k->big_endian);
	unsigned char ph[56];

	if (size < (wide ? 56u : 32u) || from > INT64_MAX / 4 || at > INT64_MAX / 4)
		return;
	at += from;
	for (unsigned i = 0; i < count && i < HEADERS_MAX; i++) {
		if (pread(fd, ph, wide ? 56 : 32, (off_t)(at + (uint64_t)i * size)) !=
		    (wide ? 56 : 32))
			return;
		uint64_t type = field(ph, 4, k->big_endian),
			 offset = from + field(ph + (wide ? 8 : 4), wide ? 8 : 4, k->big_endian);
		if (type == PT_NOTE)
			read_note(fd, offset,
				  field(ph + (wide ? 32 : 16), wide ? 8 : 4, k->big_endian), k);
		if (type != PT_INTERP)
			continue;
		ssize_t n = offset < INT64_MAX
				    ? pread(fd, k->interp, sizeof k->interp - 1, (off_t)offset)
				    : -1;
		k->interp[n > 0 ? n : 0] = '\0';
	}
}

static void read_script(const char *head, size_t len, struct elf_kind *k)
{
	if (len >= 2 && head[0] == '#' && head[1] == '!') {
		size_t line = strcspn(head + 2, "\n");
		size_t skip = strspn(head + 2, " \t");
		if (skip < line)
			snprintf(k->script, sizeof k->script, "%.*s", (int)(line - skip),
				 head + 2 + skip);
		return;
	}
	k->text = !memchr(head, '\0', len);
}

static int read_kind(int fd, uint64_t from, struct elf_kind *k)
{
	char head[512] = { 0 };
	ssize_t n = pread(fd, head, sizeof head - 1, (off_t)from);
	int rc = n < 0 ? -errno : 0;

	*k = (struct elf_kind){ 0 };
	if (n >= 52 && !memcmp(head, ELFMAG, SELFMAG)) {
		k->class_bits = head[EI_CLASS] == ELFCLASS64 ? 64 : 32;
		k->big_endian = head[EI_DATA] == ELFDATA2MSB;
		k->type = (int)field((unsigned char *)head + 16, 2, k->big_endian);
		k->machine = (int)field((unsigned char *)head + 18, 2, k->big_endian);
		if (k->class_bits == 32 || n >= 64)
			read_headers(fd, from, (unsigned char *)head, k);
	} else if (n > 0) {
		read_script(head, (size_t)n, k);
	}
	return rc;
}

int progcheck_read(const char *path, struct elf_kind *k)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*k = (struct elf_kind){ 0 };
	if (fd < 0)
		return -errno;
	int rc = read_kind(fd, 0, k);
	close(fd);
	return rc;
}

int progcheck_read_loaded(int mem, uint64_t start, struct elf_kind *k)
{
	return read_kind(mem, start, k);
}

const char *progcheck_machine(const struct elf_kind *k)
{
	static const struct {
		int machine, bits;
		const char *name;
	} names[] = {
		{ EM_X86_64, 64, "x86-64" },    { EM_X86_64, 32, "x32 (32-bit x86-64)" },
		{ EM_386, 32, "32-bit i386" },  { EM_AARCH64, 64, "aarch64" },
		{ EM_ARM, 32, "32-bit arm" },   { EM_RISCV, 64, "riscv64" },
		{ EM_PPC64, 64, "powerpc64" },  { EM_S390, 64, "s390x" },
		{ EM_MIPS, 32, "32-bit mips" }, { EM_MIPS, 64, "mips64" },
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i].machine == k->machine && names[i].bits == k->class_bits)
			return names[i].name;
	return k->class_bits == 64 ? "another 64-bit machine" : "another 32-bit machine";
}

const char *progcheck_if_static(const struct elf_kind *k)
{
	return k->go ? "Go's heap is its own, not malloc's; go tool pprof shows it"
		     : "link it dynamically, or link libmemtop-wrap.a into it";
}

const char *progcheck_if_foreign(const struct elf_kind *k, const char *otherwise)
{
	bool made = (k->machine == EM_X86_64 || k->machine == EM_AARCH64) && k->class_bits == 64;

	return (made || (k->machine == EM_ARM && k->class_bits == 32)) && !k->big_endian
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
	const char *file = strrchr(k->interp, '/');

	return strstr(k->interp, "/ld-musl-")         ? "musl"
	       : file && !strncmp(file, "/linker", 7) ? "bionic"
						      : "glibc";
}

/* The string table has the names of its needed libraries. */
const char *progcheck_agent_libc(const char *agent)
{
	const char *found = NULL;
	FILE *f = fopen(agent, "re");
	char buf[65536 + 16];
	size_t keep = 0, n;

	while (f && !found && (n = fread(buf + keep, 1, 65536, f)) > 0) {
		n += keep;
		found = memmem(buf, n, "libc.so.6", 9)     ? "glibc"
			: memmem(buf, n, "\0libdl.so", 10) ? "bionic"
							   : NULL;
		keep = n < 16 ? n : 16;
		memmove(buf, buf + n - keep, keep);
	}
	if (f)
		fclose(f);
	return found ? found : "musl";
}

static bool is_static(const struct elf_kind *k)
{
	return !*k->interp && !k->linked && (k->type == ET_EXEC || k->type == ET_DYN);
}

static int check_elf(const char *name, const struct elf_kind *k, const char *agent, struct err *err)
{
	struct elf_kind a;

	if (k->linked)
		return 0;
	progcheck_read(agent, &a);
	if (k->machine != a.machine || k->class_bits != a.class_bits ||
	    k->big_endian != a.big_endian)
		return err_set(
			err, 126, "%s: built for %s, but the agent %s is for %s; %s", name,
			progcheck_machine(k), agent, progcheck_machine(&a),
			progcheck_if_foreign(k, "give an agent for that machine with --agent"));
	if (k->type != ET_EXEC && k->type != ET_DYN)
		return err_set(err, 126,
			       "%s: not a program: an object file that was never linked; link it",
			       name);
	if (is_static(k))
		return err_set(
			err, 126,
			"%s: statically linked%s: no agent can be preloaded into it; %s, or, "
			"if it only starts other programs, give --options follow_static=yes",
			name, k->type == ET_DYN ? ", or a shared library" : "",
			progcheck_if_static(k));
	if (strcmp(progcheck_libc(k), progcheck_agent_libc(agent)))
		return err_set(err, 126,
			       "%s: its C library is %s, but the agent %s is for %s; give an agent "
			       "for that library with --agent",
			       name, progcheck_libc(k), agent, progcheck_agent_libc(agent));
	return 0;
}

/* Checks the program's malloc: -1 and *err when no agent can work, else *note for the user, "" =
 * nothing. */
static int check_malloc(const char *name, const char *path, bool linked, char *note,
			size_t note_size, struct err *err)
{
	struct progmalloc m;

	progmalloc_read(path, &m);
	*note = '\0';
	if (m.sanitizer)
		return err_set(err, 126,
			       "%s: built with -fsanitize=%s: it has its own malloc, which cannot "
			       "be interposed; build it without, or %s",
			       name, m.sanitizer,
			       strstr(m.sanitizer, "address") || !strcmp(m.sanitizer, "leak")
				       ? "run it without memtop: it has its own leak check"
				       : "run it without memtop");
	if (linked)
		return 0;
	if (m.own || m.own_hidden)
		snprintf(note, note_size,
			 "%s: has a malloc of its own: memtop misses what %s, unless it passes the "
			 "calls on; to see all, build it with the system's malloc, or link "
			 "libmemtop-wrap.a into it",
			 name,
			 m.own ? "it and its libraries allocate there" : "it allocates there");
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
	for (int depth = 0; depth <= SCRIPT_DEPTH; depth++) {
		int rc = progcheck_read(at, k);
		if (rc == -EACCES)
			return 0;
		if (rc)
			return err_set(err, 126, "%s: cannot be read: %s; check the path", what,
				       strerror(-rc));
		if (k->class_bits)
			return 1;
		if (!*k->script) {
			if (!k->text)
				return err_set(err, 126,
					       "%s: not a program: neither ELF nor a script; check "
					       "the path",
					       what);
			snprintf(k->script, sizeof k->script, "/bin/sh"); /* as execvp does */
		}
		snprintf(at, PATH_MAX, "%.*s", (int)strcspn(k->script, " \t\r"), k->script);
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

	return what_runs(path, &k) && !strcmp(progcheck_libc(&k), "musl");
}

bool progcheck_linked(const char *path)
{
	struct elf_kind k;

	return what_runs(path, &k) && k.linked;
}

bool progcheck_static(const char *path)
{
	struct elf_kind k;

	return what_runs(path, &k) && is_static(&k);
}

const char *progcheck_launched(char *const argv[], char *path)
{
	for (size_t i = 1; argv[i] && i < LAUNCHER_WORDS; i++)
		if (argv[i][0] != '-' && !progcheck_find(argv[i], path, PATH_MAX, NULL) &&
		    !progcheck_static(path))
			return argv[i];
	return NULL;
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
		       : check_malloc(what, now, k.linked, note, note_size, err);
}
