/* SPDX-License-Identifier: MIT
 *
 * list.c - `memtop list`: the processes of this machine that have an agent, one a line.
 */
#include "cli/base/verbs.h"

#include "base/build.h"
#include "base/procfs.h"
#include "base/sanitize.h"
#include "launch/agent_file.h"
#include "launch/launch.h"
#include "report/report.h"
#include "screen/text.h"

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
static bool print_stop(const char *whose, pid_t pid)
{
	struct stop stop = { .why = procfs_stopped(pid) };
	char why[REPORT_STOP];

	if (!stop.why)
		return false;
	if (stop.why == MTW_STOP_TRACED)
		stop.pid = (uint32_t)procfs_tracer(pid);
	if (stop.pid)
		procfs_name((pid_t)stop.pid, stop.name, sizeof stop.name);
	printf("  %sSTOPPED%s", whose, report_stop(&stop, why));
	return true;
}

static int list_run(const struct args *a)
{
	struct agent_process *list = NULL;
	size_t n, unheard;

	if (a->operand_count) {
		warn("%s: list takes no target; see memtop list --help", a->operands[0]);
		return STATUS_USAGE;
	}
	n = launch_list(&list);
	if (n)
		printf("%8s  %-20s %7s  %s\n", "PID", "NAME", "VIEWERS", "SOCKET");
	for (size_t i = 0; i < n; i++) {
		char name[sizeof list->name], socket[sizeof list->socket], versions[256];
		sanitize_clean(name, sizeof name, list[i].name);
		int columns = text_width(name);
		char clients[16] = "?";
		if (list[i].clients >= 0)
			snprintf(clients, sizeof clients, "%d", list[i].clients);
		printf("%8d  %s%*s %7s  ", (int)list[i].pid, name, columns < 20 ? 20 - columns : 0,
		       "", clients);
		sanitize_clean(socket, sizeof socket, list[i].socket);
		const char *kind = list[i].path ? "unix:" : "@";
		if (list[i].through) /* its address means nothing here */
			printf("-p %d (inside: %s%s)", (int)list[i].pid, kind, socket);
		else
			printf("%s%s", kind, socket);
		if (!print_stop("", list[i].pid))
			print_stop("agent ", list[i].server);
		agent_file_versions(list[i].pid, versions, sizeof versions);
		sanitize_clean(versions, sizeof versions, versions);
		if (*versions && strcmp(versions, build_version))
			printf("  agent %s", versions);
		putchar('\n');
	}
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
