/* SPDX-License-Identifier: MIT
 *
 * test_head.c - heads of requests: what is understood, what is refused, and mutated ones.
 */
#include "check.h"

#include "../../../random.h"
#include "serve/head.h"

#include <event2/http.h>
#include <string.h>

static int status_of(const char *text)
{
	struct head h;
	int status = head_read(&h, text, strlen(text));

	head_release(&h);
	return status;
}

TEST(a_head_is_understood)
{
	static const char text[] =
		"POST /report.json?pid=5&at=a%20b HTTP/1.1\r\nhost: localhost\r\n"
		"Content-Length:\t13 \r\nX: \r\nExpect: 100-continue\r\n\r\n";
	struct head h;

	CHECK_EQ(head_read(&h, text, sizeof text - 1), 0);
	CHECK(h.post && h.keep && h.waits && !h.bodyless);
	CHECK_STR(h.path, "/report.json");
	CHECK_STR(evhttp_find_header(&h.parameters, "at"), "a b");
	CHECK_STR(head_field(&h, "Host"), "localhost");
	CHECK_STR(head_field(&h, "x"), "");
	CHECK(!head_field(&h, "Y"));
	CHECK_EQ(h.body_len, 13);
	head_release(&h);
}

TEST(a_parameter_may_have_no_value)
{
	static const struct {
		const char *query, *a, *b;
	} cases[] = {
		{ "", NULL, NULL },    { "a", "", NULL },        { "a&b=1", "", "1" },
		{ "b=1&a", "", "1" },  { "&&a=1&&b&", "1", "" }, { "a=1=2&b=%26", "1=2", "&" },
		{ "a=&b=+", "", " " }, { "&", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[100];
		struct head h;
		int len = snprintf(text, sizeof text, "GET /?%s HTTP/1.1\r\n\r\n", cases[i].query);

		CHECK_EQ(head_read(&h, text, (size_t)len), 0);
		const char *a = evhttp_find_header(&h.parameters, "a"),
			   *b = evhttp_find_header(&h.parameters, "b");
		CHECK_STR(a ? a : "none", cases[i].a ? cases[i].a : "none");
		CHECK_STR(b ? b : "none", cases[i].b ? cases[i].b : "none");
		head_release(&h);
	}
}

TEST(a_connection_stays_open_or_not)
{
	static const struct {
		const char *text;
		bool keep;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n\r\n", true },
		{ "GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", false },
		{ "GET / HTTP/1.0\r\n\r\n", false },
		{ "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true },
	};
	struct head h;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CHECK_EQ(head_read(&h, cases[i].text, strlen(cases[i].text)), 0);
		CHECK_EQ(h.keep, cases[i].keep);
		head_release(&h);
	}
}

TEST(what_is_unclear_is_refused)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{ "", 400 },
		{ "\r\n\r\n", 400 },
		{ "GET /\r\n\r\n", 400 },
		{ "GET  / HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1 \r\n\r\n", 505 },
		{ "GET / HTTP/2.0\r\n\r\n", 505 },
		{ "DELETE / HTTP/1.1\r\n\r\n", 405 },
		{ "G(T / HTTP/1.1\r\n\r\n", 400 },
		{ "GET x HTTP/1.1\r\n\r\n", 400 },
		{ "GET /%00 HTTP/1.1\r\n\r\n", 400 },
		{ "GET ftp://h/ HTTP/1.1\r\n\r\n", 400 },
		{ "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", 400 },
		{ "GET http://b@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n", 400 },
		{ "GET http://A:1?b HTTP/1.1\r\nHost: a:1\r\n\r\n", 0 },
		{ "GET /?=a HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\nHost: a\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: a\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nA: \x01\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\nContent-Length: 4097\r\n\r\n", 413 },
		{ "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 413 },
		{ "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 501 },
		{ "POST / HTTP/1.1\r\nExpect: more\r\n\r\n", 417 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		CHECK_EQ(status_of(cases[i].text), cases[i].status);
}

TEST(fields_are_bounded)
{
	char text[HEAD_MAX];
	size_t len = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\n");

	for (unsigned i = 0; i < HEAD_FIELDS_MAX; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "A%u: b\r\n", i);
	snprintf(text + len, sizeof text - len, "\r\n");
	CHECK_EQ(status_of(text), 0);
	snprintf(text + len, sizeof text - len, "One-More: b\r\n\r\n");
	CHECK_EQ(status_of(text), 431);
}

/* Under sanitizers (make check ASAN=1) no mutation may read or write out of bounds. */
TEST(mutated_heads_are_read_or_refused)
{
	static const char good[] = "GET http://[::1]:80/a%20b?x=%41&y HTTP/1.1\r\nHost: [::1]\r\n"
				   "Content-Length: 12\r\nConnection: close\r\n\r\n";
	seed = 1;
	for (int i = 0; i < 20000; i++) {
		char text[sizeof good];
		struct head h;

		memcpy(text, good, sizeof good);
		for (uint32_t n = below(6); n; n--)
			text[below(sizeof good - 5)] = (char)below(256);
		int status = head_read(&h, text, sizeof good - 1);
		CHECK(status ? status >= 400 && status < 600 : *h.path == '/');
		CHECK(h.body_len <= HEAD_BODY_MAX);
		head_release(&h);
	}
}
