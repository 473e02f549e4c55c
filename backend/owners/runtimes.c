/* SPDX-License-Identifier: MIT */
#include "owners/runtimes.h"

#include <string.h>

/* A module's name has this prefix and a usual file name's rest; program: the executable alone. A
 * Go program may have any name: the agent reports it. */
static const struct heap_of {
	const char *begins; /* NULL: it has the flag */
	bool program;
	uint32_t flag;
	struct runtime runtime;
} known[] = {
	{ "libjvm.so", false, 0, { "Java's heap", "jcmd PID GC.heap_info", NULL } },
	{ "libnode.so", false, 0, { "V8's heap", "node --heapsnapshot-signal=SIGUSR2", NULL } },
	{ "node", true, 0, { "V8's heap", "node --heapsnapshot-signal=SIGUSR2", NULL } },
	{ "libpython", false, 0, { "Python's own heap", "PYTHONMALLOC=malloc", NULL } },
	{ "python", true, 0, { "Python's own heap", "PYTHONMALLOC=malloc", NULL } },
	{ NULL,
	  false,
	  MTW_MODULE_GO,
	  { "Go's own heap", "GODEBUG=gctrace=1", "memtop sees C's part (cgo) alone" } },
};

/* In "python3.11" a version follows; "nodectl" is another program. */
static bool is(const struct heap_of *k, const struct module *x)
{
	if (!k->begins)
		return x->flags & k->flag;
	const char *slash = x->path ? strrchr(x->path, '/') : NULL,
		   *file = slash ? slash + 1 : x->name;
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
