/* SPDX-License-Identifier: MIT
 *
 * test_runtimes.c.c - which programs have a heap that malloc does not see.
 */
#include "check.h"
#include "made.h"
#include "report/runtimes.h"

TEST(runtimes_by_modules)
{
	static const struct { const char *program, *library, *shows; } cases[] = {
		{ "/usr/bin/python3.11", NULL, "PYTHONMALLOC=malloc" },
		{ "/usr/bin/python3", NULL, "PYTHONMALLOC=malloc" },
		{ "/usr/bin/uwsgi", "/usr/lib/libpython3.11.so.1.0", "PYTHONMALLOC=malloc" },
		{ "/usr/bin/node", NULL, "node --heapsnapshot-signal=SIGUSR2" },
		{ "/usr/bin/nodectl", NULL, NULL },
		{ "/opt/python-tools", NULL, NULL },
		{ "/usr/bin/tool", "/opt/python3", NULL }, /* a plugin of that name is no program */
		{ "/usr/lib/jvm/bin/java", "/usr/lib/jvm/lib/server/libjvm.so", "jcmd PID GC.heap_info" },
		{ "/usr/bin/redis-server", "/usr/lib/libc.so.6", NULL },
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
