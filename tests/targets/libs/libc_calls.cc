// SPDX-License-Identifier: MIT
// libc_calls.cc - what libc allocates for its caller: strdup, asprintf, open_memstream's result.
#include "owns.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>

static void *volatile kept[16];

extern "C" std::size_t allocate(void)
{
	char *text = nullptr;

	kept[0] = strdup("twelve bytes"); // 13
	kept[1] = strndup("abcdef", 4);   // 5
	if (asprintf(&text, "%0999d", 7) < 0)
		return 0;
	kept[2] = realloc(text, 2000);
	kept[3] = wcsdup(L"wide"); // 5 * 4
	kept[4] = reallocarray(nullptr, 10, 30);
	return 13 + 5 + 2000 + 5 * sizeof(wchar_t) + 300;
}
