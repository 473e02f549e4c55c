/* SPDX-License-Identifier: MIT
 *
 * agent_file.c - checks what the user wrote before a program starts.
 *
 * An agent that meets a wrong option leaves its program unprofiled, which then has run in vain. So
 * memtop looks first. Which options there are, the agent's file tells; which values are right,
 * memtop's own table. An option that only the agent knows is newer than memtop, and its value is
 * the agent's to judge.
 */
#include "launch/agent_file.h"
#include "attach/ptrace/modules.h"
#include "base/build.h"
#include "base/procfs.h"
#include "base/sanitize.h"
#include "launch/progcheck.h"

#include <memtop/options.h>
#include <memtop/wire.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEFORE_NOTES "0.1.0 or older"

#define ROW(name, member, ...) { #name, __VA_ARGS__ },
static const struct mtw_option options[] = { MTW_OPTIONS(ROW) };

struct check {
	const char *file;
	char version[128];
	unsigned protocol_min, protocol;
	char names[1024]; /* " NAME NAME ... "; "" = the file does not tell */
	int status;
};

static const struct mtw_option *find(const char *name)
{
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (!strcmp(options[i].name, name))
			return &options[i];
	return NULL;
}

static bool file_has(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool found = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED) {
			found = memmem(at, (size_t)st.st_size, bytes, len);
			munmap(at, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}

static bool agent_knows(const struct check *c, const char *name)
{
	char word[MTW_OPTION_WORD_MAX + 2];
	int n = snprintf(word, sizeof word, " %s ", name);

	if (*c->names)
		return strstr(c->names, word);
	/* as a string of its own */
	word[0] = word[n - 1] = '\0';
	return file_has(c->file, word, (size_t)n);
}

static int check_word(const struct check *c, const char *from, char *word, struct err *err)
{
	struct regex room; /* 4 KiB */
	char *equals = strchr(word, '=');
	uint64_t number;

	if (equals)
		*equals = '\0';
	const struct mtw_option *o = find(word);
	if (!agent_knows(c, word))
		return o ? err_set(err, c->status,
				   "%s: the agent %s, version %s, has no option \"%s\", which "
				   "memtop %s has; leave it out, or give a newer agent",
				   from, c->file, c->version, word, build_version)
			 : err_set(err, c->status,
				   "%s: no option is called \"%s\"; man memtop-agent has a list",
				   from, word);
	if (!equals)
		return err_set(err, c->status,
			       "%s: the value of %s is missing; write %s=VALUE (man memtop-agent)",
			       from, word, word);
	const char *wrong = o ? mtw_option_wrong(o, equals + 1, &number, &room) : NULL;
	return wrong ? err_set(err, c->status,
			       "%s: the value in \"%s=%s\" %s; see man memtop-agent", from, word,
			       equals + 1, wrong)
		     : 0;
}

static int check_text(const struct check *c, const char *from, const char *text, struct err *err)
{
	char word[MTW_OPTION_WORD_MAX];
	int got;

	while (text && (got = mtw_option_word(&text, word, sizeof word)) != 0)
		if (got < 0)
			return err_set(err, c->status,
				       "%s: a quote is not closed, or a word is too long; quote "
				       "each value as man memtop-agent says",
				       from);
		else if (check_word(c, from, word, err))
			return -1;
	return 0;
}

void agent_file_option(const char *text, const char *name, char *value, size_t size)
{
	char word[MTW_OPTION_WORD_MAX];
	size_t len = strlen(name);

	*value = '\0';
	while (text && mtw_option_word(&text, word, sizeof word) > 0)
		if (!strncmp(word, name, len) && word[len] == '=')
			snprintf(value, size, "%s", word + len + 1);
}

void agent_file_version(const struct elf_kind *k, char *version, size_t size)
{
	size_t n = strcspn(k->agent, " ");

	snprintf(version, size, "%.*s", n ? (int)n : (int)strlen(BEFORE_NOTES),
		 n ? k->agent : BEFORE_NOTES);
	sanitize_clean(version, size, version);
}

void agent_file_versions(pid_t pid, char *versions, size_t size)
{
	char exe[64], version[64];
	struct inject_modules m;
	struct elf_kind k;

	*versions = '\0';
	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)procfs_thread(pid));
	if (progcheck_read(exe, &k) == 0 && k.elf.linked) {
		agent_file_version(&k, versions, size);
		return;
	}
	struct inject_agents a = { 0 };
	if (inject_modules_read(pid, &m) == 0)
		a = inject_find_agents(&m, NULL);
	for (unsigned i = 0; i < a.others; i++) {
		size_t n = strlen(versions);
		if (progcheck_read_loaded(m.mem, a.other[i].start, &k))
			continue;
		agent_file_version(&k, version, sizeof version);
		snprintf(versions + n, size - n, "%s%s", n ? ", " : "", version);
	}
	inject_modules_release(&m);
}

int agent_file_check(const char *file, const char *variable, const char *given, int status,
		     struct err *err)
{
	struct check c = { .file = file, .status = status };
	struct elf_kind k;
	int names = 0;

	if (progcheck_read(file, &k) ||
	    !k.elf.abi.bits) /* a script of a program with an agent inside */
		return 0;
	agent_file_version(&k, c.version, sizeof c.version);
	if (sscanf(k.agent, "%*s %u %u%n", &c.protocol_min, &c.protocol, &names) == 2)
		snprintf(c.names, sizeof c.names, "%s ", k.agent + names);
	if (names && (c.protocol < MTW_VERSION_MIN || c.protocol_min > MTW_VERSION))
		return err_set(err, status,
			       "%s: version %s is too %s for memtop %s; give the agent of the "
			       "same version with --agent",
			       file, c.version, c.protocol < MTW_VERSION_MIN ? "old" : "new",
			       build_version);
	return check_text(&c, "MEMTOP_OPTIONS", variable, err) ||
			       check_text(&c, "--options", given, err)
		       ? -1
		       : 0;
}
