/* SPDX-License-Identifier: MIT
 *
 * test_expected.c - rules for expected call sites: what they match, and their files.
 */
#include "check.h"
#include "owners/expected.h"

#include <unistd.h>

TEST(a_rule_matches)
{
	static const struct {
		const char *rule, *key;
		bool hit;
	} all[] = {
		{ "prog!f", "prog!f", true },
		{ "prog!f", "prog!ff", false },
		{ "prog!f", "pro!f", false },
		{ "*!f", "libz.so.1!f", true },
		{ "libz.so*!deflate*", "libz.so.1.3!deflateInit", true },
		{ "libz.so*!deflate*", "libz.so.1.3!inflateInit", false },
		{ "p!*a*b", "p!xaxbxab", true },
		{ "p!*a*b", "p!xaxbxa", false },
		{ "p!f(char\\*)", "p!f(char*)", true },
		{ "p!f(char\\*)", "p!f(char const*)", false },
		{ "p!f(char*)", "p!f(char const*)", true },
		{ "p!a\\\\b", "p!a\\b", true },
		{ "p!*", "p!", true },
		{ "p!f[a]", "p!fa", false },
		{ "p!f[a]", "p!f[a]", true },
		{ "p!app::leaky", "p!app::leaky(int)", true },
		{ "p!app::put", "p!void app::put<char>(char)", true },
		{ "p!app::put", "p!app::put<char>::get(char)", false },
		{ "p!leaky", "p!app::leaky(int)", false },
		{ "p!app::leaky(long)", "p!app::leaky(int)", false },
		{ "p!app::*y", "p!app::leaky(int)", true },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct expected *e = expected_new();
		CHECK_EQ(expected_set(e, all[i].rule, true), 0);
		if (expected_has(e, all[i].key) != all[i].hit) {
			printf("  %s ~ %s\n", all[i].rule, all[i].key);
			fflush(stdout);
			_exit(1);
		}
		expected_free(e);
	}
}

TEST(the_newest_rule_counts)
{
	struct expected *e = expected_new();
	const struct expected_rule *r;

	CHECK_EQ(expected_set(e, "p!a*", true), 0);
	CHECK_EQ(expected_set(e, "p!ab", false), 0);
	CHECK(expected_has(e, "p!aa") && !expected_has(e, "p!ab"));
	CHECK_EQ(expected_set(e, "p!a*", true), 0);
	CHECK(expected_has(e, "p!ab"));
	CHECK_EQ(expected_rules(e, &r), 2);
	CHECK_STR(r[0].text, "p!ab");
	expected_free(e);
}

TEST(what_is_no_rule)
{
	static const char *const wrong[] = { "", "f", "!f", "p!", "p!a\nb", "p\x7f!f" };
	struct expected *e = expected_new();
	char text[64];

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_EQ(expected_set(e, wrong[i], true), -1);
	for (unsigned i = 0; i < EXPECTED_MAX; i++) {
		snprintf(text, sizeof text, "p!f%u", i);
		CHECK_EQ(expected_set(e, text, true), 0);
	}
	CHECK_EQ(expected_set(e, "p!one_more", true), -1);
	CHECK_EQ(expected_set(e, "p!f7", false), 0);
	expected_free(e);
}

TEST(a_key_names_what_stays)
{
	struct module m = { .build_id = { 0xab, 0xcd, 0x12 }, .build_id_len = 3 };
	char key[EXPECTED_KEY_MAX], rule[2 * EXPECTED_KEY_MAX], name[] = "libtile.so.2";

	m.name = name;
	expected_key(key, &m, "tile::put(char*)", 0x40);
	CHECK_STR(key, "libtile.so.2!tile::put(char*)");
	expected_rule_of(rule, key);
	CHECK_STR(rule, "libtile.so.2!tile::put(char\\*)");
	expected_key(key, &m, "put.constprop.0", 0x40);
	CHECK_STR(key, "libtile.so.2!put");
	expected_key(key, &m, "put.part.0.isra.0", 0x40);
	CHECK_STR(key, "libtile.so.2!put");
	expected_key(key, &m, "put(int) [clone .part.0]", 0x40);
	CHECK_STR(key, "libtile.so.2!put(int)");
	expected_key(key, &m, "a\nb", 0x40);
	CHECK_STR(key, "libtile.so.2!a?b");
	expected_key(key, &m, NULL, 0x1a40);
	CHECK_STR(key, "libtile.so.2!+0x1a40@abcd12");
	m.build_id_len = 0;
	expected_key(key, &m, NULL, 0x1a40);
	CHECK_STR(key, "libtile.so.2!+0x1a40");
	expected_key(key, NULL, "[0x1234]", 0);
	CHECK_STR(key, "?![0x1234]");
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

TEST(files_of_rules_are_read_and_written_back)
{
	char path[] = "/tmp/memtop-t-expected-XXXXXX", again[64];
	struct expected *e = expected_new(), *f = expected_new();
	struct err wrong = { 0 }, err = { 0 };

	close(mkstemp(path));
	put(path, "# ours\n\n  p!a*  \nnonsense\nnot p!ab\r\nnot p\nnot\tp!c\n!\n");
	CHECK_EQ(expected_read(e, path, &wrong, &err), 0);
	CHECK(expected_has(e, "p!aa") && !expected_has(e, "p!ab") && !expected_has(e, "p!c"));
	CHECK(strstr(wrong.text, ":4: not a suppression") &&
	      strstr(wrong.text, "(and 2 more lines)"));
	snprintf(again, sizeof again, "%s.supp", path);
	CHECK_EQ(expected_write(e, again, &err), 0);
	wrong.text[0] = '\0';
	CHECK_EQ(expected_read(f, again, &wrong, &err), 0);
	CHECK_STR(wrong.text, "");
	CHECK(expected_has(f, "p!aa") && !expected_has(f, "p!ab"));
	unlink(path);
	unlink(again);
	CHECK_EQ(expected_read(e, path, &wrong, &err), -1);
	CHECK_EQ(err.status, 2);
	CHECK(strstr(err.text, path));
	CHECK_EQ(expected_write(e, "/nowhere/to/write.supp", &err), -1);
	expected_free(e);
	expected_free(f);
}
