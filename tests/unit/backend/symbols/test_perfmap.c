/* SPDX-License-Identifier: MIT
 *
 * test_perfmap.c - the perf map of a program's generated code, and the files that are rejected. The
 * program is the test itself, never another process of this machine.
 */
#include "check.h"
#include "symbols/perfmap.h"

#include <fcntl.h>
#include <sys/stat.h>

#define PC 0x7f0012345010u
#define LINE "7f0012345000 20 right\n"

static char folder[64], map[64];
static uint64_t mapped;

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

static void clean(void)
{
	char command[200];

	snprintf(command, sizeof command, "rm -rf %s %s", folder, map);
	CHECK(!system(command));
}

/* The first file of this process' mappings. */
static void begin(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long long start;

	do
		CHECK(f && fgets(line, sizeof line, f) && sscanf(line, "%llx-", &start) == 1);
	while (!strchr(line, '/'));
	fclose(f);
	mapped = start;
	snprintf(map, sizeof map, "/tmp/perf-%d.map", (int)getpid());
	snprintf(folder, sizeof folder, "/tmp/memtop-test-perfmap-%d", (int)getpid());
	clean();
	CHECK(!mkdir(folder, 0700));
}

static struct perfmap_where myself(void)
{
	return (struct perfmap_where){ .pid = (unsigned)getpid(),
				       .here = { (unsigned)getpid() },
				       .uid = getuid(),
				       .mapped = mapped,
				       .start_unix_ns = unix_now_ns() };
}

/* "" = unknown. */
static const char *name_of(struct perfmap *p, uint64_t pc)
{
	static char name[5000];
	struct code_frame frame;
	int rc;

	for (int n = 0; (rc = perfmap_name(p, pc, true, &frame)) < 0; n++)
		CHECK(n < 1000);
	snprintf(name, sizeof name, "%s", rc ? frame.function : "");
	free(frame.function);
	free(frame.file);
	return name;
}

static const char *found(const struct perfmap_where *where, const struct code_places *places)
{
	struct perfmap *p = perfmap_new(where, places);
	const char *name = name_of(p, PC);

	perfmap_free(p);
	return name;
}

static const struct code_places nowhere;

TEST(a_process_own_map_is_found)
{
	begin();
	struct perfmap_where where = myself();
	CHECK_STR(found(&where, &nowhere), "");
	write_file(map, LINE);
	CHECK_STR(found(&where, &nowhere), "right");
	/* As one of several. */
	where.here[0] = 1;
	where.here[1] = 4194399; /* more than there may be */
	where.server = (unsigned)getpid();
	CHECK_STR(found(&where, &nowhere), "right");
	/* Its first instruction may be where a signal came; a call may be its last. */
	struct perfmap *p = perfmap_new(&where, &nowhere);
	CHECK_STR(name_of(p, 0x7f0012345000), "right");
	CHECK_STR(name_of(p, 0x7f0012345020), "right");
	CHECK_STR(name_of(p, 0x7f0012345021), "");
	perfmap_free(p);
	where.pid = 0;
	CHECK_STR(found(&where, &nowhere), "");
	clean();
}

TEST(of_another_process)
{
	begin();
	struct perfmap_where where = myself();
	write_file(map, LINE);
	where.mapped++;
	CHECK_STR(found(&where, &nowhere), "");
	where.mapped = 0;
	CHECK_STR(found(&where, &nowhere), "");
	/* memtop's own child, in whose place another process is by now. */
	where.mapped = 1;
	where.child = true;
	CHECK_STR(found(&where, &nowhere), "");
	/* It is gone. */
	where.here[0] = 0;
	CHECK_STR(found(&where, &nowhere), "right");
	where.server = (unsigned)getpid(); /* its server has let the memory go */
	CHECK_STR(found(&where, &nowhere), "right");
	where.child = false;
	CHECK_STR(found(&where, &nowhere), "");
	where = myself();
	where.pid++; /* who else has such a pid somewhere: its map is not this program's */
	CHECK_STR(found(&where, &nowhere), "");
	clean();
}

/* Left by a process that had the pid before. */
TEST(a_map_of_an_earlier_process_is_none)
{
	static const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };

	begin();
	struct perfmap_where where = myself();
	write_file(map, LINE);
	CHECK(!utimensat(AT_FDCWD, map, old, 0));
	CHECK_STR(found(&where, &nowhere), "");
	where.here[0] = 0;
	where.child = true;
	CHECK_STR(found(&where, &nowhere), "");
	write_file(map, LINE);
	CHECK_STR(found(&where, &nowhere), "right");
	clean();
}

TEST(no_regular_file)
{
	static const char *const kinds[] = {
		"mkfifo %s",        "mkdir %s",
		"ln -s %s/file %s", "ln -s /dev/zero %2$s",
		"ln -s %2$s %2$s",  "mkdir %2$s && ln -s %1$s/file %2$s/file"
	};
	char command[256], path[100];

	begin();
	struct perfmap_where where = myself();
	snprintf(path, sizeof path, "%s/file", folder);
	write_file(path, LINE);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (i < 2)
			snprintf(command, sizeof command, kinds[i], map);
		else
			snprintf(command, sizeof command, kinds[i], folder, map);
		CHECK(!system(command));
		struct perfmap *p = perfmap_new(&where, &nowhere);
		CHECK_STR(name_of(p, PC), "");
		char *why = perfmap_problem(p);
		CHECK(why && strstr(why, map) && strstr(why, "not a regular file"));
		free(why);
		CHECK_STR(name_of(p, PC), "");
		CHECK(!perfmap_problem(p));
		snprintf(command, sizeof command, "rm -rf %s", map);
		CHECK(!system(command));
		write_file(map, LINE);
		CHECK_STR(name_of(p, PC), "right");
		CHECK(!unlink(map));
		perfmap_free(p);
	}
	clean();
}

TEST(another_users_map_is_none)
{
	begin();
	struct perfmap_where where = myself();
	write_file(map, LINE);
	if (chown(map, 54321, 54321)) {
		puts("SKIP another_users_map_is_none: only root gives a file away");
		clean();
		return;
	}
	struct perfmap *p = perfmap_new(&where, &nowhere);
	CHECK_STR(name_of(p, PC), "");
	char *why = perfmap_problem(p);
	CHECK(why && strstr(why, "user 54321's"));
	free(why);
	perfmap_free(p);
	/* Of a program that is gone, its user as it said it. */
	where.here[0] = 0;
	where.child = true;
	CHECK_STR(found(&where, &nowhere), "");
	where.uid = 54321;
	CHECK_STR(found(&where, &nowhere), "right");
	/* Root's is taken from anybody. */
	CHECK(!chown(map, 0, 0));
	CHECK_STR(found(&where, &nowhere), "right");
	clean();
}

TEST(replaced_and_vanished)
{
	char path[100];

	begin();
	struct perfmap_where where = myself();
	snprintf(path, sizeof path, "%s/new", folder);
	struct perfmap *p = perfmap_new(&where, &nowhere);
	CHECK_STR(name_of(p, PC), "");
	write_file(map, LINE "7f0012346000 20 more\n");
	CHECK_STR(name_of(p, PC), "right");
	uint64_t version = perfmap_version(p);
	CHECK_STR(name_of(p, PC + 0x1000), "more");
	CHECK_EQ(perfmap_version(p), version);
	write_file(path, "7f0012345000 20 renamed\n"); /* shorter, and another file */
	CHECK(!rename(path, map));
	CHECK_STR(name_of(p, PC), "renamed");
	CHECK_STR(name_of(p, PC + 0x1000), "");
	CHECK(perfmap_version(p) > version);
	CHECK(!unlink(map));
	CHECK_STR(name_of(p, PC), "renamed");
	perfmap_free(p);
	clean();
}

TEST(maps_in_given_folders_are_found)
{
	char path[200], link[200];
	const char *dirs[] = { folder };
	struct code_places symbols = { NULL, dirs, 1 }, sysroot = { folder, NULL, 0 };

	begin();
	struct perfmap_where where = { .pid = 4321 };
	CHECK_STR(found(&where, &symbols), "");
	snprintf(path, sizeof path, "%s/perf-4321.map", folder);
	write_file(path, LINE);
	CHECK_STR(found(&where, &symbols), "right");
	CHECK_STR(found(&where, &sysroot), "");
	/* ROOT/tmp, though it be a link that means ROOT/real: not the machine's own /real. */
	snprintf(link, sizeof link, "%s/real", folder);
	CHECK(!mkdir(link, 0700));
	snprintf(path, sizeof path, "%s/real/perf-4321.map", folder);
	write_file(path, "7f0012345000 20 in_root\n");
	snprintf(link, sizeof link, "%s/tmp", folder);
	CHECK(!symlink("/real", link));
	CHECK_STR(found(&where, &sysroot), "in_root");
	/* A system root stands for this machine's. */
	where = myself();
	write_file(map, LINE);
	CHECK_STR(found(&where, &nowhere), "right");
	CHECK_STR(found(&where, &sysroot), "");
	clean();
}

TEST(names_of_scripts)
{
	static const struct {
		const char *name, *function, *file;
		uint32_t line;
	} table[] = {
		{ "LazyCompile:*draw /srv/app/draw.js:12:5", "draw", "/srv/app/draw.js", 12 },
		{ "LazyCompile:~draw /srv/app/draw.js:12", "draw", "/srv/app/draw.js", 12 },
		{ "JS:^draw file:///srv/draw.mjs:1:20", "draw", "file:///srv/draw.mjs", 1 },
		{ "JS:+Tile.draw node:internal/timers:512:19", "Tile.draw", "node:internal/timers",
		  512 },
		{ "JS:*get size /srv/a b.js:7:1", "get size", "/srv/a b.js", 7 },
		{ "Function:draw draw.js:3", "draw", "draw.js", 3 },
		{ "JS:~ /srv/app/draw.js:9:2", "(anonymous) /srv/app/draw.js:9:2",
		  "/srv/app/draw.js", 9 },
		{ "Script:~ evalmachine.<anonymous>:1:1", "(anonymous) evalmachine.<anonymous>:1:1",
		  "evalmachine.<anonymous>", 1 },
		/* everything else is a name */
		{ "JS:*draw", "JS:*draw", NULL, 0 },
		{ "JS:*draw /srv/draw.js", "JS:*draw /srv/draw.js", NULL, 0 },
		{ "JS:", "JS:", NULL, 0 },
		{ "JS::1", "JS::1", NULL, 0 },
		{ "JS:* :1", "JS:* :1", NULL, 0 },
		{ "JS:*x:1:2", "JS:*x:1:2", NULL, 0 },
		{ "JS:*f /a.js:99999999999999999999", "JS:*f /a.js:99999999999999999999", NULL, 0 },
		{ "BytecodeHandler:Add", "BytecodeHandler:Add", NULL, 0 },
		{ "Builtin:ArrayPrototypeMap", "Builtin:ArrayPrototypeMap", NULL, 0 },
		{ "Lcom/example/Tile;::draw(II)V", "Lcom/example/Tile;::draw(II)V", NULL, 0 },
		{ "Interpreter", "Interpreter", NULL, 0 },
		{ "_ZN4tile4drawEi", "tile::draw(int)", NULL, 0 },
	};
	struct code_frame f;

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		perfmap_js(table[i].name, &f);
		CHECK_STR(f.function, table[i].function);
		CHECK_STR(f.file ? f.file : "none", table[i].file ? table[i].file : "none");
		CHECK_EQ(f.line, table[i].line);
		free(f.function);
		free(f.file);
	}
}
