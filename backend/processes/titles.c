/* SPDX-License-Identifier: MIT
 *
 * titles.c - command lines and titles, from /proc of this machine. A server sets its title some
 * time after its start ("nginx: worker process"), and some change it for each request ("postgres:
 * app 10.1.2.3 idle"): the last one stays. Where /proc is another machine's, the arguments that the
 * agent greets with are all that is known (processes/watches.c).
 */
#include "processes/titles.h"
#include "processes/lines.h"
#include "processes/relatives.h"

#include <string.h>

#define OFTEN_NS 10000000000ull /* so long after its begin, each second */
#define RARELY_NS 10000000000ull

static void look(struct processes *p, struct line *l, uint64_t now)
{
	char title[1024];
	pid_t pid = relatives_running_pid(p, l);

	l->titled_ns = now;
	if (!pid || !procfs_title(pid, title, sizeof title) || !strcmp(title, l->p.title))
		return;
	line_title(l, title);
	p->changed = true;
}

static bool is_due(const struct processes *p, const struct line *l, uint64_t now)
{
	return now < p->origin_ns + l->p.begin_ns + OFTEN_NS || now - l->titled_ns > RARELY_NS;
}

void titles_look(struct processes *p, bool second)
{
	uint64_t now = now_ns();

	for (size_t i = second ? 0 : p->titles_seen; i < p->count; i++) {
		struct line *l = p->lines[i];
		if (l && line_runs(l) && (i >= p->titles_seen || is_due(p, l, now)))
			look(p, l, now);
	}
	p->titles_seen = p->count;
}

const char *processes_waits(const struct processes *p, uint32_t id)
{
	static char where[64];
	struct line *l = lines_at(p, id);
	pid_t pid = l && !p->file && line_runs(l) ? relatives_running_pid(p, l) : 0;

	return pid && procfs_waits(pid, where, sizeof where) ? where : "";
}

/* The program's own words begin with its name: "nginx: worker process". */
static bool names_itself(const struct process *p)
{
	size_t n = strlen(p->name);

	return n && !strncmp(p->title, p->name, n) && (p->title[n] == ':' || p->title[n] == ' ');
}

char *process_words(const struct process *p, char *out, size_t size)
{
	const char *rest = strchr(p->title, ' ');

	if (names_itself(p))
		snprintf(out, size, "%s", p->title);
	else if (rest)
		snprintf(out, size, "%s%s", p->name, rest);
	else
		snprintf(out, size, "%s", p->name);
	return out;
}
