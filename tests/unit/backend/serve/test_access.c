/* SPDX-License-Identifier: MIT
 *
 * test_access.c - addresses, tokens, the Host and Origin headers, labels.
 */
#include "check.h"

#include "serve/access.h"
#include "serve/requests.h"

static const struct address loopback = { .host = "127.0.0.1", .port = 9091 };

TEST(addresses_in_all_their_forms)
{
	static const struct {
		const char *word, *host;
		int port;
	} good[] = {
		{ "127.0.0.1:9091", "127.0.0.1", 9091 },
		{ ":80", "127.0.0.1", 80 },
		{ "[::1]:1", "::1", 1 },
		{ "example.org:65535", "example.org", 65535 },
		{ "unix:/run/x", "/run/x", 0 },
	};
	static const char *const bad[] = { "",
					   "9091",
					   "a",
					   "a:",
					   "a:b",
					   ":-1",
					   ":65536",
					   "::1:80",
					   "a:80x",
					   "unix:",
					   ":99999999999999999999" };
	struct address a;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		CHECK_EQ(access_address(good[i].word, &a, NULL), 0);
		CHECK_STR(a.host, good[i].host);
		CHECK_EQ(a.port, good[i].port);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_EQ(access_address(bad[i], &a, NULL), -1);
}

TEST(only_the_token_passes)
{
	const char *token = "0123456789abcdef0123456789abcdef";

	CHECK(access_bearer("Bearer 0123456789abcdef0123456789abcdef", token));
	CHECK(access_bearer("bearer   0123456789abcdef0123456789abcdef", token));
	CHECK(!access_bearer(NULL, token));
	CHECK(!access_bearer("", token));
	CHECK(!access_bearer("Bearer", token));
	CHECK(!access_bearer("Bearer ", token));
	CHECK(!access_bearer("Basic 0123456789abcdef0123456789abcdef", token));
	CHECK(!access_bearer("Bearer 0123456789abcdef0123456789abcde", token));
	CHECK(!access_bearer("Bearer 0123456789abcdef0123456789abcdef0", token));
	CHECK(!access_bearer("Bearer 1123456789abcdef0123456789abcdef", token));
}

TEST(a_made_up_host_is_refused)
{
	static const char *const good[] = { "127.0.0.1",      "127.0.0.1:9091", "localhost",
					    "LocalHost:9091", "[::1]:9091",     "10.0.0.5" };
	static const char *const bad[] = {
		"", "evil.org", "127.0.0.1.evil.org", "localhost.evil.org", ":9091", "[", "[]"
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		CHECK(access_host(good[i], &loopback));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!access_host(bad[i], &loopback));
	CHECK(!access_host(NULL, &loopback));
	CHECK(access_host("memtop.lan:1", &(struct address){ .host = "memtop.lan" }));
}

TEST(pages_of_other_sites_are_told_apart)
{
	CHECK(!access_cross_site(NULL, NULL, "127.0.0.1:9091"));
	CHECK(!access_cross_site("http://127.0.0.1:9091", "same-origin", "127.0.0.1:9091"));
	CHECK(access_cross_site("http://127.0.0.1:9092", NULL, "127.0.0.1:9091"));
	CHECK(access_cross_site("null", NULL, "127.0.0.1:9091"));
	CHECK(access_cross_site(NULL, "cross-site", "127.0.0.1:9091"));
	CHECK(access_cross_site(NULL, "same-site", "127.0.0.1:9091"));
	CHECK(access_cross_site("http://127.0.0.1:9091", NULL, NULL));
}

TEST(labels_are_escaped_and_bounded)
{
	char out[64], small[8];

	CHECK_STR(openmetrics_label(out, sizeof out, "a\"b\\c"), "a\\\"b\\\\c");
	CHECK(!strpbrk(openmetrics_label(out, sizeof out, "a\nb\x1b[0m\xff"), "\n\x1b\xff"));
	CHECK(strlen(openmetrics_label(small, sizeof small, "\"\"\"\"\"\"\"\"\"\"\"")) <
	      sizeof small);
}

TEST(the_older_format_is_for_those_who_ask_for_it)
{
	CHECK(!openmetrics_classic(NULL));
	CHECK(!openmetrics_classic("*/*"));
	CHECK(openmetrics_classic("text/plain"));
	CHECK(!openmetrics_classic("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"));
}
