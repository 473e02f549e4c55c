/* SPDX-License-Identifier: MIT
 *
 * test_name.c - functions' names in rows of a known width.
 */
#include "base/name.h"
#include "check.h"

TEST(names_lose_brackets_first)
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
		{ "std::operator<< <char>(std::ostream&, char)", 30, "std::operator<< <...>(...)" },
		{ "a_long_name_of_a_plain_function", 20, "a_long_na...function" },
	};
	char out[NAME_TEXT];

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		CHECK_STR(name_fit(out, all[i].name, all[i].columns, "..."), all[i].is);
}
