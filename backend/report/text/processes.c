/* SPDX-License-Identifier: MIT
 *
 * processes.c - the processes of a tree in a text report: a table, largest peak first, in
 * which many short processes of one name share a row.
 */
#include "report/text/text.h"

#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 30
#define FOLD_FROM 4 /* so many of a name are one row */

/* One process, or all processes of one name with totals only. */
struct tree_row {
	const struct process *p; /* the one with the largest peak */
	size_t count;
	uint64_t live, allocated, peak, ns;
};

static const char *const state_words[] = {
	[PROCESS_STARTING] = "starting",       [PROCESS_RUNNING] = "running",
	[PROCESS_EXITED] = "exited",           [PROCESS_SIGNALLED] = "signal",
	[PROCESS_EXECED] = "execed",           [PROCESS_GONE] = "gone",
	[PROCESS_UNFOLLOWED] = "not followed",
};

static uint64_t lived(const struct processes *all, const struct process *p)
{
	uint64_t end = p->end_ns ? p->end_ns : processes_time_ns(all);

	return end > p->begin_ns ? end - p->begin_ns : 0;
}

static bool foldable(const struct process *p)
{
	return !p->recorded && (p->state == PROCESS_EXITED || p->state == PROCESS_EXECED ||
				p->state == PROCESS_UNFOLLOWED);
}

static bool same_kind(const struct process *a, const struct process *b)
{
	return foldable(a) && foldable(b) && a->state == b->state && !strcmp(a->name, b->name) &&
	       a->status == b->status;
}

static void add_to(const struct processes *all, struct tree_row *r, const struct process *p)
{
	if (!r->count++)
		r->p = p;
	r->live += p->live_bytes;
	r->allocated += process_allocated(p);
	r->ns += lived(all, p);
	if (p->peak_bytes > r->peak)
		r->peak = p->peak_bytes;
}

/* Ordered by peak; a kind stands where its largest process does. Kinds are few: a build has some
 * dozen. */
static size_t make_rows(const struct processes *all, const struct process **sorted, size_t n,
			struct tree_row *rows)
{
	size_t kinds = 0, *kind_at = xcalloc(n + 1, sizeof *kind_at), count = 0;

	for (size_t i = 0; i < n; i++) {
		struct tree_row *to = NULL;
		for (size_t k = 0; foldable(sorted[i]) && k < kinds && !to; k++)
			if (same_kind(rows[kind_at[k]].p, sorted[i]))
				to = &rows[kind_at[k]];
		if (!to) {
			if (foldable(sorted[i]))
				kind_at[kinds++] = count;
			to = &rows[count++];
		}
		add_to(all, to, sorted[i]);
	}
	free(kind_at);
	return count;
}

static void put_state(const struct process *p, char *text, size_t size)
{
	char signal[FORMAT_SIGNAL];

	if (p->state == PROCESS_SIGNALLED && p->status_known)
		snprintf(text, size, "%s", format_signal(p->status, signal));
	else if (p->state == PROCESS_EXITED && p->status_known)
		snprintf(text, size, "%s %d", state_words[p->state], p->status);
	else
		snprintf(text, size, "%s%s", state_words[p->state],
			 p->state == PROCESS_EXITED || p->state == PROCESS_SIGNALLED ? " ?" : "");
}

#define WORDS 32 /* columns: the row stays on one line of 80 with most names */

/* What its command line or title says beside its name. */
static void put_words(const struct process *p, FILE *out)
{
	char words[512], brief[WORDS + 4];
	const char *rest = process_words(p, words, sizeof words) + strlen(p->name);

	rest += strspn(rest, ": ");
	if (!*rest)
		return;
	snprintf(brief, sizeof brief, "%.*s%s", (int)(strlen(rest) > WORDS ? WORDS - 3 : WORDS),
		 rest, strlen(rest) > WORDS ? "..." : "");
	fputs("  ", out);
	page_put(out, brief);
}

static void put_row(const struct tree_row *r, uint32_t shown, struct listing *t)
{
	char n[FORMAT_NUMBER], state[32];
	bool none = r->p->state == PROCESS_UNFOLLOWED;

	listing_row(t);
	listing_put(t, r->p->recorded ? "*" : "");
	listing_put(t, none ? "-" : format_bytes(n, r->live));
	listing_put(t, none ? "-" : format_bytes(n, r->peak));
	listing_put(t, none ? "-" : format_bytes(n, r->allocated));
	fprintf(listing_cell(t), "%.2f", (double)r->ns / 1e9);
	put_state(r->p, state, sizeof state);
	listing_put(t, state);
	FILE *out = listing_cell(t);
	page_put(out, r->p->name);
	if (r->count > 1)
		fprintf(out, "  %s processes", format_count(n, r->count));
	else if (r->p->pid)
		fprintf(out, " [%d]", r->p->pid);
	if (r->p->forked)
		fputs("  (fork)", out);
	if (r->p->id == shown)
		fputs("  (below)", out);
	if (r->p->why) {
		fputs("  ", out);
		page_put(out, r->p->why);
	} else if (r->count == 1) {
		put_words(r->p, out);
	}
}

static bool has_forks(const struct processes *p)
{
	const struct process *list;

	for (size_t i = 0, n = processes_list(p, &list); i < n; i++)
		if (list[i].inherited_bytes)
			return true;
	return false;
}

static void put_head(const struct processes *p, bool several, FILE *out)
{
	struct processes_sum sum;
	char a[FORMAT_NUMBER], live[REPORT_RANGE], n[FORMAT_NUMBER], rule[96];

	processes_total(p, &sum);
	processes_rule(p, rule, sizeof rule);
	fprintf(out, "%s processes: %s allocated, %s live %s%s%s\n", format_count(n, sum.lines),
		format_bytes(a, sum.sum.alloc_bytes), report_range(live, &sum.bytes),
		sum.running ? "in those that run" : "at their ends",
		has_forks(p) ? "; blocks that a fork inherits count once" : "",
		sum.bytes.least < sum.bytes.most
			? " (a range: a fork may free inherited or own blocks)"
			: "");
	if (processes_missed(p))
		fprintf(out, "! %s more processes were not recorded: there was no room for them.\n",
			format_count(n, processes_missed(p)));
	fprintf(out,
		"* marks a process with all figures (it %s): --process PID or NAME reports "
		"it\n%s\n",
		rule,
		several ? "A row of several processes shows sums; its PEAK is the largest one's.\n"
			: "");
}

static void rest(const struct tree_row *rows, size_t from, size_t count, struct listing *t)
{
	struct tree_row more = { 0 };
	char n[FORMAT_NUMBER];

	for (size_t i = from; i < count; i++) {
		more.count += rows[i].count;
		more.live += rows[i].live;
		more.allocated += rows[i].allocated;
	}
	if (!more.count)
		return;
	listing_row(t);
	listing_put(t, "");
	listing_put(t, format_bytes(n, more.live));
	listing_put(t, "...");
	listing_put(t, format_bytes(n, more.allocated));
	listing_put(t, "");
	listing_put(t, "");
	fprintf(listing_cell(t), "%s more", format_count(n, more.count));
}

void report_tree_text(const struct processes *p, uint32_t shown, FILE *out)
{
	static const struct listing_column columns[] = {
		{ "", LISTING_LEFT, 1, 0 },         { "LIVE", LISTING_RIGHT, 9, 0 },
		{ "PEAK", LISTING_RIGHT, 9, 1 },    { "ALLOCATED", LISTING_RIGHT, 11, 1 },
		{ "SECONDS", LISTING_RIGHT, 9, 1 }, { "STATE", LISTING_LEFT, 13, 3 },
		{ "PROCESS", LISTING_LEFT, 0, 1 },
	};
	const struct process **sorted;
	size_t n = report_tree_sorted(p, &sorted);
	struct tree_row *rows = xcalloc(n + 1, sizeof *rows);
	size_t count = make_rows(p, sorted, n, rows);

	put_head(p, count < n, out);
	struct listing *t = listing_new(columns, sizeof columns / sizeof *columns, 0);
	for (size_t i = 0; i < count && i < ROWS; i++)
		put_row(&rows[i], shown, t);
	rest(rows, ROWS, count, t);
	listing_end(t, out);
	fputc('\n', out);
	free(rows);
	free(sorted);
}
