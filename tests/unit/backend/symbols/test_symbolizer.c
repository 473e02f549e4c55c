/* SPDX-License-Identifier: MIT
 *
 * test_symbolizer.c - names, lines and inlined frames equal what eu-addr2line -i -f -C prints, at
 * every instruction of programs compiled on the spot; and which file is accepted as the module's.
 */
#include "check.h"
#include "shell.h"
#include "symbols/code_file.h"

#include <limits.h>

static char dir[64];

static void write_file(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	CHECK(f != NULL);
	fputs(text, f);
	fclose(f);
}

static void enter(void)
{
	strcpy(dir, "/tmp/t_sym.XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
}

static void leave(void)
{
	sh("rm -rf %s", dir);
}

static const char cxx_source[] =
	"#include <cstdlib>\n#include <map>\n#include <memory>\n#include <string>\n#include "
	"<vector>\n"
	"namespace app {\n"
	"struct Node { std::string name; std::vector<int> v; };\n"
	"template <class T> inline T *make(int n) { return static_cast<T *>(std::malloc(sizeof(T) "
	"* n)); }\n"
	"static inline int *inner(int n) { return make<int>(n + 1); }\n"
	"static inline int *middle(int n) { int *p = inner(n * 2); p[0] = n; return p; }\n"
	"__attribute__((noinline)) int *outer(int n)\n{\n\tint *p = middle(n);\n\tp[1] = "
	"2;\n\treturn p;\n}\n"
	"namespace { struct Anon { __attribute__((noinline)) long go(long a) { return a * 3 + "
	"std::rand(); } }; }\n"
	"__attribute__((noinline)) void fill(std::map<std::string, std::unique_ptr<Node>> &m)\n"
	"{ for (int i = 0; i < 10; i++) { auto n = std::make_unique<Node>(); n->v.resize(i + 1); "
	"m[std::to_string(i)] = std::move(n); } }\n"
	"}\n"
	"int main(int argc, char **argv)\n{\n\tauto f = [&](int k) { return app::outer(k + argc); "
	"};\n"
	"\tint *p = f(3);\n\tstd::map<std::string, std::unique_ptr<app::Node>> "
	"m;\n\tapp::fill(m);\n"
	"\tapp::Anon a;\n\tlong r = a.go(p[0]);\n\ttry { if (argc > 5) throw std::string(argv[0]); "
	"} catch (std::string &s) { r++; }\n"
	"\tfree(p);\n\treturn r == 42;\n}\n";

static const char c_source[] =
	"#include <stdlib.h>\n#include <string.h>\n"
	"static inline char *dup3(const char *s) { char *p = malloc(strlen(s) * 3 + 1); strcpy(p, "
	"s); return p; }\n"
	"static __attribute__((noinline)) int hidden(int n) { char *p = dup3(\"abc\"); int r = p[n "
	"& 1]; free(p); return r; }\n"
	"int shown(int n) { switch (n) { case 1: return hidden(3); case 2: return hidden(4) * 2; "
	"default: return 7; } }\n"
	"int main(int argc, char **argv) { (void)argv; return shown(argc) == 0; }\n";

/* One answer as text: "function|file|line|inlined" a line. */
static void ours(struct code_file *f, uint64_t pc, char *out, size_t size)
{
	struct code_frame frames[CODE_FRAMES_MAX];
	size_t n = code_file_lines(f, pc, frames, CODE_FRAMES_MAX), used = 0;

	if (!n) {
		code_file_table(f, pc, frames);
		n = 1;
	}
	out[0] = '\0';
	for (size_t i = 0; i < n && used < size; i++) {
		used += (size_t)snprintf(out + used, size - used, "%s|%s|%u\n",
					 frames[i].function ? frames[i].function : "??",
					 frames[i].file ? frames[i].file : "??", frames[i].line);
		CHECK_EQ(frames[i].inlined, i + 1 < n);
		free(frames[i].function);
		free(frames[i].file);
	}
}

static void chomp(char *line)
{
	line[strcspn(line, "\n")] = '\0';
}

/* eu-addr2line joins a relative compilation folder to names that begin with it:
 * "./csu/./csu/version.c", which is no file. */
static const char *joined_once(const char *place)
{
	const char *again = strncmp(place, "./", 2) ? NULL : strstr(place + 2, "/./");
	size_t len = again ? (size_t)(again - place) + 1 : 0;

	return len && !strncmp(place, again + 1, len) ? again + 1 : place;
}

/* "file:12:3", "file:12" or "??:0" -> "|file|12\n" */
static void add_place(char *text, size_t size, char *place)
{
	char *last = strrchr(place, ':'), *before;

	CHECK(last != NULL);
	*last = '\0';
	before = strrchr(place, ':');
	if (before && strspn(before + 1, "0123456789") == strlen(before + 1) && before[1]) {
		*before = '\0';
		last = before;
	}
	size_t used = strlen(text);
	snprintf(text + used, size - used, "|%s|%s\n", joined_once(place), last + 1);
}

/*
 * "f inlined at file:12:3 in g" says where the innermost inlined function was called, and so does
 * the second frame's own line. Where two calls claim one pc eu-addr2line names one in each; what it
 * says first is what binutils' addr2line says too, and counts.
 */
static void take_first_word(char *place, size_t size, const char *inlined_at, size_t frame)
{
	const char *in = *inlined_at ? strstr(inlined_at, " in ") : NULL;

	if (frame == 1 && in && !strncmp(inlined_at, " inlined at ", 12))
		snprintf(place, size, "%.*s", (int)(in - inlined_at - 12), inlined_at + 12);
}

/* Of so many addresses one is looked at; LONG=1: each. No instruction is three bytes long for
 * long, so all kinds of them are met. */
static uint64_t stride(void)
{
	return getenv("LONG") ? 1 : 3;
}

/*
 * eu-addr2line 0.192 leaves out inlined frames at some addresses, and 0.188 does not. Where it
 * differs binutils' addr2line decides, which shares no code with it. true: that one says the same
 * as we do.
 */
static bool binutils_agrees(const char *path, uint64_t pc, const char *mine)
{
	char command[1024], line[8192], theirs[65536] = "";

	snprintf(command, sizeof command, "addr2line -i -f -C -e %s 0x%llx", path,
		 (unsigned long long)pc);
	FILE *p = popen(command, "r");
	CHECK(p != NULL);
	while (fgets(line, sizeof line, p)) {
		chomp(line);
		snprintf(theirs + strlen(theirs), sizeof theirs - strlen(theirs), "%s", line);
		CHECK(fgets(line, sizeof line, p) != NULL);
		line[strcspn(line, "\n ")] = '\0'; /* " (discriminator 3)" */
		add_place(theirs, sizeof theirs, line);
	}
	pclose(p);
	if (strcmp(mine, theirs))
		printf("  binutils:\n%s", theirs);
	return !strcmp(mine, theirs);
}

/* Reads the answers of eu-addr2line -a for the pcs in order and compares. Returns frames that were
 * inlined. */
static size_t compare(struct code_file *f, const char *path, uint64_t low, uint64_t high)
{
	char command[1024], line[8192], theirs[65536] = "", mine[65536];
	char inlined_at[8192] = "";
	size_t inlined = 0, answers = 0, frame = 0;
	uint64_t pc = 0;

	snprintf(command, sizeof command,
		 "for a in $(seq %llu %llu %llu); do printf '0x%%x\\n' $a; done | eu-addr2line -a "
		 "-i -f "
		 "-C -e %s",
		 (unsigned long long)low, (unsigned long long)stride(),
		 (unsigned long long)high - 1, path);
	FILE *p = popen(command, "r");
	CHECK(p != NULL);
	for (bool more = true; more;) {
		more = fgets(line, sizeof line, p) != NULL;
		if (!more || !strncmp(line, "0x", 2)) {
			if (answers++) {
				ours(f, pc, mine, sizeof mine);
				if (strcmp(mine, theirs) && !binutils_agrees(path, pc, mine)) {
					printf("  at 0x%llx ours:\n%s  theirs:\n%s",
					       (unsigned long long)pc, mine, theirs);
					CHECK(!"equal");
				}
			}
			pc = strtoull(line, NULL, 16);
			theirs[0] = inlined_at[0] = '\0';
			frame = 0;
			continue;
		}
		chomp(line);
		char *at = strstr(line, " inlined ");
		if (at) {
			strcpy(inlined_at, at);
			*at = '\0';
			inlined++;
		}
		snprintf(theirs + strlen(theirs), sizeof theirs - strlen(theirs), "%s", line);
		CHECK(fgets(line, sizeof line, p) != NULL);
		chomp(line);
		take_first_word(line, sizeof line, inlined_at, frame++);
		add_place(theirs, sizeof theirs, line);
	}
	pclose(p); /* its status only says that some address has no unit */
	CHECK_EQ(answers - 1, (high - low + stride() - 1) / stride());
	return inlined;
}

static void text_range(const char *path, uint64_t *low, uint64_t *high)
{
	char command[512], address[64], size[64];

	snprintf(command, sizeof command,
		 "readelf -SW %s | awk '$2==\".text\" {print $4, $6} $3==\".text\" {print $5, $7}'",
		 path);
	FILE *p = popen(command, "r");
	CHECK(p && fscanf(p, "%63s %63s", address, size) == 2);
	pclose(p);
	*low = strtoull(address, NULL, 16);
	*high = *low + strtoull(size, NULL, 16);
}

static struct code_file *open_plain(const char *path, const struct code_places *places)
{
	static const struct code_places nowhere;
	struct code_where where = { .path = path };
	char *problem;
	struct code_file *f = code_file_open(&where, places ? places : &nowhere, &problem);

	if (problem)
		printf("  %s\n", problem);
	CHECK(problem == NULL);
	return f;
}

static size_t whole_text(const char *path)
{
	struct code_file *f = open_plain(path, NULL);
	uint64_t low, high;

	text_range(path, &low, &high);
	size_t inlined = compare(f, path, low, high);
	code_file_close(f);
	return inlined;
}

static size_t compiled(const char *compiler, const char *source, const char *name)
{
	char path[256];

	enter();
	write_file(name, source);
	sh("cd %s && %s -o prog %s", dir, compiler, name);
	snprintf(path, sizeof path, "%s/prog", dir);
	size_t inlined = whole_text(path);
	leave();
	return inlined;
}

TEST(cxx_inlined_as_eu_addr2line)
{
	CHECK(compiled("g++ -O2 -g", cxx_source, "a.cc") > 100);
}

TEST(cxx_not_optimised_as_eu_addr2line)
{
	compiled("g++ -O0 -g -no-pie", cxx_source, "a.cc");
}

TEST(c_as_eu_addr2line)
{
	CHECK(compiled("gcc -O2 -g", c_source, "a.c") > 0);
}

TEST(without_debug_info_as_eu_addr2line)
{
	compiled("gcc -O2", c_source, "a.c");
}

TEST(libc_as_eu_addr2line)
{
	char path[PATH_MAX];
	uint64_t low, high;

	FILE *p = popen("ldd /bin/sh | awk '/libc.so.6/ {print $3}'", "r");
	CHECK(p && fscanf(p, "%4000s", path) == 1);
	pclose(p);
	struct code_file *f = open_plain(path, NULL);
	text_range(path, &low, &high);
	for (uint64_t at = low; at + 64 < high; at += (high - low) / 40 * stride())
		compare(f, path, at, at + 64);
	code_file_close(f);
}

/* clang writes no .debug_aranges: eu-addr2line then knows symbols only; lines come all the same. */
TEST(lines_without_debug_aranges)
{
	struct code_frame frames[CODE_FRAMES_MAX];
	char path[256], command[512];
	unsigned long long pc;

	if (system("clang --version >/dev/null 2>&1")) {
		printf("SKIP lines_without_debug_aranges: clang is not installed\n");
		return;
	}
	enter();
	write_file("a.c", c_source);
	sh("cd %s && clang -O2 -g -o prog a.c", dir);
	snprintf(path, sizeof path, "%s/prog", dir);
	snprintf(command, sizeof command, "nm %s | awk '$3==\"shown\" {print $1}'", path);
	FILE *p = popen(command, "r");
	CHECK(p && fscanf(p, "%llx", &pc) == 1);
	pclose(p);
	struct code_file *f = open_plain(path, NULL);
	CHECK_EQ(code_file_lines(f, pc, frames, CODE_FRAMES_MAX), 1);
	CHECK_STR(frames[0].function, "shown");
	CHECK_EQ(frames[0].line, 5);
	leave();
}

TEST(a_file_that_rested_is_read_again)
{
	struct code_frame before[CODE_FRAMES_MAX], after[CODE_FRAMES_MAX], name;
	char path[256];
	uint64_t low, high;
	size_t named = 0;

	enter();
	write_file("a.cc", cxx_source);
	sh("cd %s && g++ -O2 -g -o prog a.cc", dir);
	snprintf(path, sizeof path, "%s/prog", dir);
	struct code_file *f = open_plain(path, NULL);
	text_range(path, &low, &high);
	sh("rm %s && echo another >%s", path, path);
	for (uint64_t pc = low; pc < high; pc += 64) {
		size_t count = code_file_lines(f, pc, before, CODE_FRAMES_MAX);
		code_file_rest(f);
		CHECK_EQ(code_file_lines(f, pc, after, CODE_FRAMES_MAX), count);
		code_file_rest(f);
		bool known = code_file_table(f, pc, &name);
		for (size_t i = 0; i < count; i++) {
			CHECK_STR(after[i].function, before[i].function);
			CHECK_EQ(after[i].line, before[i].line);
		}
		named += count && known;
	}
	CHECK(named > 10);
	code_file_close(f);
	leave();
}

TEST(stripped_with_debuglink)
{
	char path[256];

	enter();
	write_file("a.cc", cxx_source);
	sh("cd %s && g++ -O2 -g -o prog a.cc && mkdir .debug && objcopy --only-keep-debug prog "
	   ".debug/prog.debug && strip prog && objcopy --add-gnu-debuglink=.debug/prog.debug prog",
	   dir);
	snprintf(path, sizeof path, "%s/prog", dir);
	CHECK(whole_text(path) > 100);
	leave();
}

static uint8_t id[64];

static size_t read_id(const char *path)
{
	char command[512], hex[160];
	size_t n = 0;

	snprintf(command, sizeof command, "readelf -n %s | awk '/Build ID/ {print $3}'", path);
	FILE *p = popen(command, "r");
	CHECK(p && fscanf(p, "%150s", hex) == 1);
	pclose(p);
	for (; hex[2 * n]; n++) {
		unsigned byte;
		CHECK_EQ(sscanf(hex + 2 * n, "%2x", &byte), 1);
		id[n] = (uint8_t)byte;
	}
	return n;
}

TEST(another_build_is_said)
{
	static const struct code_places nowhere;
	struct code_frame frames[CODE_FRAMES_MAX];
	char path[256], *problem, root[PATH_MAX];
	const char *dirs[1] = { root };

	enter();
	write_file("a.c", c_source);
	sh("cd %s && gcc -O2 -g -Wl,--build-id=sha1 -o prog a.c && mkdir unstripped && cp prog "
	   "unstripped/ && gcc -O0 -Wl,--build-id=sha1 -o prog a.c",
	   dir);
	snprintf(path, sizeof path, "%s/unstripped/prog", dir);
	struct code_where where = { .build_id = id, .build_id_len = read_id(path) };
	uint64_t low, high;
	text_range(path, &low, &high);
	snprintf(root, sizeof root, "%s/unstripped", dir);
	snprintf(path, sizeof path, "%s/prog", dir);
	where.path = path;

	struct code_file *f = code_file_open(&where, &nowhere, &problem);
	CHECK(problem && strstr(problem, "build-id differs") && strstr(problem, path));
	CHECK(!code_file_table(f, low + 0x20, frames));
	CHECK_EQ(code_file_lines(f, low + 0x20, frames, CODE_FRAMES_MAX), 0);
	code_file_close(f);

	/* With the folder of the right one its names are there. */
	struct code_places places = { .dirs = dirs, .dir_count = 1 };
	f = code_file_open(&where, &places, &problem);
	CHECK(problem == NULL);
	snprintf(path, sizeof path, "%s/unstripped/prog", dir);
	CHECK(compare(f, path, low, high) > 0);
	code_file_close(f);
	leave();
}

static void segments(const char *path, uint64_t *low, uint64_t *high)
{
	char command[512], address[64], size[64];

	*low = UINT64_MAX;
	snprintf(command, sizeof command, "readelf -lW %s | awk '$1==\"LOAD\" {print $3, $6}'",
		 path);
	FILE *p = popen(command, "r");
	while (p && fscanf(p, "%63s %63s", address, size) == 2) {
		uint64_t from = strtoull(address, NULL, 16) & ~4095ull;
		*low = from < *low ? from : *low;
		*high = strtoull(address, NULL, 16) + strtoull(size, NULL, 16);
	}
	CHECK(p && *low != UINT64_MAX);
	pclose(p);
}

/* As Alpine's files, whose path may name another file here. */
TEST(other_builds_without_a_build_id)
{
	static const struct code_places nowhere;
	struct code_frame frame;
	char path[256], *problem;

	enter();
	write_file("a.c", c_source);
	sh("cd %s && gcc -O2 -g -Wl,--build-id=none -no-pie -o prog a.c", dir);
	snprintf(path, sizeof path, "%s/prog", dir);
	struct code_where where = { .path = path };
	segments(path, &where.low, &where.high);
	uint64_t low, high;
	text_range(path, &low, &high);

	/* A loader may tell the end of the last segment, or of its page. */
	for (int rounded = 0; rounded < 2; rounded++) {
		struct code_file *f = code_file_open(&where, &nowhere, &problem);
		CHECK(problem == NULL);
		CHECK(compare(f, path, low, high) > 0);
		code_file_close(f);
		where.high = (where.high + 4095) & ~4095ull;
	}
	for (int end = 0; end < 2; end++) {
		struct code_where other = where;
		*(end ? &other.high : &other.low) += 65536;
		struct code_file *f = code_file_open(&other, &nowhere, &problem);
		CHECK(problem && strstr(problem, "another build (its segments differ)"));
		CHECK(!code_file_table(f, low + 0x20, &frame));
		free(problem);
		code_file_close(f);
	}
	leave();
}

TEST(no_such_file_is_said)
{
	static const struct code_places nowhere;
	struct code_where where = { .path = "/nowhere/libx.so" };
	char *problem;

	code_file_close(code_file_open(&where, &nowhere, &problem));
	CHECK_STR(problem, "/nowhere/libx.so: names unknown: no such file here; give its files "
			   "with --symbols DIR or --sysroot DIR");
}

TEST(sysroot_is_where_it_looks)
{
	char path[256], *problem;

	enter();
	write_file("a.c", c_source);
	sh("cd %s && mkdir -p root/opt/app && gcc -O2 -g -o root/opt/app/prog a.c", dir);
	snprintf(path, sizeof path, "%s/root", dir);
	struct code_places places = { .sysroot = path };
	struct code_where where = { .path = "/opt/app/prog" };
	struct code_file *f = code_file_open(&where, &places, &problem);
	CHECK(problem == NULL);
	code_file_close(f);
	/* Under a sysroot this machine's own file of that path is another one. */
	where.path = "/bin/sh";
	f = code_file_open(&where, &places, &problem);
	CHECK(problem != NULL);
	code_file_close(f);
	leave();
}

TEST(the_kernels_page)
{
	static const struct code_places nowhere;
	struct code_where where = { .path = "[vdso]", .vdso = true };
	char *problem;
	struct code_frame frame;
	bool any = false;

	struct code_file *f = code_file_open(&where, &nowhere, &problem);
	CHECK(problem == NULL);
	for (uint64_t pc = 0; pc < 0x2000 && !any; pc += 16)
		any = code_file_table(f, pc, &frame);
	CHECK(any);
	code_file_close(f);
}

/* A copy of /bin/true with 40 wrong bytes, some of them in its head; every third one ends early. */
static void write_damaged(const char *path, unsigned seed)
{
	static unsigned char bytes[1 << 20];
	bool early = seed % 3 == 0;
	FILE *f = fopen("/bin/true", "r");
	CHECK(f != NULL);
	size_t size = fread(bytes, 1, sizeof bytes, f);
	CHECK(size > 64);
	fclose(f);
	for (int k = 0; k < 40; k++) {
		size_t at = (size_t)rand_r(&seed) % (k < 4 ? 64 : size);
		bytes[at] = (unsigned char)rand_r(&seed);
	}
	f = fopen(path, "w");
	CHECK(f != NULL);
	fwrite(bytes, 1, early ? (size_t)rand_r(&seed) % size : size, f);
	fclose(f);
}

TEST(random_bytes_are_no_file)
{
	char path[256], *problem;
	static const struct code_places nowhere;

	enter();
	for (unsigned i = 0; i < 60; i++) {
		snprintf(path, sizeof path, "%s/prog%u", dir, i);
		write_damaged(path, i);
		struct code_where where = { .path = path };
		struct code_file *f = code_file_open(&where, &nowhere, &problem);
		struct code_frame frames[CODE_FRAMES_MAX];
		for (uint64_t pc = 0; pc < 0x6000; pc += 0x333) {
			code_file_table(f, pc, frames);
			code_file_lines(f, pc, frames, CODE_FRAMES_MAX);
		}
		code_file_close(f);
		free(problem);
	}
	leave();
}
