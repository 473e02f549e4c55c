/* SPDX-License-Identifier: MIT
 *
 * test_suppressions.c - suppressions of other tools: what they match, and hostile files.
 */
#include "check.h"
#include "check/rules.h"
#include "check/pattern.h"
#include "check/suppressions.h"
#include "symbols/demangle.h"

#include <sys/stat.h>

static char path[] = "/tmp/memtop-suppressions.XXXXXX";

static void write_file(const void *text, size_t len)
{
	strcpy(path + sizeof path - 7, "XXXXXX");
	int fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	close(fd);
}

static struct suppressions *read_bytes(const void *text, size_t len, struct err *wrong)
{
	struct suppressions *s = suppressions_new();
	struct err err = { 0 };

	write_file(text, len);
	*wrong = (struct err){ 0 };
	CHECK_EQ(suppressions_read(s, path, wrong, &err), 0);
	unlink(path);
	return s;
}

static struct suppressions *read_text(const char *text)
{
	struct err wrong;
	struct suppressions *s = read_bytes(text, strlen(text), &wrong);

	CHECK_STR(wrong.text, "");
	return s;
}

/* parse_word(int) < read_all < main < (nothing known), in prog and libx.so */
static const struct frame_out stack[] = {
	{ .function = "parse_word(int)",
	  .file = "/src/words.c",
	  .module = "libx.so.1",
	  .line = 12,
	  .module_id = NO_ID,
	  .has_offset = true },
	{ .function = "ns::Reader<int>::read_all(char const*)",
	  .file = "/src/read.c",
	  .module = "prog",
	  .line = 7,
	  .module_id = NO_ID,
	  .has_offset = true },
	{ .function = "main",
	  .file = "/src/main.c",
	  .module = "prog",
	  .line = 3,
	  .module_id = NO_ID,
	  .has_offset = true },
	{ .module = "prog", .module_id = NO_ID, .has_offset = true },
	{ .module_id = NO_ID },
};

static bool used[SUPPRESSIONS_MAX];

static bool hits_in(const char *text, const struct frame_out *frames, size_t count)
{
	struct model *m = model_new();
	struct suppressions *s = read_text(text);

	used[0] = false;
	bool hit = suppressions_match(s, m, frames, count, used) == 0;
	CHECK_EQ(used[0], hit);
	CHECK_EQ(suppressions_count(s), 1);
	suppressions_free(s);
	model_free(m);
	return hit;
}

static bool hits(const char *text)
{
	return hits_in(text, stack, sizeof stack / sizeof *stack);
}

TEST(leak_sanitizers_suppressions_hit)
{
	CHECK(hits("leak:parse_word"));
	CHECK(hits("# a comment\n\n  leak:read_all  \r\n"));
	CHECK(hits("leak:parse*(int)"));
	CHECK(hits("leak:words.c"));
	CHECK(hits("leak:libx.so"));
	CHECK(hits("leak:^main$"));
	CHECK(hits("leak:^parse"));
	CHECK(hits("leak:prog$"));
	CHECK(!hits("leak:^word"));
	CHECK(!hits("leak:parse$"));
	CHECK(!hits("leak:PARSE"));
	CHECK(!hits("leak:main?"));
}

#define SUPP(frames) "{\n   a name\n   Memcheck:Leak\n" frames "}\n"

TEST(valgrinds_suppressions_hit)
{
	CHECK(hits(SUPP("fun:malloc\nfun:parse_word\n")));
	CHECK(hits(SUPP("match-leak-kinds: definite\n   fun:*alloc\n   fun:parse_*\n")));
	CHECK(hits(SUPP("fun:parse_word(int)\nfun:ns::Reader::read_all\nfun:main\n")));
	CHECK(hits(SUPP("fun:_Znwm\nfun:_Z10parse_wordi\n")));
	CHECK(hits(SUPP("fun:_Znw*\nfun:parse_word\n")));
	CHECK(hits(SUPP("fun:malloc\n...\nfun:main\n")));
	CHECK(hits(SUPP("...\nfun:ma?n\nobj:pro*\n")));
	CHECK(hits(SUPP("obj:libx.so*\nobj:prog\n")));
	CHECK(hits(SUPP("src:words.c:12\n")));
	CHECK(hits(SUPP("fun:malloc\n")));
	CHECK(!hits(SUPP("src:words.c:13\n")));
	CHECK(!hits(SUPP("fun:malloc\nfun:main\n")));
	CHECK(!hits(SUPP("fun:parse_word\nfun:main\n")));
	CHECK(!hits(SUPP("...\nfun:main\nfun:parse_word\n")));
	CHECK(!hits(SUPP("...\nfun:main\nobj:prog\nobj:prog\n")));
	CHECK(hits("# first\n\n{\nn\nHelgrind,Memcheck:Leak\nfun:parse_word\n}\n"));
}

/* What valgrind prints for g++ -O2: names of inlined functions as DWARF has them. */
static const struct frame_out optimised[] = {
	{ .function = "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, "
		      "unsigned long)",
	  .module = "prog",
	  .module_id = NO_ID,
	  .has_offset = true,
	  .inlined = true },
	{ .function = "std::vector<int, std::allocator<int> >* app::clone<std::vector<int, "
		      "std::allocator<int> > >(std::vector<int, std::allocator<int> > const&)",
	  .module = "prog",
	  .module_id = NO_ID,
	  .has_offset = true,
	  .inlined = true },
	{ .function = "app::leaky(int)", .module = "prog", .module_id = NO_ID, .has_offset = true },
	{ .function = "go", .module = "prog", .module_id = NO_ID, .has_offset = true },
	{ .function = "call<main()::<lambda(int)> >",
	  .module = "prog",
	  .module_id = NO_ID,
	  .has_offset = true },
};

static bool matched(const char *text)
{
	return hits_in(text, optimised, sizeof optimised / sizeof *optimised);
}

TEST(valgrind_of_optimised_code)
{
	CHECK(matched(SUPP("fun:_Znwm\nfun:allocate\nfun:clone<std::vector<int> >\n"
			   "fun:_ZN3app5leakyEi\nfun:_ZN3app12_GLOBAL__N_14Anon2goEv.constprop.0\n"
			   "fun:_Z4callIZ4mainvEUliE_EvT_\n")));
	CHECK(matched(SUPP("fun:_Znwm\nfun:allocate\nfun:clone<*\nfun:*leaky*\n")));
	CHECK(matched(SUPP("fun:_Znwm\nfun:alloc?te\n...\nfun:_ZN3app5leakyEi\n")));
	CHECK(matched(SUPP("fun:_Znwm\n...\nfun:_ZN3app5leakyEi.isra.0\n")));
	CHECK(!matched(SUPP("fun:_Znwm\nfun:clone<std::vector<int> >\n")));
	CHECK(!matched(SUPP("fun:_Znwm\nfun:allocat\n")));
	CHECK(!matched(SUPP("fun:_Znwm\n...\nfun:leaky\n"))); /* not inlined: mangled */
	CHECK(!matched(SUPP("fun:_Znwm\n...\nfun:_ZN3app5leakyEd\n")));
	CHECK(!matched(SUPP("fun:_Znwm\n...\nfun:_ZN3app12_GLOBAL__N_14Anon3goeEv\n")));
}

/* As if the mangled names were there. */
TEST(begins_of_mangled_names)
{
	static const char *const names[] = {
		"_ZN3app5leakyEi",
		"_ZNK3app5leakyEi",
		"_ZN3app5leakyIiEEvT_",
		"_ZN3app6leakyxEv",
		"_ZN3appIiE5leakyEv",
		"_ZN3appC2Ev",
		"_ZN3appclEi",
		"_ZN3appplERKS_",
		"_ZZN3app5leakyEiENKUlvE_clEv",
		"_ZThn8_N3app5leakyEv",
		"_ZNR3app5leakyEv",
		"_Z3appi",
		"_Z3appIiEvT_",
		"_Z5leakyN3app1AE",
		"_ZN12_GLOBAL__N_15leakyEv",
		"_ZN3app12_GLOBAL__N_15leakyEv",
		"_ZNSt6vectorIiSaIiEE9push_backERKi",
		"_ZNKSt6vectorIiSaIiEE4sizeEv",
		"_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_",
		"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
		"_ZNSaIcE8allocateEm",
		"main",
	};
	static const char *const begins[] = {
		"_ZN3app*",       "_ZNK3app*",     "_ZN3app5leaky*",  "_ZN3app5lea*",
		"_ZN3app6leaky*", "_ZN3appI*",     "_ZN3app5leakyI*", "_Z3app*",
		"_Z3appI*",       "_Z5leaky*",     "_ZN12_GLOBAL__*", "_ZN3app12_G*",
		"_ZNSt*",         "_ZNSt6vector*", "_ZNKSt6vec*",     "_ZNSt7__cxx11*",
		"_ZSt4move*",     "_ZN4leak*",
	};
	static const char *const refused[] = { "_Z*",
					       "_ZN*",
					       "_ZN3*",
					       "_ZN3app?",
					       "_ZN*app*",
					       "_ZN3app*E*",
					       "_ZN3app5leakyEi*",
					       "_ZL3app*",
					       "_ZNSa*",
					       "_ZTV3app*",
					       "_ZN3app1*" };

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
		CHECK(mangled_prefix(begins[i]));
		for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
			char *function = demangle(names[k]);
			bool hit = mangled_matches(begins[i], function);

			if (hit != pattern_matches(begins[i], names[k], true))
				printf("  %s and %s\n", begins[i], names[k]);
			CHECK_EQ(hit, pattern_matches(begins[i], names[k], true));
			free(function);
		}
	}
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		CHECK(!mangled_prefix(refused[i]));
	CHECK(matched(SUPP("fun:_Znwm\n...\nfun:_ZN3app*\n")));
	CHECK(!matched(SUPP("fun:_Znwm\n...\nfun:_ZN3std*\n")));
	CHECK(!matched(SUPP("fun:_Znwm\nfun:_ZN3app5clone*\n"))); /* inlined: not mangled */
}

TEST(valgrind_begins_with_the_allocation_function)
{
	CHECK(hits(SUPP("fun:*\nfun:parse_word\n")));
	CHECK(!hits(SUPP("fun:*\nfun:*read_all*\n")));
	CHECK(hits(SUPP("obj:*vgpreload*\nfun:parse_word\n")));
	CHECK(hits(SUPP("obj:*\nfun:parse_word\n")));
	CHECK(!hits(SUPP("obj:*\nfun:*read_all*\n")));
	CHECK(hits(SUPP("...\nfun:malloc\nfun:parse_word\n")));
	CHECK(hits(SUPP("...\nfun:_Znw*\nobj:libx*\n")));
	CHECK(!hits(SUPP("...\nfun:malloc\nfun:*read_all*\n")));
	CHECK(!hits(SUPP("fun:free\nfun:parse_word\n")));
}

TEST(all_that_match_are_used)
{
	struct model *m = model_new();
	struct suppressions *s = read_text("leak:main\nleak:nothing\nleak:parse_word\n");

	memset(used, 0, sizeof used);
	CHECK_EQ(suppressions_match(s, m, stack, 3, used), 0);
	CHECK(used[0] && !used[1] && used[2]);
	CHECK(strstr(suppressions_place(s, 2), ":3"));
	suppressions_free(s);
	s = read_text("\n" SUPP("fun:f\n") SUPP("fun:g\n"));
	CHECK(strstr(suppressions_place(s, 0), ":2"));
	CHECK(strstr(suppressions_place(s, 1), ":7"));
	suppressions_free(s);
	model_free(m);
}

TEST(valgrind_of_other_kinds)
{
	struct suppressions *s = read_text("{\nn\nMemcheck:Cond\nfun:f\n}\n{\nn\nMemcheck:Param\n"
					   "write(buf)\nfun:f\n}\n{\nn\nHelgrind:Race\nfun:f\n}\n");

	CHECK_EQ(suppressions_count(s), 0);
	suppressions_free(s);
}

TEST(suppressions_of_memtops_own_kind)
{
	struct suppressions *s = read_text("# ours\nprog!f*\nnot prog!fx\n");

	CHECK_EQ(suppressions_count(s), 0);
	CHECK(expected_has(suppressions_own(s), "prog!fa"));
	CHECK(!expected_has(suppressions_own(s), "prog!fx"));
	suppressions_free(s);
}

TEST(names_are_kept)
{
	struct suppressions *s = read_text(SUPP("fun:f\n"));

	CHECK_STR(suppressions_name(s, 0), "a name");
	suppressions_free(s);
}

TEST(wrong_lines_are_ignored_and_named)
{
	static const struct {
		const char *text;
		size_t rules, line;
	} all[] = {
		{ "leak:a\nrace:b\nleak:c\n", 2, 2 },
		{ "leak:\nleak:c\n", 1, 1 },
		{ "{\nn\nMemcheck:Leak\nfun:f\n", 0, 4 },
		{ "{\nn\nMemcheck:Leak\n}\n" SUPP("fun:f\n"), 1, 4 },
		{ SUPP("...\n"), 0, 5 },
		{ SUPP("fun:f\nnonsense\nfun:g\n") SUPP("fun:f\n"), 1, 5 },
		{ SUPP("fun:_ZN3Foo*bar*\n"), 0, 4 },
		{ "{\n}\n" SUPP("fun:f\n"), 1, 2 },
		{ SUPP("fun:f\n") "fun:g\n", 1, 6 },
		{ "{\nn\nLeak\nfun:f\n}\n", 0, 3 },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct err wrong;
		char place[64];
		struct suppressions *s = read_bytes(all[i].text, strlen(all[i].text), &wrong);

		CHECK_EQ(suppressions_count(s), all[i].rules);
		snprintf(place, sizeof place, ":%zu: ", all[i].line);
		if (!strstr(wrong.text, place)) {
			printf("  %zu: %s\n", i, wrong.text);
			fflush(stdout);
			_exit(1);
		}
		suppressions_free(s);
	}
}

TEST(hostile_suppression_files_end)
{
	size_t len = 1u << 20;
	char *text = malloc(len);
	struct suppressions *s;
	struct err wrong;

	memset(text, 'a', len); /* one line without an end */
	memcpy(text, "leak:", 5);
	s = read_bytes(text, len, &wrong);
	CHECK_EQ(suppressions_count(s), 0);
	CHECK(strstr(wrong.text, "not a line of text"));
	suppressions_free(s);

	s = read_bytes("leak:a\0b\nleak:c\n", 16, &wrong);
	CHECK_EQ(suppressions_count(s), 1);
	suppressions_free(s);

	len = 0; /* more rules than there is room for */
	for (unsigned i = 0; i < SUPPRESSIONS_MAX + 100; i++)
		len += (size_t)sprintf(text + len, "leak:f%u\n", i);
	s = read_bytes(text, len, &wrong);
	CHECK_EQ(suppressions_count(s), SUPPRESSIONS_MAX);
	CHECK(strstr(wrong.text, "too many suppressions") && strstr(wrong.text, "99 more lines"));
	suppressions_free(s);

	len = (size_t)sprintf(text, "{\nn\nMemcheck:Leak\n");
	for (unsigned i = 0; i < 10000; i++)
		len += (size_t)sprintf(text + len, "fun:f\n");
	len += (size_t)sprintf(text + len, "}\n");
	s = read_bytes(text, len, &wrong);
	CHECK_EQ(suppressions_count(s), 0);
	suppressions_free(s);
	free(text);
}

TEST(random_bytes_never_harm)
{
	static const char *const words[] = {
		"{",    "}", "\n",   "leak:", "fun:",          "obj:", "...",  "*",
		"src:", ":", "?",    "_Z",    "Memcheck:Leak", "\n",   "\r\n", "#",
		"a",    "!", "not ", "^$"
	};
	unsigned seed = 7;
	struct model *m = model_new();

	for (unsigned round = 0; round < 300; round++) {
		char text[4096];
		size_t len = (size_t)sprintf(text, round % 2 ? "{\n" : "leak:x\n");
		struct err wrong;

		while (len < 1000)
			len += (size_t)sprintf(text + len, "%s", words[rand_r(&seed) % 20]);
		struct suppressions *s = read_bytes(text, len, &wrong);
		suppressions_match(s, m, stack, sizeof stack / sizeof *stack, used);
		suppressions_free(s);
	}
	model_free(m);
}

TEST(what_is_no_file)
{
	struct suppressions *s = suppressions_new();
	static const char *const all[] = { "/dev/zero", "/tmp", "/no/such/file", "" };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct err err = { 0 }, wrong = { 0 };
		CHECK_EQ(suppressions_read(s, all[i], &wrong, &err), -1);
		CHECK_EQ(err.status, 2);
		CHECK(strstr(err.text, "cannot be read: "));
	}
	char fifo[] = "/tmp/memtop-fifo.XXXXXX";
	struct err err = { 0 }, wrong;
	CHECK(mkdtemp(fifo));
	char *name = xasprintf("%s/f", fifo);
	CHECK_EQ(mkfifo(name, 0600), 0);
	CHECK_EQ(suppressions_read(s, name, &wrong, &err), -1);
	unlink(name);
	rmdir(fifo);
	free(name);
	suppressions_free(s);
}
