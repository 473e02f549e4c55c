/* SPDX-License-Identifier: MIT
 *
 * test_executable.c - which programs can load the agent: files of every kind, including some that
 * no linker writes.
 */
#include "check.h"
#include "follow/executable.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <memtop/elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/memtop-executable-XXXXXX";

static void remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof command, "/bin/rm -r %s", folder);
	CHECK(!system(command));
}

static void enter_folder(void)
{
	CHECK(mkdtemp(folder) && !chdir(folder));
}

static const char *file(const char *name, const void *bytes, size_t len, mode_t mode)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && !fchmod(fd, mode) && !close(fd));
	return path;
}

static const char *text(const char *name, const char *lines)
{
	return file(name, lines, strlen(lines), 0755);
}

/* errno stays, and no descriptor is left. */
static struct executable look(const char *path)
{
	struct executable x;
	int next = dup(0);

	close(next);
	errno = 77;
	mt_executable_look(&x, AT_FDCWD, path, false);
	CHECK_EQ(errno, 77);
	CHECK_EQ(dup(0), next);
	close(next);
	return x;
}

static struct executable search(const char *name)
{
	struct executable x;

	mt_executable_search(&x, name);
	return x;
}

#define RUNS(x, is)                                                                                \
	do {                                                                                       \
		struct executable got = (x);                                                       \
		CHECK(got.runs);                                                                   \
		CHECK_EQ(got.why, (is));                                                           \
	} while (0)
#define FAILS(x) CHECK(!(x).runs)

/* The start of a real program, to be spoilt. */
static size_t real_program(unsigned char *to, size_t size)
{
	int fd = open("/bin/true", O_RDONLY);
	ssize_t n = read(fd, to, size);

	CHECK(n > 4096 && !close(fd));
	return (size_t)n;
}

TEST(what_execve_and_execvp_find)
{
	RUNS(look("/bin/true"), BOARD_FOLLOWED);
	RUNS(search("true"), BOARD_FOLLOWED);
	CHECK(strchr(search("true").path, '/'));
	FAILS(look("true"));
	FAILS(look(""));
	FAILS(look("/"));
	FAILS(look("/dev/null"));
	FAILS(look("/no/such/file"));
	FAILS(look("/etc/passwd"));
	FAILS(search("no-such-program-at-all"));
	FAILS(search(""));
	FAILS(search("/etc/passwd"));

	struct executable x;
	int fd = open("/bin/true", O_PATH | O_CLOEXEC);
	mt_executable_look(&x, fd, "", true);
	RUNS(x, BOARD_FOLLOWED);
	close(fd);
	mt_executable_look(&x, -1, "", true);
	FAILS(x);
	fd = open("/bin", O_RDONLY | O_DIRECTORY);
	mt_executable_look(&x, fd, "true", false);
	RUNS(x, BOARD_FOLLOWED);
	close(fd);
}

TEST(scripts_lead_to_their_interpreter)
{
	char line[64];

	enter_folder();
	RUNS(look(text("sh", "#!/bin/sh\n")), BOARD_FOLLOWED);
	RUNS(look(text("blanks", "#! \t/bin/sh -e x\n")), BOARD_FOLLOWED);
	RUNS(look(text("cut", "#!/bin/sh")), BOARD_FOLLOWED);
	snprintf(line, sizeof line, "#!%s/sh\n", folder);
	RUNS(look(text("chain", line)), BOARD_FOLLOWED);
	snprintf(line, sizeof line, "#!%s/ring\n", folder);
	FAILS(look(text("ring", line)));
	FAILS(look(text("nowhere", "#!/no/such\n")));
	FAILS(look(text("lone", "#!\n")));
	FAILS(look(text("words", "echo\n")));
	RUNS(search(text("words", "echo\n")), BOARD_FOLLOWED);
	FAILS(look(file("closed", "#!/bin/sh\n", 10, 0644)));
	FAILS(look(text("empty", "")));
	remove_folder();
}

TEST(by_path_as_execvp)
{
	char path[256];

	enter_folder();
	text("true", "#!/no/such/interpreter\n");
	snprintf(path, sizeof path, "/no/such:%s:/bin", folder);
	setenv("PATH", path, 1);
	/* that interpreter is not there: the next one */
	CHECK(!strcmp(search("true").path, "/bin/true"));
	file("true", "no x", 4, 0644);
	CHECK(!strcmp(search("true").path, "/bin/true"));
	snprintf(path, sizeof path, "%s/a%0200d:/bin", folder, 0);
	setenv("PATH", path, 1);
	RUNS(search("true"), BOARD_FOLLOWED);
	setenv("PATH", "", 1); /* the folder that we are in */
	FAILS(search("true"));
	unsetenv("PATH");
	RUNS(search("true"), BOARD_FOLLOWED);
	remove_folder();
}

TEST(other_machines_and_static_ones)
{
	unsigned char bytes[16384];
	size_t n = real_program(bytes, sizeof bytes);
	ElfW(Ehdr) *e = (void *)bytes;

	enter_folder();
	RUNS(look(file("same", bytes, n, 0755)), BOARD_FOLLOWED);
	e->e_machine ^= 1;
	RUNS(look(file("machine", bytes, n, 0755)), BOARD_MACHINE);
	e->e_machine ^= 1;
	e->e_ident[EI_CLASS] ^= 3;
	RUNS(look(file("class", bytes, n, 0755)), BOARD_MACHINE);
	e->e_ident[EI_CLASS] ^= 3;
	e->e_ident[EI_DATA] ^= 3;
	RUNS(look(file("order", bytes, n, 0755)), BOARD_MACHINE);
	e->e_ident[EI_DATA] ^= 3;
	for (int i = 0; i < e->e_phnum; i++)
		if (((ElfW(Phdr) *)(bytes + e->e_phoff))[i].p_type == PT_INTERP)
			((ElfW(Phdr) *)(bytes + e->e_phoff))[i].p_type = PT_NULL;
	RUNS(look(file("static", bytes, n, 0755)), BOARD_STATIC);
	FAILS(look(file("four", bytes, 4, 0755)));
	remove_folder();
}

struct bytes {
	const unsigned char *at;
	size_t size, reads;
};

static size_t read_bytes(void *file, void *to, size_t bytes, uint64_t at)
{
	struct bytes *b = file;
	size_t left = at < b->size ? b->size - at : 0, n = bytes < left ? bytes : left;

	b->reads++;
	memcpy(to, b->at + (n ? at : 0), n);
	return n;
}

#define READS_MAX 30000

static void looked_at(const unsigned char *bytes, size_t size)
{
	struct elf e;
	struct bytes b = { .at = bytes, .size = size };
	bool is = elf_look(&e, read_bytes, &b);

	CHECK(b.reads < READS_MAX &&
	      e.abi.bits == (is ? size >= 64 && bytes[4] == 2 ? 64u : 32u : 0));
	CHECK(memchr(e.interp, '\0', sizeof e.interp));
	CHECK(elf_judge(&e, &e.abi) == BOARD_FOLLOWED || !e.readable || e.sanitizer ||
	      elf_is_static(&e));
}

/* Changes some bytes, in every second round only of the headers. */
static void spoil(unsigned char *bytes, size_t n, int round, uint64_t *seed)
{
	for (int i = 0; i < 6; i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		bytes[(*seed >> 33) % (round % 2 ? 1024 : n)] = (unsigned char)(*seed >> 25);
	}
}

/* Bytes that anybody may have written: it comes to an end, whatever it says. */
TEST(spoilt_headers)
{
	static unsigned char good[16384], bytes[sizeof good];
	size_t n = real_program(good, sizeof good);
	uint64_t seed = 1;

	enter_folder();
	for (int round = 0; round < 300; round++) {
		memcpy(bytes, good, n);
		spoil(bytes, n, round, &seed);
		struct executable x =
			look(file("spoilt", bytes, round % 5 ? n : (seed >> 40) % n, 0755));
		CHECK(x.why <= BOARD_UNREADABLE);
	}
	remove_folder();
}

TEST(spoilt_tables)
{
	int fd = open("/bin/sh", O_RDONLY);
	size_t n = (size_t)lseek(fd, 0, SEEK_END);
	unsigned char *good = malloc(n), *bytes = malloc(n);
	uint64_t seed = 1;

	CHECK(good && bytes && pread(fd, good, n, 0) == (ssize_t)n && !close(fd));
	looked_at(good, n);
	for (size_t cut = 0; cut < n && cut < 4096; cut++)
		looked_at(good, cut);
	for (int round = 0; round < 20000; round++) {
		size_t some = n < 8192 ? n : 8192; /* headers, dynamic symbols, their hash */
		if (round % 100 == 0)
			memcpy(bytes, good, n);
		memcpy(bytes, good, some);
		spoil(bytes, some, round, &seed);
		looked_at(bytes, round % 5 ? n : (seed >> 40) % n);
	}
	free(good);
	free(bytes);
}
