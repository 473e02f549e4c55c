/* SPDX-License-Identifier: MIT
 *
 * test_codemap.c - maps of generated code: well-formed, garbage, growing, rewritten, larger than
 * its bounds.
 */
#include "check.h"
#include "symbols/perfmap.h"

#include <fcntl.h>
#include <sys/mman.h>

static int file_of(const char *text, size_t len)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	CHECK(fd >= 0 && pwrite(fd, text, len, 0) == (ssize_t)len);
	return fd;
}

static void append(int fd, const char *text)
{
	off_t end = lseek(fd, 0, SEEK_END);

	CHECK(pwrite(fd, text, strlen(text), end) == (ssize_t)strlen(text));
}

static void read_all(struct codemap *c, int fd)
{
	for (int n = 0; codemap_read(c, fd); n++)
		CHECK(n < 1000);
}

/* "" = no name. */
static const char *name_at(struct codemap *c, int fd, uint64_t pc)
{
	static char name[CODEMAP_NAME_MAX];

	read_all(c, fd);
	return codemap_name(c, fd, pc, name) ? name : "";
}

TEST(lines_of_a_map_name_addresses)
{
	static const struct {
		const char *text;
		uint64_t pc;
		const char *name;
	} table[] = {
		/* well-formed */
		{ "1000 10 f\n", 0x1000, "f" },
		{ "1000 10 f\n", 0x100f, "f" },
		{ "1000 10 f\n", 0x1010, "" },
		{ "1000 10 f\n", 0xfff, "" },
		{ "1000 10 LazyCompile:*f /a b.js:1\n", 0x1001, "LazyCompile:*f /a b.js:1" },
		{ "0x1000 0x10 f\n", 0x1001, "f" },
		{ "00007FC0DEADbeef 1 f\n", 0x7fc0deadbeef, "f" },
		{ "1000\t10   f\r\n", 0x1001, "f" },
		{ "ffffffffffffff00 ff f\n", 0xfffffffffffffffe, "f" },
		{ "2000 10 g\n1000 10 f\n", 0x1000, "f" },
		/* garbage is skipped, what follows is not */
		{ "\n\n1000 10 f\n", 0x1000, "f" },
		{ "no map at all\n1000 10 f\n", 0x1000, "f" },
		{ "1000 10\n2000 10 f\n", 0x1000, "" },
		{ "1000 10 \n2000 10 f\n", 0x1000, "" },
		{ "1000 10 \x01\x02\n", 0x1000, "" },
		{ "1000 0 f\n", 0x1000, "" },
		{ "1000 -1 f\n", 0x1000, "" },
		{ "100g 10 f\n", 0x1000, "" },
		{ "10000000000001000 10 f\n", 0x1000, "" },
		{ "ffffffffffffff00 101 f\n", 0xffffffffffffff00, "" },
		{ "1000 100000000 f\n", 0x1000, "" },
		{ " 1000 10 f\n", 0x1000, "" },
		{ "0x 10 f\n", 0, "" },
		/* the last line is not there before it ends */
		{ "1000 10 f\n2000 10 g", 0x2000, "" },
		{ "1000 10 f", 0x1000, "" },
		{ "", 0x1000, "" },
		/* the latest wins */
		{ "1000 10 f\n1000 10 g\n", 0x1000, "g" },
		{ "1000 30 f\n1010 10 g\n", 0x100f, "f" },
		{ "1000 30 f\n1010 10 g\n", 0x1010, "g" },
		{ "1000 30 f\n1010 10 g\n", 0x1020, "f" },
		{ "1010 10 g\n1000 30 f\n", 0x1010, "f" },
		{ "1000 20 f\n1010 20 g\n", 0x1018, "g" },
		{ "1010 20 f\n1000 20 g\n", 0x1018, "g" },
		{ "1010 20 f\n1000 20 g\n", 0x1020, "f" },
		{ "1000 10 a\n1020 10 b\n1040 10 c\n1008 40 d\n", 0x1007, "a" },
		{ "1000 10 a\n1020 10 b\n1040 10 c\n1008 40 d\n", 0x1025, "d" },
		{ "1000 10 a\n1020 10 b\n1040 10 c\n1008 40 d\n", 0x1047, "d" },
		{ "1000 10 a\n1020 10 b\n1040 10 c\n1008 40 d\n", 0x1048, "c" },
	};

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		struct codemap *c = codemap_new();
		int fd = file_of(table[i].text, strlen(table[i].text));
		const char *got = name_at(c, fd, table[i].pc);
		if (strcmp(got, table[i].name))
			printf("  line %zu of the table: %s", i, table[i].text);
		CHECK_STR(got, table[i].name);
		close(fd);
		codemap_free(c);
	}
}

/* Against a plain array of addresses, with lines that overlap at random. */
TEST(latest_wins_at_random)
{
	enum { SPAN = 4096, LINES = 3000 };
	static int truth[SPAN];
	struct codemap *c = codemap_new();
	int fd = file_of("", 0);
	char line[64], want[16];

	srand(1);
	for (int i = 1; i <= LINES; i++) {
		int start = rand() % SPAN, size = 1 + rand() % (rand() % 8 ? 40 : 1500);
		snprintf(line, sizeof line, "%x %x f%d\n", start, size, i);
		append(fd, line);
		for (int a = start; a < start + size && a < SPAN; a++)
			truth[a] = i;
		if (i % 500)
			continue;
		for (int a = 0; a < SPAN; a++) {
			snprintf(want, sizeof want, truth[a] ? "f%d" : "", truth[a]);
			CHECK_STR(name_at(c, fd, (uint64_t)a), want);
		}
	}
	close(fd);
	codemap_free(c);
}

TEST(a_map_that_grows_is_read_on)
{
	struct codemap *c = codemap_new();
	int fd = file_of("1000 10 f\n2000 1", 16);

	CHECK_STR(name_at(c, fd, 0x1000), "f");
	uint64_t version = codemap_version(c);
	CHECK_STR(name_at(c, fd, 0x2000), "");
	CHECK_EQ(codemap_version(c), version);
	append(fd, "0 g");
	CHECK_STR(name_at(c, fd, 0x2000), "");
	append(fd, "2\n");
	CHECK_STR(name_at(c, fd, 0x2000), "g2");
	CHECK(codemap_version(c) > version);
	version = codemap_version(c);
	append(fd, "garbage\n");
	CHECK_STR(name_at(c, fd, 0x1000), "f");
	CHECK_EQ(codemap_version(c), version);
	append(fd, "1000 8 h\n");
	CHECK_STR(name_at(c, fd, 0x1000), "h");
	CHECK_STR(name_at(c, fd, 0x1008), "f");
	close(fd);
	codemap_free(c);
}

TEST(a_map_that_is_rewritten_is_read_again)
{
	static const char *const first =
		"1000 10 first_function\n2000 10 second_function\n3000 10 third_function\n";
	static const char *const texts[] = {
		"1000 10 f\n", /* shorter */
		"2000 10 second_function\n1000 10 f\n3000 10 another_third_function\n", /* longer */
		"1000 10 f\n2000 10 seconds_function\n3000 10 thirds_function\n\n\n\n", /* of the
											   same
											   length,
											   about */
	};

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct codemap *c = codemap_new();
		int fd = file_of(first, strlen(first));
		CHECK_STR(name_at(c, fd, 0x3000), "third_function");
		CHECK(!ftruncate(fd, 0));
		append(fd, texts[i]);
		CHECK_STR(name_at(c, fd, 0x1000), "f");
		close(fd);
		codemap_free(c);
	}
}

/* Rewritten between codemap_read() and codemap_name(): nothing wrong is told. */
TEST(rewritten_under_the_hand)
{
	struct codemap *c = codemap_new();
	int fd = file_of("1000 10 right\n2000 10 other\n", 28);
	char name[CODEMAP_NAME_MAX];

	read_all(c, fd);
	uint64_t version = codemap_version(c);
	CHECK(pwrite(fd, "5000 10 wrong\n", 14, 0) == 14);
	CHECK(!codemap_name(c, fd, 0x1000, name));
	CHECK(codemap_version(c) > version);
	CHECK_STR(name_at(c, fd, 0x5000), "wrong");
	CHECK(!ftruncate(fd, 0));
	CHECK(!codemap_name(c, fd, 0x5000, name));
	CHECK_STR(name_at(c, fd, 0x5000), "");
	close(fd);
	codemap_free(c);
}

TEST(long_lines_are_cut_or_skipped)
{
	struct codemap *c = codemap_new();
	size_t len = 3 * CODEMAP_LINE_MAX;
	char *text = malloc(len + 100);
	int fd;

	/* A name that is too long is cut; a line that is too long is skipped, and so is nothing
	 * behind it. */
	int n = sprintf(text, "1000 10 ");
	memset(text + n, 'x', 10000);
	sprintf(text + n + 10000, "\n2000 10 g\n");
	fd = file_of(text, strlen(text));
	CHECK_EQ(strlen(name_at(c, fd, 0x1000)), CODEMAP_NAME_MAX - 1);
	CHECK_STR(name_at(c, fd, 0x2000), "g");
	close(fd);
	codemap_forget(c);
	n = sprintf(text, "1000 10 f\n3000 10 ");
	memset(text + n, '3', len);
	sprintf(text + len, " 4000 10 no\n2000 10 g\n");
	fd = file_of(text, strlen(text));
	CHECK_STR(name_at(c, fd, 0x1000), "f");
	CHECK_STR(name_at(c, fd, 0x2000), "g");
	CHECK_STR(name_at(c, fd, 0x3000), "");
	CHECK_STR(name_at(c, fd, 0x4000), "");
	close(fd);
	free(text);
	codemap_free(c);
}

TEST(zeros_and_bytes)
{
	static const char text[] =
		"1000 10 f\0g\n\0\0\0\n2000 10 \xff\xfe\x80\n3000 10 \x1b[31mred\n4000 10 g\n";
	struct codemap *c = codemap_new();
	int fd = file_of(text, sizeof text - 1);

	CHECK_STR(name_at(c, fd, 0x1000), "f");
	CHECK_STR(name_at(c, fd, 0x2000), "\xff\xfe\x80");
	CHECK_STR(name_at(c, fd, 0x3000), "");
	CHECK_STR(name_at(c, fd, 0x4000), "g");
	/* A hole of a gigabyte: bounded in slices, memory and bytes. */
	CHECK(!ftruncate(fd, 2ll * CODEMAP_READ_MAX));
	CHECK_STR(name_at(c, fd, 0x4000), "g");
	CHECK(codemap_full(c));
	close(fd);
	codemap_free(c);
}

/* A map of 300 MB: by slices, 16 bytes of memory a line. */
TEST(a_map_of_300_mb_is_read_in_slices)
{
	struct codemap *c = codemap_new();
	int fd = file_of("", 0), lines = 0, slices = 1;
	size_t room = 1 << 20, len = 0;
	char *text = malloc(room);

	for (off_t at = 0; at < 300ll << 20; at += (off_t)len) {
		for (len = 0; len + 300 < room; lines++)
			len += (size_t)sprintf(
				text + len,
				"%x %x LazyCompile:*function%d /srv/app/%0200d.js:1:1\n",
				0x10000000 + lines * 64, 64, lines, lines);
		CHECK(pwrite(fd, text, len, at) == (ssize_t)len);
	}
	while (codemap_read(c, fd))
		slices++;
	CHECK(slices >= 300 / 9);
	CHECK(!codemap_full(c));
	char *name = text;
	CHECK(codemap_name(c, fd, 0x10000000 + 64ull * (unsigned)(lines - 1) + 63, name));
	int last = 0;
	CHECK(sscanf(name, "LazyCompile:*function%d ", &last) == 1);
	CHECK_EQ(last, lines - 1);
	free(text);
	close(fd);
	codemap_free(c);
}
