/* SPDX-License-Identifier: MIT */
#include "model/state/state.h"

#include <stdlib.h>
#include <string.h>

void program_free(struct program *p)
{
	free(p->exe);
	free(p->name);
	free(p->arch);
	free(p->agent_version);
	free(p->options);
	for (size_t i = 0; i < p->arg_count; i++)
		free(p->args[i]);
	free(p->args);
	*p = (struct program){ 0 };
}

const char *program_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Is the name a file's? Not "-bash", not "server: worker". */
static bool is_file_name(const char *name)
{
	size_t n =
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-");

	return n && n < 64 && !name[n] && *name != '-' && *name != '.';
}

/* The name it was called by: redis-server may be a link to redis-check-rdb. */
static char *name_of(const struct program *p)
{
	char called[MTW_STRING_MAX + 1] = "";

	/* Some write more words behind it: "redis-server *:6379". */
	if (p->arg_count)
		snprintf(called, sizeof called, "%.*s", (int)strcspn(p->args[0], " "), p->args[0]);
	return xstrdup(is_file_name(program_last_part(called)) ? program_last_part(called)
							       : program_last_part(p->exe));
}

bool program_same(const struct program *p, const struct event *e)
{
	return p->pid == e->u.hello.pid && p->start_unix_ns == e->u.hello.start_unix_ns;
}

void program_take(struct program *p, const struct event *e)
{
	p->pid = (uint32_t)e->u.hello.pid;
	p->uid = (uint32_t)e->u.hello.uid;
	p->word_bits = (uint32_t)e->u.hello.word_bits;
	p->start_unix_ns = e->u.hello.start_unix_ns;
	p->features = e->u.hello.features;
	p->tick_ns = e->u.hello.tick_ns;
	p->exe = text_own(e->u.hello.exe);
	p->arch = text_own(e->u.hello.arch);
	p->agent_version = text_own(e->u.hello.agent_version);
	p->options = text_own(e->u.hello.options);
	p->arg_count = e->u.hello.arg_count;
	p->args = xcalloc(p->arg_count, sizeof *p->args);
	for (size_t i = 0; i < p->arg_count; i++)
		p->args[i] = text_own(e->u.hello.args[i]);
	p->forked = e->u.hello.forked;
	p->before = e->u.hello.before;
	p->inherits_apart = e->u.hello.inherits_apart;
	p->first_epoch = e->u.hello.first_epoch;
	p->name = name_of(p);
}
