/* SPDX-License-Identifier: MIT
 *
 * perfmap.c - see symbols/perfmap.h. symbols/codemap.c has the lines.
 *
 * All input may be hostile: a container's root folder, the file, its text. The map itself must not
 * be a symbolic link, no link on the way may lead out of the program's root folder, and only a
 * regular file is opened for reading.
 */
#include "symbols/perfmap.h"

#include "symbols/demangle.h"
#include "base/within.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 250000000u  /* so often at most the file is searched for */
#define SLACK_NS 5000000000 /* a process' start is known to about a second */
#define HERE (sizeof((struct perfmap_where *)0)->here / sizeof(unsigned))
#define MAPPINGS_MAX 1000000u

struct perfmap {
	struct perfmap_where where;
	const struct code_places *places; /* borrowed */
	struct codemap *map;
	int fd; /* of the map; -1 = not found yet. Kept open: the file may go with its process */
	struct stat file; /* of fd: its identity */
	uint64_t looked_ns;
	bool met, home;     /* the program was seen alive; in memtop's own folders */
	uint32_t uids[2];   /* real and effective; as seen from here */
	int64_t started_ns; /* unix time; about */
	char *problem;      /* to be told; NULL = none */
	bool told;
};

struct perfmap *perfmap_new(const struct perfmap_where *where, const struct code_places *places)
{
	struct perfmap *p = xcalloc(1, sizeof *p);

	p->where = *where;
	p->places = places;
	p->map = codemap_new();
	p->fd = -1;
	p->uids[0] = p->uids[1] = where->uid;
	p->started_ns = (int64_t)where->start_unix_ns;
	p->home = where->child;
	return p;
}

void perfmap_free(struct perfmap *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	codemap_free(p->map);
	free(p->problem);
	free(p);
}

uint64_t perfmap_version(const struct perfmap *p)
{
	return codemap_version(p->map);
}

char *perfmap_problem(struct perfmap *p)
{
	char *text = p->problem;

	p->problem = NULL;
	return text;
}

static void complain(struct perfmap *p, char *sentence_take)
{
	if (p->told)
		free(sentence_take);
	else
		p->problem = sentence_take;
	p->told = true;
}

/* 1: that process maps a file at that address; 0: another process; -1: no such process. */
static int is_program(unsigned pid, uint64_t mapped)
{
	char path[64], line[512];
	unsigned long long start;
	bool whole = true;
	int rc = -1;

	snprintf(path, sizeof path, "/proc/%u/maps", pid);
	FILE *f = fopen(path, "re");
	for (unsigned n = 0; f && n < MAPPINGS_MAX && fgets(line, sizeof line, f); n++) {
		bool begins = whole;
		whole = strchr(line, '\n') != NULL;
		if (!begins || sscanf(line, "%llx-", &start) != 1)
			continue;
		rc = start == mapped && strchr(line, '/');
		if (start >= mapped)
			break;
	}
	if (f)
		fclose(f);
	return rc;
}

static void read_uids(struct perfmap *p, unsigned pid)
{
	char path[64], line[256];

	snprintf(path, sizeof path, "/proc/%u/status", pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "Uid: %u %u", &p->uids[0], &p->uids[1]) == 2)
			break;
	if (f)
		fclose(f);
}

/* proc(5): field 22 of stat, in ticks since the machine started. */
static void read_start(struct perfmap *p, unsigned pid)
{
	char path[64], text[1024];
	unsigned long long ticks;
	struct timespec up;

	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	const char *after = strrchr(text, ')'); /* the name may hold anything */
	if (!after || clock_gettime(CLOCK_BOOTTIME, &up) ||
	    sscanf(after,
		   ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &ticks) != 1)
		return;
	int64_t hertz = sysconf(_SC_CLK_TCK), age_ns = (int64_t)up.tv_sec * 1000000000 + up.tv_nsec;
	age_ns -= (int64_t)(ticks / (uint64_t)hertz) * 1000000000;
	p->started_ns = (int64_t)unix_now_ns() - age_ns;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void meet(struct perfmap *p, unsigned pid)
{
	char root[64], mounts[64];
	struct stat st;

	snprintf(root, sizeof root, "/proc/%u/root/.", pid);
	snprintf(mounts, sizeof mounts, "/proc/%u/ns/mnt", pid);
	p->met = true;
	if (!stat(root, &st)) /* fails if the process has just ended */
		p->home = same_file(root, "/") && same_file(mounts, "/proc/self/ns/mnt");
	read_uids(p, pid);
	read_start(p, pid);
}

/* Reopens an O_PATH descriptor for reading; takes fd. -1: not a regular file (a FIFO or device
 * is not even opened), or *st is empty. */
static int open_regular(int fd, struct stat *st)
{
	char path[64];
	int again = -1;

	*st = (struct stat){ 0 };
	if (fd < 0)
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
		again = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(fd);
	return again;
}

/* Opens a map of /tmp by O_PATH. */
static int open_within(const char *root, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "tmp/%s", name);
	return within_open(root, path, O_PATH | O_NOFOLLOW);
}

/* Takes fd, a map that claims to be the program's. -1: it cannot be trusted. */
static int owned(struct perfmap *p, int fd, const struct stat *st, const char *name)
{
	int64_t written = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;

	if (!st->st_mode)
		return -1;
	if (!S_ISREG(st->st_mode))
		complain(p, xasprintf("/tmp/%s: names of generated code are unknown: it is not a "
				      "regular file; remove it",
				      name));
	else if (st->st_uid && st->st_uid != p->uids[0] && st->st_uid != p->uids[1])
		complain(p, xasprintf("/tmp/%s: names of generated code are unknown: the file is "
				      "user %u's, not the program's; remove it",
				      name, (unsigned)st->st_uid));
	else if (fd >= 0 && written + SLACK_NS >= p->started_ns)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int find_live(struct perfmap *p, const char *name, struct stat *st)
{
	char root[64];
	bool others = false;

	for (size_t i = 0; p->where.mapped && i <= HERE; i++) {
		unsigned pid = i < HERE ? p->where.here[i] : p->where.server;
		int is = pid ? is_program(pid, p->where.mapped) : -1;
		/* Not the server: it unmaps the memory when the program has ended. */
		others |= is == 0 && i < HERE;
		if (is <= 0)
			continue;
		meet(p, pid);
		snprintf(root, sizeof root, "/proc/%u/root", pid);
		int fd = open_regular(open_within(root, name), st);
		return owned(p, fd, st, name);
	}
	if (!p->home || (others && !p->met)) /* ended: its folders are unknown */
		return -1;
	int fd = open_regular(open_within("/", name), st);
	return owned(p, fd, st, name);
}

/* The user's own folders are trusted. */
static int find_given(const struct perfmap *p, const char *name, struct stat *st)
{
	char path[2 * PATH_MAX];
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < p->places->dir_count; i++) {
		snprintf(path, sizeof path, "%s/%s", p->places->dirs[i], name);
		fd = open_regular(open(path, O_PATH | O_CLOEXEC), st);
		if (fd < 0)
			fd = open_regular(open_within(p->places->dirs[i], name), st);
	}
	if (fd < 0 && p->places->sysroot)
		fd = open_regular(open_within(p->places->sysroot, name), st);
	return fd;
}

static void look_for(struct perfmap *p)
{
	char name[64];
	struct stat st;

	if (!p->where.pid)
		return;
	snprintf(name, sizeof name, "perf-%u.map", p->where.pid);
	int fd = find_given(p, name, &st);
	if (fd < 0 && !p->places->sysroot)
		fd = find_live(p, name, &st);
	if (fd < 0)
		return; /* keeps the old one: a file may go with its process */
	if (p->fd >= 0 && p->file.st_dev == st.st_dev && p->file.st_ino == st.st_ino) {
		close(fd);
		return;
	}
	if (p->fd >= 0) {
		close(p->fd);
		codemap_forget(p->map);
	}
	p->fd = fd;
	p->file = st;
}

static bool ends_in_number(const char *text, size_t *len, uint32_t *number)
{
	size_t n = *len;

	while (n && text[n - 1] >= '0' && text[n - 1] <= '9')
		n--;
	if (n == *len || *len - n > 9 || !n || text[n - 1] != ':')
		return false;
	*number = (uint32_t)strtoul(text + n, NULL, 10);
	*len = n - 1;
	return true;
}

/* Where the script's name begins, in "function script": scripts have paths or URLs, functions may
 * have blanks. */
static const char *script_of(const char *text, size_t len)
{
	static const char *const begins[] = { "/", "file:", "node:", "http", "evalmachine." };
	const char *last = NULL;

	for (const char *p = text; p < text + len; p++) {
		if (*p != ' ')
			continue;
		last = p + 1;
		for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
			if (!strncmp(p + 1, begins[i], strlen(begins[i])))
				return p + 1;
	}
	return last;
}

/* "JS:*fn /dir/file.js:12:5": kind, tier, function, script, line, column (older versions: no
 * column). */
void perfmap_js(const char *name, struct code_frame *frame)
{
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Script:",
					     "Eval:" };
	uint32_t line, number;

	*frame = (struct code_frame){ 0 };
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		size_t kind = strlen(kinds[i]);
		if (strncmp(name, kinds[i], kind))
			continue;
		const char *text = name + kind + (name[kind] && strchr("*~^+'-", name[kind]));
		size_t len = strlen(text);
		const char *script;
		if (!ends_in_number(text, &len, &line))
			break;
		if (ends_in_number(text, &len, &number))
			line = number;
		script = len && text[0] != ' ' ? script_of(text, len) : text + 1;
		if (!script || !len || script >= text + len)
			break;
		frame->file = xstrndup(script, (size_t)(text + len - script));
		frame->line = line;
		/* A function without a name is identified by its place. */
		frame->function = script == text + 1 ? xasprintf("(anonymous) %s", script)
						     : xstrndup(text, (size_t)(script - 1 - text));
		return;
	}
	frame->function = demangle(name);
}

int perfmap_name(struct perfmap *p, uint64_t pc, bool look, struct code_frame *frame)
{
	char name[CODEMAP_NAME_MAX];
	uint64_t now = now_ns();

	*frame = (struct code_frame){ 0 };
	if (look || !p->looked_ns || now - p->looked_ns >= LOOK_NS) {
		look_for(p);
		p->looked_ns = now_ns();
	}
	if (p->fd < 0)
		return 0;
	if (codemap_read(p->map, p->fd))
		return -1;
	if (codemap_full(p->map) && !p->told)
		complain(p, xasprintf("perf-%u.map: some names of generated code are unknown: "
				      "memtop reads only its first %u lines and %u MiB; let the "
				      "program write less",
				      p->where.pid, CODEMAP_LINES_MAX, CODEMAP_READ_MAX >> 20));
	uint64_t version = codemap_version(p->map);
	/* A return address points behind its call. An interrupted pc may begin its function. */
	if (codemap_name(p->map, p->fd, pc - 1, name) || codemap_name(p->map, p->fd, pc, name)) {
		if (!*name)
			return 0;
		perfmap_js(name, frame);
		return 1;
	}
	return codemap_version(p->map) != version ? -1 : 0;
}
