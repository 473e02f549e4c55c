/* SPDX-License-Identifier: MIT
 *
 * list.c - the tool list_processes: every process of this machine that has an agent, with figures.
 *
 * All agents are asked side by side, for LIST_MS in all: a machine may have many that cannot answer
 * (a paused container, a debugger). Each row is written when its agent has answered, and the watch
 * closed again, so that not all call paths are in memory at once. A closing line names those that
 * did not answer.
 */
#include "mcp/tools.h"

#include "base/format.h"
#include "base/loop.h"
#include "base/procfs.h"
#include "base/sanitize.h"
#include "launch/launch.h"
#include "link/open.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MS 20000u
#define ASKED_MOST 256u /* agents at a time: descriptors are few */
#define STEP_MS 100

struct listed {
	const struct agent_process *process;
	struct watch *watch;  /* it is being asked; NULL = not yet, or done */
	bool close, answered; /* close: the watch after this look */
	char *text;           /* its lines, NULL = not yet */
	size_t length;
};

/* As the view's header says it. */
static void put_stop(FILE *out, struct watch *w)
{
	const struct model *m = watch_model(w);
	struct stop silent = { .why = watch_stopped(w) };
	const struct stop *p = silent.why ? &silent : model_stopped(m);
	uint64_t now = model_time(m);
	char why[REPORT_STOP], span[FORMAT_SPAN];

	if (p)
		fprintf(out, ", STOPPED %s%s",
			format_span(span, p == &silent ? watch_silent_ns(w) : now - p->begin_ns),
			report_stop(p, why));
}

static void put_amounts(FILE *out, struct watch *w)
{
	const struct totals *t = model_totals(watch_model(w));
	char live[FORMAT_NUMBER], peak[FORMAT_NUMBER], n[FORMAT_NUMBER];
	uint64_t rss = 0;

	fprintf(out, "  live %s, peak %s", format_bytes(live, live_bytes(&t->sum)),
		format_bytes(peak, t->peak_bytes));
	if (model_process(watch_model(w), &rss, NULL, NULL, NULL) && rss)
		fprintf(out, ", resident %s", format_bytes(n, rss));
	put_stop(out, w);
	fputs(model_estimate(watch_model(w)) ? " (estimates: the agent samples)\n" : "\n", out);
}

static void put_verdict(FILE *out, struct watch *w)
{
	struct verdict verdict;
	struct tool_view v;

	tool_view_open(&v, w);
	query_verdict(v.query, &verdict);
	tool_view_close(&v);
	fputs("  ", out);
	tool_put(out, verdict.text);
	fputc('\n', out);
}

/* Three lines; one that does not answer has the reason instead of figures. */
static void write_row(struct listed *r, const char *why)
{
	FILE *out = open_memstream(&r->text, &r->length);
	char *command = why ? NULL : report_command(watch_model(r->watch));

	if (!out)
		base_out_of_memory();
	fprintf(out, "%d ", (int)r->process->pid);
	tool_put(out, command && *command ? command : r->process->name);
	fputc('\n', out);
	free(command);
	if (why) {
		fputs("  ", out);
		tool_put(out, why);
		fputc('\n', out);
	} else {
		put_amounts(out, r->watch);
		put_verdict(out, r->watch);
	}
	fclose(out);
	r->answered = !why;
	if (r->close)
		watch_close(r->watch);
	r->watch = NULL;
}

static void ask(struct targets *t, struct listed *r)
{
	struct err err = { .text = "" };
	char pid[16];

	snprintf(pid, sizeof pid, "%d", (int)r->process->pid);
	r->watch = targets_ask(t, pid, &r->close, &err);
	if (!r->watch)
		write_row(r, err.text);
}

/* A stopped server is not waited for: that may last for days. */
static void look_for_answer(struct listed *r)
{
	struct err err = { .text = "" };
	int rc = watch_ready(r->watch, &err);
	pid_t peer = (pid_t)watch_peer(r->watch);

	if (rc == 0 && procfs_stopped(peer))
		rc = conn_explain_silence(watch_target(r->watch), peer, &err);
	if (rc)
		write_row(r, rc < 0 ? err.text : NULL);
}

/* One round over all rows: how many are not written yet. */
static size_t go_on(struct targets *t, struct listed *rows, size_t n)
{
	size_t asked = 0, left = 0;

	for (size_t i = 0; i < n; i++) {
		if (!rows[i].text && !rows[i].watch && asked < ASKED_MOST)
			ask(t, &rows[i]);
		if (rows[i].watch)
			look_for_answer(&rows[i]);
		asked += rows[i].watch != NULL;
		left += !rows[i].text;
	}
	return left;
}

static void give_up(struct listed *r)
{
	const char *problem = r->watch ? watch_problem(r->watch) : NULL;
	char why[80];

	snprintf(why, sizeof why, "no answer within %u s; ask again", LIST_MS / 1000);
	write_row(r, problem ? problem : why);
}

static void put_unanswered(FILE *out, const struct listed *rows, size_t n)
{
	size_t without = 0, told = 0;

	for (size_t i = 0; i < n; i++)
		without += !rows[i].answered;
	if (!without)
		return;
	fprintf(out, "no figures of %zu of %zu:", without, n);
	for (size_t i = 0; i < n; i++)
		if (!rows[i].answered)
			fprintf(out, "%s %d", told++ ? "," : "", (int)rows[i].process->pid);
	fputc('\n', out);
}

int tool_list_processes(struct tool_call *c, struct err *err)
{
	struct agent_process *list;
	size_t n = launch_list(&list);
	struct listed *rows = xcalloc(n + 1, sizeof *rows);
	uint64_t end = now_ns() + LIST_MS * 1000000ull;

	(void)err;
	for (size_t i = 0; i < n; i++)
		rows[i].process = &list[i];
	while (go_on(c->targets, rows, n) && now_ns() < end)
		loop_once(targets_loop(c->targets), STEP_MS);
	for (size_t i = 0; i < n; i++) {
		if (!rows[i].text)
			give_up(&rows[i]);
		fwrite(rows[i].text, 1, rows[i].length, c->out);
		free(rows[i].text);
	}
	put_unanswered(c->out, rows, n);
	if (!n)
		fputs("no process on this machine has an agent; start a program with memtop run "
		      "PROG, or load the agent with memtop attach PID\n",
		      c->out);
	free(rows);
	free(list);
	return 0;
}
