/* SPDX-License-Identifier: MIT
 *
 * test_code_store.c - how often files are opened for modules of many processes. This file replaces
 * symbols/code_file.c: its files exist by name, and every opening counts.
 */
#include "check.h"
#include "symbols/code_file.h"

struct code_file {
	struct code_stat is;
	bool found, dwarf, rested;
};

/* the disk */
static const struct disk_file {
	const char *path;
	uint64_t inode, mtime, size;
	bool dwarf;
} disk[] = {
	{ "/usr/lib/libc.so", 1, 1, 100, true },
	{ "/lib/libc.so", 1, 1, 100, true },   /* the same file */
	{ "/opt/libc.so", 2, 1, 100, false },  /* stripped */
	{ "/snap/libc.so", 3, 1, 100, false }, /* likewise, another file */
	{ "/app", 4, 1, 100, false },
	{ "/app.again", 4, 2, 100, false }, /* written anew, in place */
	{ "/app.link", 4, 1, 100, false },  /* /app */
	{ "/huge", 5, 1, 300ull << 20, true },
};

static const struct code_places nowhere;
static unsigned opened, closed;

struct code_file *code_file_open(const struct code_where *w, const struct code_places *places,
				 char **problem)
{
	struct code_file *f = xcalloc(1, sizeof *f);

	(void)places;
	*problem = NULL;
	opened++;
	for (size_t i = 0; i < sizeof disk / sizeof *disk; i++)
		if (!strcmp(disk[i].path, w->path)) {
			f->is = (struct code_stat){ 1, disk[i].inode, disk[i].size, disk[i].mtime };
			f->found = true;
			f->dwarf = disk[i].dwarf;
		}
	if (!strncmp(w->path, "/bin/", 5)) {
		f->is = (struct code_stat){ 1, 1000 + strtoull(w->path + 5, NULL, 10), 10, 1 };
		f->found = true;
	}
	if (!f->found)
		*problem = xstrdup("no such file");
	return f;
}

void code_file_close(struct code_file *f)
{
	closed++;
	free(f);
}

void code_file_rest(struct code_file *f)
{
	f->rested = true;
}

bool code_file_has_dwarf(const struct code_file *f)
{
	return f->dwarf;
}

bool code_file_stat(const struct code_file *f, struct code_stat *is)
{
	*is = f->is;
	return f->found;
}

uint64_t code_file_bytes(const struct code_file *f)
{
	return f->is.size;
}

static struct code_where module(const char *path, const char *id, unsigned pid)
{
	return (struct code_where){ .path = path,
				    .build_id = (const uint8_t *)id,
				    .build_id_len = strlen(id),
				    .pids = { pid } };
}

static struct code_stored *take(struct code_store *s, const char *path, const char *id,
				unsigned pid)
{
	struct code_where w = module(path, id, pid);
	char *problem;
	struct code_stored *f = code_store_take(s, &w, &problem);

	code_store_use(f);
	free(problem);
	return f;
}

/* Two modules, one after the other: do they get the same file, after how many openings? */
TEST(which_modules_share_a_file)
{
	static const struct {
		const char *path, *id, *next_path, *next_id;
		bool same;
		unsigned opened;
	} cases[] = {
		/* another process */
		{ "/opt/libc.so", "c0", "/opt/libc.so", "c0", true, 1 },
		/* another build at that path */
		{ "/opt/libc.so", "c0", "/opt/libc.so", "c1", false, 2 },
		/* one with DWARF serves all paths, also of a container whose files are not here */
		{ "/usr/lib/libc.so", "c0", "/lib/libc.so", "c0", true, 1 },
		{ "/usr/lib/libc.so", "c0", "/opt/libc.so", "c0", true, 1 },
		{ "/usr/lib/libc.so", "c0", "/elsewhere/libc.so", "c0", true, 1 },
		/* a stripped one serves no other path: there it may have DWARF */
		{ "/opt/libc.so", "c0", "/usr/lib/libc.so", "c0", false, 2 },
		{ "/opt/libc.so", "c0", "/snap/libc.so", "c0", false, 2 },
		/* without a build-id the file itself decides */
		{ "/app", "", "/app", "", true, 2 },
		{ "/app", "", "/app.link", "", true, 2 },
		{ "/app", "", "/app.again", "", false, 2 },
		{ "/app", "", "/app", "c0", false, 2 },
		/* none was found: the next process may have one */
		{ "/nowhere", "c0", "/nowhere", "c0", false, 2 },
		{ "/nowhere", "", "/nowhere", "", false, 2 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct code_store *s = code_store_new(&nowhere);
		opened = closed = 0;
		struct code_stored *a = take(s, cases[i].path, cases[i].id, 1),
				   *b = take(s, cases[i].next_path, cases[i].next_id, 2);
		CHECK_EQ(a == b, cases[i].same);
		CHECK_EQ(opened, cases[i].opened);
		code_store_give_back(s, a);
		code_store_give_back(s, b);
		code_store_free(s);
		CHECK_EQ(closed, opened);
	}
}

/* A build: one compiler after the other. */
TEST(the_next_process_finds_the_file_open)
{
	struct code_store *s = code_store_new(&nowhere);

	for (unsigned pid = 1; pid <= 1000; pid++) {
		struct code_stored *exe = take(s, "/bin/1", "e1", pid),
				   *libc = take(s, "/opt/libc.so", "c0", pid);
		code_store_give_back(s, exe);
		code_store_give_back(s, libc);
	}
	CHECK_EQ(opened, 2);
	code_store_free(s);
}

/* A test run: a thousand programs. */
TEST(few_files_without_a_process_stay_open)
{
	struct code_store *s = code_store_new(&nowhere);
	struct code_stored *libc = take(s, "/opt/libc.so", "c0", 1);
	char path[32], id[32];

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(path, sizeof path, "/bin/%u", i);
		snprintf(id, sizeof id, "e%u", i);
		code_store_give_back(s, take(s, path, id, i));
		CHECK(opened - closed <= 33);
	}
	CHECK_EQ(opened - closed, 33);
	CHECK(take(s, "/opt/libc.so", "c0", 2) == libc); /* it has a process: it stays */
	unsigned before = opened;
	take(s, "/bin/999", "e999", 1); /* the newest stay */
	CHECK_EQ(opened, before);
	take(s, "/bin/1", "e1", 1);
	CHECK_EQ(opened, before + 1);
	code_store_free(s);
}

TEST(a_huge_file_without_a_process_is_closed)
{
	struct code_store *s = code_store_new(&nowhere);
	struct code_stored *a = take(s, "/huge", "a0", 1), *b = take(s, "/huge", "a0", 2);

	code_store_give_back(s, a);
	CHECK_EQ(closed, 0);
	code_store_give_back(s, b);
	CHECK_EQ(closed, 1);
	code_store_free(s);
}

TEST(unused_files_free_their_data)
{
	struct code_store *s = code_store_new(&nowhere);
	struct code_stored *a = take(s, "/bin/1", "e1", 1), *b = take(s, "/bin/2", "e2", 1);
	bool freed;

	CHECK(code_store_rest(s, 3600000000000ull, &freed) > now_ns());
	CHECK(!freed);
	CHECK_EQ(code_store_rest(s, 0, &freed), 0);
	CHECK(freed);
	CHECK(code_store_use(a)->rested);
	code_store_use(a)->rested = false;
	CHECK_EQ(code_store_rest(s, 0, &freed), 0); /* the other one rests already */
	CHECK(freed);
	CHECK(code_store_use(a)->rested);
	code_store_rest(s, 0, &freed);
	code_store_rest(s, 0, &freed);
	CHECK(!freed);
	(void)b;
	code_store_free(s);
}

/* What took long to read is kept longer. */
TEST(a_file_rests_by_what_it_took)
{
	const uint64_t second = 1000000000u, hour = 3600 * second;
	struct code_store *s = code_store_new(&nowhere);
	struct code_stored *a = take(s, "/bin/1", "e1", 1);
	bool freed;

	code_store_use(a);
	for (unsigned i = 0; i < 100000; i++)
		code_store_took(a, 900000); /* answers from what is there */
	CHECK(code_store_rest(s, hour, &freed) < now_ns() + 3 * second);
	code_store_took(a, 100 * second);
	CHECK(code_store_rest(s, hour, &freed) > now_ns() + 900 * second);
	CHECK(code_store_rest(s, 60 * second, &freed) < now_ns() + 61 * second);
	CHECK(!freed);
	code_store_rest(s, 0, &freed);
	code_store_use(a); /* it is read again, which took no time */
	CHECK(freed && code_store_rest(s, hour, &freed) < now_ns() + 3 * second);
	code_store_free(s);
}

TEST(a_store_is_of_its_places)
{
	static const struct {
		const char *sysroot, *dirs[2];
		size_t count;
	} all[] = { { NULL, { 0 }, 0 },          { "/a", { 0 }, 0 },         { "/b", { 0 }, 0 },
		    { NULL, { "/a" }, 1 },       { "/a", { "/a" }, 1 },      { "/a", { "/b" }, 1 },
		    { "/a", { "/a", "/b" }, 2 }, { "/a", { "/b", "/a" }, 2 } };
	enum { N = sizeof all / sizeof *all };

	for (size_t i = 0; i < N; i++) {
		struct code_store *s = code_store_new(
			&(struct code_places){ all[i].sysroot, all[i].dirs, all[i].count });
		for (size_t k = 0; k < N; k++) {
			struct code_places p = { all[k].sysroot, all[k].dirs, all[k].count };
			CHECK_EQ(code_store_searches(s, &p), i == k);
		}
		code_store_free(s);
	}
}
