/* SPDX-License-Identifier: MIT
 *
 * test_name.c - functions' names, short and in the columns that there are. The names are real ones:
 * of libstdc++, boost, clang, Rust's and Go's libraries.
 */
#include "base/columns.h"
#include "base/name.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

TEST(brief_names)
{
	static const struct {
		const char *full, *is;
	} all[] = {
		{ "main", "main" },
		{ "std::vector<int, std::allocator<int> >::push_back(int const&)",
		  "std::vector::push_back" },
		{ "boost::asio::detail::scheduler::run(boost::system::error_code&)",
		  "boost::asio::detail::scheduler::run" },
		{ "net/http.(*conn).serve", "net/http.(*conn).serve" },
		{ "net/http.(*conn).serve.func1", "net/http.(*conn).serve.func1" },
		{ "sync.(*Map).LoadOrStore-fm", "sync.(*Map).LoadOrStore-fm" },
		{ "main.Map[go.shape.int,go.shape.string].Get",
		  "main.Map[go.shape.int,go.shape.string].Get" },
		{ "operator\"\" _km(long double)", "operator\"\" _km" },
		{ "Foo::operator std::string() const", "Foo::operator std::string" },
		{ "f[abi:cxx11](int) [clone .cold]", "f" },
		{ "[no stacks: watched from afar]", "[no stacks: watched from afar]" },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		char *brief = name_brief(all[i].full);

		CHECK_STR(brief, all[i].is);
		free(brief);
	}
}

TEST(what_a_narrow_name_loses)
{
	static const char map[] =
		"std::map<std::string, std::vector<int> >::operator[](std::string&&)";
	static const struct {
		const char *name;
		size_t columns;
		const char *is;
	} all[] = {
		{ map, 80, map },
		{ map, 40, "std::map<...>::operator[](...)" },
		{ map, 29, "std::map::operator[]" },
		{ map, 19, "map::operator[]" },
		{ map, 14, "operator[]" },
		{ map, 8, "ope...[]" },
		{ "std::operator<< <char>(std::ostream&, char)", 30, "std::operator<< <...>(...)" },
		{ "std::operator<< <char>(std::ostream&, char)", 16, "std::operator<<" },
		{ "keep<char>(a_pair<int, a_pair<long, a", 20, "keep<...>(..." },
		{ "a_long_name_of_a_plain_function", 20, "a_long_na...function" },
		{ "clang::Sema::ActOnFunctionDeclarator", 30, "Sema::ActOnFunctionDeclarator" },
		{ "boost::asio::detail::scheduler::do_run_one", 38,
		  "asio::detail::scheduler::do_run_one" },
		{ "boost::asio::detail::scheduler::do_run_one", 30,
		  "detail::scheduler::do_run_one" },
		{ "boost::asio::detail::scheduler::do_run_one", 22, "scheduler::do_run_one" },
		{ "boost::asio::detail::scheduler::do_run_one", 20, "sche...r::do_run_one" },
		{ "std::__cxx11::basic_string::_M_create", 24, "basic_string::_M_create" },
		{ "std::__cxx11::basic_string::_M_create", 20, "basi...ng::_M_create" },
		{ "(anonymous namespace)::Parser::parse_expression", 30,
		  "Parser::parse_expression" },
		{ "app::Server::start::{lambda#1}::operator()", 40,
		  "Server::start::{lambda#1}::operator()" },
		{ "app::Server::start::{lambda#1}::operator()", 30,
		  "start::{lambda#1}::operator()" },
		{ "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop", 22,
		  "alloc::vec::Vec::drop" },
		{ "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop", 12, "Vec::drop" },
		{ "core::ops::function::FnOnce::call_once{{vtable.shim}}", 40,
		  "FnOnce::call_once{{vtable.shim}}" },
		{ "tokio::runtime::task::raw::poll::{closure#0}", 26, "raw::poll::{closure#0}" },
		{ "github.com/prometheus/prometheus/tsdb.(*Head).Append", 29,
		  "tsdb.(*Head).Append" },
		{ "net/http.(*conn).serve", 20, "http.(*conn).serve" },
		{ "LazyCompile:*resolve /srv/app/node_modules/a/index.js:12", 30,
		  "LazyCompile:*r...a/index.js:12" },
		{ "libstdc++.so.6.0.30", 12, "libst...0.30" },
		{ "operator new(unsigned long)", 12, "operator new" },
		{ "\xe5\xad\x97\xe5\xad\x97\xe5\xad\x97\xe5\xad\x97", 6, "\xe5\xad\x97...\0" },
		{ "", 5, "" },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		char *out = name_fit(all[i].name, all[i].columns, "...");

		CHECK_STR(out, all[i].is);
		CHECK(columns_of(out) <= all[i].columns);
		free(out);
	}
}

/* Pairs of names that have one short form, and what they read beside each other. */
TEST(two_functions_never_read_the_same)
{
	static const struct {
		const char *full[2];
		size_t columns;
		const char *is[2];
	} all[] = {
		{ { "std::vector<int, std::allocator<int> >::push_back(int const&)",
		    "std::vector<double, std::allocator<double> >::push_back(double const&)" },
		  40,
		  { "std::vector<int>::push_back", "std::vector<double>::push_back" } },
		{ { "std::vector<int, std::allocator<int> >::push_back(int const&)",
		    "std::vector<double, std::allocator<double> >::push_back(double const&)" },
		  27,
		  { "std::vector<int>::push_back", "vector<double>::push_back" } },
		{ { "app::encode(int)", "app::encode(std::string const&)" },
		  40,
		  { "app::encode(int)", "app::encode(string const&)" } },
		{ { "parse(char const*)", "parse(char const*) [clone .cold]" },
		  40,
		  { "parse", "parse.cold" } },
		{ { "parse(char const*) [clone .part.0]",
		    "parse(char const*) [clone .part.0] [clone .cold]" },
		  40,
		  { "parse.part.0", "parse.part.0.cold" } },
		{ { "Foo::at(int)", "Foo::at(int) const" }, 40, { "Foo::at", "Foo::at const" } },
		{ { "name[abi:cxx11]()", "name()" }, 40, { "name[abi:cxx11]", "name" } },
		{ { "bool operator< <Foo>(Foo const&, Foo const&)",
		    "bool operator< <Bar>(Bar const&, Bar const&)" },
		  40,
		  { "operator<<Foo>", "operator<<Bar>" } },
		{ { "main::{lambda(int)#1}::operator()(int) const",
		    "main::{lambda(char)#1}::operator()(char) const" },
		  60,
		  { "main::{lambda(int)#1}::operator()(int)",
		    "main::{lambda(char)#1}::operator()(char)" } },
		{ { "<A as core::fmt::Debug>::fmt", "<A as core::fmt::Display>::fmt" },
		  40,
		  { "<A as Debug>::fmt", "<A as Display>::fmt" } },
		{ { "core::ptr::drop_in_place<alloc::string::String>",
		    "core::ptr::drop_in_place<std::fs::File>" },
		  40,
		  { "core::ptr::drop_in_place<String>", "core::ptr::drop_in_place<File>" } },
		{ { "a::Cache::put(int)", "b::Cache::put(int)" },
		  11,
		  { "a::C...:put", "b::C...:put" } },
		{ { "v<w<int> >::f()", "v<w<char> >::f()" },
		  40,
		  { "v<w<int>>::f", "v<w<char>>::f" } },
		{ { "int g<int>()", "long g<int>()" }, 40, { "g#", "g#" } },
		{ { "one", "one" }, 40, { "one", "one" } },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct name_item list[2] = { { .full = NULL } };
		char *brief[2];

		for (size_t k = 0; k < 2; k++) {
			brief[k] = name_brief(all[i].full[k]);
			list[k] = (struct name_item){ .name = brief[k],
						      .full = all[i].full[k],
						      .columns = all[i].columns };
		}
		names_fit(list, 2, "...");
		for (size_t k = 0; k < 2; k++) {
			const char *is = all[i].is[k];
			if (is[strlen(is) - 1] == '#') {
				CHECK(!strncmp(list[k].text, is, strlen(is)));
				CHECK_EQ(strlen(list[k].text), strlen(is) + 3);
			} else {
				CHECK_STR(list[k].text, is);
			}
			free(brief[k]);
		}
		names_release(list, 2);
	}
}

static uint64_t seed;

static unsigned pick(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static void append(char *s, const char *more)
{
	strncat(s, more, 400 - strlen(s) - 1);
}

static void type(char *s, unsigned depth)
{
	static const char *const plain[] = { "int",      "char const*",  "unsigned long",
					     "double",   "std::string",  "app::Key",
					     "lib::Key", "void (*)(int)" };
	static const char *const of[] = { "std::vector", "std::map", "app::Cache",
					  "boost::optional" };

	if (depth && !pick(2)) {
		append(s, of[pick(4)]);
		append(s, "<");
		type(s, depth - 1);
		append(s, pick(2) ? ", std::allocator<int> >" : ">");
	} else {
		append(s, plain[pick(8)]);
	}
}

static void random_name(char *s)
{
	static const char *const spaces[] = { "std",
					      "app",
					      "boost",
					      "(anonymous namespace)",
					      "detail",
					      "impl",
					      "a_namespace_with_a_long_name" };
	static const char *const functions[] = {
		"push_back",     "get",
		"operator()",    "operator<",
		"insert",        "{lambda(int)#1}::operator()",
		"operator bool", "a_function_with_quite_a_long_name",
		"~Cache"
	};
	static const char *const ends[] = { "", " const", " [clone .cold]", " [clone .part.0]" };

	*s = '\0';
	for (unsigned n = pick(4); n; n--) {
		append(s, spaces[pick(7)]);
		append(s, "::");
	}
	for (unsigned n = pick(3); n; n--) {
		append(s, pick(2) ? "Cache" : "Server");
		if (pick(2)) {
			append(s, "<");
			type(s, 2);
			append(s, ">");
		}
		append(s, "::");
	}
	append(s, functions[pick(9)]);
	append(s, "(");
	if (pick(3))
		type(s, 2);
	append(s, ")");
	append(s, ends[pick(4)]);
}

static int by_string(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#define SCREEN 60

/* A screen of distinct names, each shown by its short form, in rows of one width or of several. */
static void check_screen(size_t width, bool indented)
{
	char full[SCREEN][400], *sorted[SCREEN];
	struct name_item list[SCREEN];
	size_t n = 0;

	while (n < SCREEN) {
		size_t same = 0;
		random_name(full[n]);
		while (same < n && strcmp(full[same], full[n]) != 0)
			same++;
		n += same == n;
	}
	for (size_t i = 0; i < n; i++)
		list[i] = (struct name_item){ .name = name_brief(full[i]),
					      .full = full[i],
					      .columns = width + (indented ? pick(20) : 0) };
	names_fit(list, n, "\u2026");
	for (size_t i = 0; i < n; i++) {
		CHECK(columns_of(list[i].text) <= list[i].columns);
		CHECK(*list[i].text);
		sorted[i] = list[i].text;
	}
	qsort(sorted, n, sizeof *sorted, by_string);
	for (size_t i = 1; i < n; i++) {
		if (!strcmp(sorted[i - 1], sorted[i]))
			printf("  twice at %zu columns: %s\n", width, sorted[i]);
		CHECK(strcmp(sorted[i - 1], sorted[i]) != 0);
	}
	for (size_t i = 0; i < n; i++)
		free((char *)list[i].name);
	names_release(list, n);
}

TEST(names_of_a_screen_stay_distinct)
{
	for (seed = 1; seed < 400; seed++) {
		uint64_t first = seed;

		check_screen(8 + seed % 60, seed % 2);
		seed = first;
	}
}

TEST(a_name_keeps_its_number)
{
	struct name_item three[] = { { .name = "g", .full = "int g<int>()", .columns = 20 },
				     { .name = "g", .full = "long g<int>()", .columns = 20 },
				     { .name = "g", .full = "char g<int>()", .columns = 20 } };
	struct name_item two[] = { three[2], three[0] };

	names_fit(three, 3, "...");
	names_fit(two, 2, "...");
	CHECK_STR(two[0].text, three[2].text);
	CHECK_STR(two[1].text, three[0].text);
	names_release(three, 3);
	names_release(two, 2);
}

TEST(odd_names_end)
{
	static const char *const odd[] = {
		"<",           ">",        "(",         ")",         "a<b",      "a(b",
		"{",           "}",        "operator",  "operator<", "a<b(c>d)", "->",
		"((((",        "<<<<>>>>", "decltype(", "decltype",  " ",        "a  b",
		"f() const::", "<as>::x",  "::",        "/",         "a/",       "a::",
		"f [clone ",   "a.(",      "[",         "[]",        "[abi:",    "x<, std::less<"
	};
	size_t n = sizeof odd / sizeof *odd;

	for (size_t i = 0; i < n; i++) {
		struct name_item list[3] = {
			{ .name = odd[i], .columns = 1 },
			{ .name = odd[i], .full = "x", .columns = 8 },
			{ .name = odd[i], .full = odd[(i + 1) % n], .columns = 80 }
		};
		char *s = name_brief(odd[i]);

		CHECK(*s);
		free(s);
		names_fit(list, 3, "...");
		names_release(list, 3);
	}
}
