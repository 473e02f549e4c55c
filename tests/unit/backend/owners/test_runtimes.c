/* SPDX-License-Identifier: MIT
 *
 * test_runtimes.c - which programs have a heap that malloc does not see.
 */
#include "check.h"
#include "made.h"
#include "owners/runtimes.h"

TEST(runtimes_by_modules)
{
	static const struct {
		const char *program, *library, *shows;
	} cases[] = {
		{ "/usr/bin/python3.11", NULL, "PYTHONMALLOC=malloc" },
		{ "/usr/bin/python3", NULL, "PYTHONMALLOC=malloc" },
		{ "/usr/bin/uwsgi", "/usr/lib/libpython3.11.so.1.0", "PYTHONMALLOC=malloc" },
		{ "/usr/bin/node", NULL, "node --heapsnapshot-signal=SIGUSR2" },
		{ "/usr/bin/nodectl", NULL, NULL },
		{ "/opt/python-tools", NULL, NULL },
		{ "/usr/bin/tool", "/opt/python3", NULL }, /* a plugin of that name is no program */
		{ "/usr/lib/jvm/bin/java", "/usr/lib/jvm/lib/server/libjvm.so",
		  "jcmd PID GC.heap_info" },
		{ "/usr/bin/redis-server", "/usr/lib/libc.so.6", NULL },
		{ "/opt/go/server", NULL, NULL }, /* no name tells */
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct model *m = model_new();
		made_module(m, 0, cases[i].program, MTW_MODULE_MAIN);
		if (cases[i].library)
			made_module(m, 1, cases[i].library, 0);
		const struct runtime *r = runtime_of(m);
		CHECK_EQ(r != NULL, cases[i].shows != NULL);
		CHECK_STR(r ? r->shows : "", cases[i].shows ? cases[i].shows : "");
		model_free(m);
	}
}

/* A Go program, or a Go library in another program: the agent detects the linker. */
TEST(go_by_what_linked_it)
{
	for (int library = 0; library < 2; library++) {
		struct model *m = model_new();
		made_module(m, 0, "/opt/server", MTW_MODULE_MAIN | (library ? 0 : MTW_MODULE_GO));
		CHECK((runtime_of(m) != NULL) == !library);
		if (library)
			made_module(m, 1, "/opt/libgo-made.so", MTW_MODULE_GO);
		const struct runtime *r = runtime_of(m);
		CHECK(r && !strcmp(r->heap, "Go's own heap") && strstr(r->seen, "C's part"));
		if (library) {
			made_module(m, 1, "/opt/libgo-made.so", MTW_MODULE_GO | MTW_MODULE_GONE);
			CHECK(!runtime_of(m));
		}
		model_free(m);
	}
}
