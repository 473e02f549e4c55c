/* SPDX-License-Identifier: MIT
 *
 * list.c - `memtop list`: the processes of this machine that have an agent, one a line.
 */
#include "cli/base/verbs.h"

#include "base/build.h"
#include "base/listing.h"
#include "base/procfs.h"
#include "base/sanitize.h"
#include "launch/agent_file.h"
#include "launch/launch.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* They have an agent, but cannot be watched. */
static size_t print_unheard(void)
{
	struct unheard_process *list;
	size_t n = launch_unheard(&list);

	for (size_t i = 0; i < n; i++) {
		char name[sizeof list->name], why[sizeof list->why];
		warn("%d: %s has the agent, but no session: %s", (int)list[i].pid,
		     sanitize_clean(name, sizeof name, list[i].name),
		     sanitize_clean(why, sizeof why, list[i].why));
	}
	free(list);
	return n;
}

/* "  STOPPED by a signal": what /proc says now, as no agent is asked. False: it is not stopped. */
static bool put_stop(const char *whose, pid_t pid, FILE *out)
{
	struct stop stop = { .why = procfs_stopped(pid) };
	char why[REPORT_STOP];

	if (!stop.why)
		return false;
	if (stop.why == MTW_STOP_TRACED)
		stop.pid = (uint32_t)procfs_tracer(pid);
	if (stop.pid)
		procfs_name((pid_t)stop.pid, stop.name, sizeof stop.name);
	fprintf(out, "  %sSTOPPED%s", whose, report_stop(&stop, why));
	return true;
}

static void put_process(const struct agent_process *p, struct listing *t)
{
	char socket[sizeof p->socket], versions[256];
	const char *kind = p->path ? "unix:" : "@";

	listing_row(t);
	fprintf(listing_cell(t), "%d", (int)p->pid);
	sanitize_put(listing_cell(t), p->name, strlen(p->name));
	if (p->clients >= 0)
		fprintf(listing_cell(t), "%d", p->clients);
	else
		listing_put(t, "?");
	FILE *out = listing_cell(t);
	sanitize_clean(socket, sizeof socket, p->socket);
	if (p->through) /* its address means nothing here */
		fprintf(out, "-p %d (inside: %s%s)", (int)p->pid, kind, socket);
	else
		fprintf(out, "%s%s", kind, socket);
	if (!put_stop("", p->pid, out))
		put_stop("agent ", p->server, out);
	agent_file_versions(p->pid, versions, sizeof versions);
	sanitize_clean(versions, sizeof versions, versions);
	if (*versions && strcmp(versions, build_version))
		fprintf(out, "  agent %s", versions);
}

static int list_run(const struct args *a)
{
	static const struct listing_column columns[] = {
		{ "PID", LISTING_RIGHT, 8, 0 },
		{ "NAME", LISTING_LEFT, 20, 2 },
		{ "VIEWERS", LISTING_RIGHT, 7, 1 },
		{ "SOCKET", LISTING_LEFT, 0, 2 },
	};
	struct agent_process *list = NULL;
	size_t n, unheard;

	if (a->operand_count) {
		warn("%s: list takes no target; see memtop list --help", a->operands[0]);
		return STATUS_USAGE;
	}
	n = launch_list(&list);
	struct listing *t = n ? listing_new(columns, sizeof columns / sizeof *columns, 0) : NULL;
	for (size_t i = 0; i < n; i++)
		put_process(&list[i], t);
	if (t)
		listing_end(t, stdout);
	unheard = print_unheard();
	if (!n && !unheard)
		warn("list: no process on this machine has an agent; start a program with memtop "
		     "run PROG, or load the agent with memtop attach PID");
	free(list);
	return 0;
}

static const struct option_spec options[] = { { 0 } };

const struct verb verb_list = {
	.name = "list",
	.synopsis = { "list" },
	.summary = "list the processes of this machine that have an agent",
	.options = options,
	.run = list_run,
};
