/* SPDX-License-Identifier: MIT
 *
 * runtimes.c - see report/runtimes.h.
 */
#include "report/runtimes.h"

#include <string.h>

/* A module's name begins so, and goes on as a file's of that kind does; program: the executable alone. */
static const struct known {
	const char *begins;
	bool program;
	struct runtime runtime;
} known[] = {
	{ "libjvm.so", false, { "Java's heap", "jcmd PID GC.heap_info" } },
	{ "libnode.so", false, { "V8's heap", "node --heapsnapshot-signal=SIGUSR2" } },
	{ "node", true, { "V8's heap", "node --heapsnapshot-signal=SIGUSR2" } },
	{ "libpython", false, { "Python's own heap", "PYTHONMALLOC=malloc" } },
	{ "python", true, { "Python's own heap", "PYTHONMALLOC=malloc" } },
};

/* "python3.11" goes on with a version; "nodectl" is another program. */
static bool is(const struct known *k, const struct module *x)
{
	const char *slash = x->path ? strrchr(x->path, '/') : NULL, *file = slash ? slash + 1 : x->name;
	size_t len = strlen(k->begins);

	if (k->program != ((x->flags & MTW_MODULE_MAIN) != 0) || strncmp(file, k->begins, len))
		return false;
	return !k->program || file[len + strspn(file + len, "0123456789.")] == '\0';
}

const struct runtime *runtime_of(const struct model *m)
{
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		for (uint32_t id = 0; id < model_module_count(m); id++) {
			const struct module *x = model_module(m, id);
			if (x && x->known && !(x->flags & MTW_MODULE_GONE) && is(&known[i], x))
				return &known[i].runtime;
		}
	return NULL;
}
