/* SPDX-License-Identifier: MIT
 *
 * agent.c - memtop's cost to the program and the quality of its stacks: the page behind the
 * header's short figures. Only the time in the program's calls is estimated (from samples); it
 * carries a ~.
 */
#include "views/views.h"
#include "base/build.h"
#include "symbols/debuginfod.h"
#include "report/coverage.h"
#include "widgets/page.h"
#include "model/quality.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CUTS_MAX 100

/* Words of 50 columns fit the narrowest common screen. */
static void add(struct page *p, const char *label, const char *figure, const char *words)
{
	page_add(p, ROLE_NORMAL, "  %-14s %9s  %s", label, figure, words);
}

static char *percent(char *out, double value)
{
	if (isnan(value))
		strcpy(out, "-");
	else
		snprintf(out, 32, "%.1f %%", value);
	return out;
}

static const char *share(char *out, double value)
{
	char number[QUALITY_TEXT];

	snprintf(out, 40, isnan(value) ? "%s" : "%s %%", quality_share(number, value));
	return out;
}

static void add_version(struct page *p, const struct model *m)
{
	const struct program *g = model_program(m);

	if (g && g->agent_version && *g->agent_version)
		page_add(p, ROLE_NORMAL, "  %-14s %9s  %s", "version", g->agent_version,
			 strcmp(g->agent_version, build_version) ? "another than memtop's"
								 : "memtop's own");
}

static void add_cost(struct page *p, const struct model *m, const struct totals *t,
		     const struct quality *q)
{
	char a[40], b[32], words[64];

	page_add(p, ROLE_TITLE, "Cost, since %s",
		 coverage_late(m) ? "the attach" : "the program's start");
	bool idle = isnan(q->cost.both);
	snprintf(a, sizeof a, "%s%s", idle ? "" : "~", percent(b, q->cost.calls));
	add(p, "its calls", a, "in the program's threads (estimated)");
	add(p, "its server", percent(b, q->cost.server), "beside the program");
	snprintf(a, sizeof a, "%s%s", isnan(q->of_a_core) ? "" : "~",
		 percent(b, idle ? q->of_a_core : q->cost.both));
	if (isnan(q->of_a_core))
		strcpy(words, "too short a run to tell");
	else if (idle)
		strcpy(words, "of one core: the program is idle");
	else if (q->cost.error > 0)
		snprintf(words, sizeof words, "of all cpu time, within %.1f %%", q->cost.error);
	else
		strcpy(words, "of all cpu time");
	add(p, "both", a, words);
	add(p, "memory", text_bytes(b, t->agent_memory_bytes), "resident");
	add_version(p, m);
	page_add(p, ROLE_NORMAL, "%s", "");
}

static void add_stacks(struct page *p, const struct model *m, const struct quality *q)
{
	const char *engine = model_option(m, "unwind"), *why = model_option(m, "unwind_why");
	char a[40], words[128], n[32];

	page_add(p, ROLE_TITLE, "Stacks%s%s%s%s", engine ? ", taken by " : "", engine ? engine : "",
		 why && *why ? ": " : "", why ? why : "");
	snprintf(words, sizeof words,
		 q->cut_blocks ? "of all blocks; the stacks of %s end early" : "of all blocks",
		 format_count(n, q->cut_blocks));
	add(p, "whole", share(a, q->whole), words);
	if (q->pointer_blocks)
		add(p, "by pointer", share(a, q->by_pointer),
		    "of all blocks: (fp) frames, without unwind tables");
	add(p, "remembered", share(a, q->remembered),
	    model_estimate(m) ? "of allocations: unknown while sampling"
			      : "of allocations: stack remembered, not walked");
	snprintf(a, sizeof a, isnan(q->frames) ? "-" : "%.1f", q->frames);
	add(p, "frames walked", a, "on average, per stack that was walked");
	add(p, "rules at hand", share(a, q->pc_hits),
	    "of frames walked: their unwind rule was cached");
	add(p, "steps at hand", share(a, q->edge_hits),
	    "of frames walked: their call-tree step was cached");
}

static void add_cuts(struct page *p, const struct model *m)
{
	struct cut *list;
	size_t n = quality_cuts(m, &list);
	char blocks[32];

	if (n) {
		page_add(p, ROLE_NORMAL, "%s", "");
		page_add(p, ROLE_TITLE,
			 "Stacks that end early, by module of the last known frame and reason");
		page_add(p, ROLE_HEAD, "  %12s  %-24s %s", "BLOCKS", "MODULE", "REASON");
	}
	for (size_t i = 0; i < n && i < CUTS_MAX; i++) {
		const char *name = quality_module_name(m, list[i].module);
		page_add(p, ROLE_WARNING, "  %12s  %-24s %s", format_count(blocks, list[i].blocks),
			 name ? name : "[no frame]", report_truncation(list[i].reason));
	}
	if (n > CUTS_MAX)
		page_add(p, ROLE_DIM, "  %12s  %zu more", "...", n - CUTS_MAX);
	free(list);
}

/* The limits of an agent that was attached late. */
static void add_late(struct page *p, const struct model *m)
{
	struct coverage_sums sums = coverage_sums(m);
	uint64_t frees, bytes;
	char n[32], b[32];

	if (!coverage_late(m))
		return;
	coverage_before(m, &frees, &bytes);
	page_add(p, ROLE_NORMAL, "%s", "");
	page_add(p, ROLE_TITLE, "Attached while the program ran");
	add(p, "before attach", format_count(n, frees),
	    "blocks allocated before have been freed since,");
	add(p, "", text_bytes(b, bytes), "in usable sizes");
	add(p, "modules", format_count(n, sums.hooked), "have their allocations counted");
	add(p, "", format_count(n, sums.calls_none), "call no allocator");
	if (sums.unmatched)
		add(p, "", format_count(n, sums.unmatched),
		    "not matched: left out by libs= or exclude=");
}

static void add_unseen(struct page *p, const struct model *m)
{
	struct coverage_sums sums = coverage_sums(m);

	for (uint32_t id = 0; sums.not_hooked && id < model_module_count(m); id++) {
		const struct module *k = model_module(m, id);
		if (k && k->known && !(k->flags & MTW_MODULE_GONE) && coverage_lacks(k->flags))
			page_add(p, ROLE_WARNING, "  %-14s %9s  %s: %s", "not counted", "", k->name,
				 coverage_word(k->flags));
	}
}

static void add_losses(struct page *p, const struct model *m)
{
	uint64_t events, bytes, all = report_lost(m, &bytes);
	char n[32];

	page_add(p, ROLE_NORMAL, "%s", "");
	page_add(p, ROLE_TITLE, all ? "Lost" : "Lost: nothing");
	for (unsigned i = 0; i < MTW_LOSS_COUNT; i++) {
		model_loss(m, i, &events, &bytes);
		if (events && !(i == MTW_LOSS_UNKNOWN_FREE && coverage_late(m)))
			page_add(p, report_loses(i) ? ROLE_BAD : ROLE_NORMAL, "  %12s  %s",
				 format_count(n, events), report_loss(i));
	}
}

static const char *download_text(const struct debuginfod_file *f, char *out, size_t size)
{
	char a[32], b[32];

	switch (f->state) {
	case DEBUGINFOD_WAITS: return "queued";
	case DEBUGINFOD_ASKED: return "asked";
	case DEBUGINFOD_LOADING:
		snprintf(out, size, "downloading, %s of %s", text_bytes(a, f->bytes),
			 text_bytes(b, f->whole));
		return out;
	case DEBUGINFOD_GOT: snprintf(out, size, "got, %s", text_bytes(a, f->bytes)); return out;
	case DEBUGINFOD_ABSENT: return "not on the server";
	default: snprintf(out, size, "failed: %s", f->why); return out;
	}
}

/* Where lines and inlined frames are to come from. */
static void add_downloads(struct page *p, const struct symbols *s)
{
	const struct debuginfod *d = symbols_debuginfod(s);
	char words[128];

	page_add(p, ROLE_NORMAL, "%s", "");
	page_add(p, ROLE_TITLE, "Debug files from servers (debuginfod)%s",
		 !d                    ? ": off, DEBUGINFOD_URLS is not set"
		 : debuginfod_count(d) ? ""
				       : ": not needed so far");
	for (size_t i = 0; i < debuginfod_count(d); i++) {
		const struct debuginfod_file *f = debuginfod_at(d, i);
		page_add(p, f->state == DEBUGINFOD_FAILED ? ROLE_WARNING : ROLE_NORMAL,
			 "  %-24s %s", f->name, download_text(f, words, sizeof words));
	}
}

/* Last: on a small screen what went wrong comes before it. */
static void add_memory(struct page *p, const struct model *m, const struct totals *t)
{
	const struct memory_part *list;
	size_t parts = model_memory(m, &list);
	char b[32];

	if (!parts)
		return;
	page_add(p, ROLE_NORMAL, "%s", "");
	page_add(p, ROLE_TITLE, "Its memory");
	for (size_t i = 0; i < parts; i++)
		add(p, "", text_bytes(b, list[i].bytes), list[i].name);
	if (t->agent_limit_bytes)
		add(p, "", text_bytes(b, t->agent_limit_bytes),
		    "limit of its stacks and counters (max_memory)");
}

static void refresh(struct view *v, bool resort)
{
	struct page *p = (struct page *)v;
	const struct model *m = v->ui->shown.model;
	const struct quality *q = &v->ui->shown.figures.quality;

	(void)resort;
	page_clear(p);
	add_cost(p, m, &v->ui->shown.figures.totals, q);
	add_stacks(p, m, q);
	add_cuts(p, m);
	add_late(p, m);
	add_unseen(p, m);
	add_losses(p, m);
	add_downloads(p, v->ui->shown.symbols);
	add_memory(p, m, &v->ui->shown.figures.totals);
}

static const struct view_ops ops = {
	.title = "Agent",
	.foci = page_foci,
	.refresh = refresh,
	.draw = page_draw,
	.action = page_action,
	.search = page_search,
	.next_hit = page_next_hit,
	.free = page_free,
};

struct view *view_agent_new(struct ui *ui)
{
	struct page *p = xcalloc(1, sizeof *p);

	p->v = (struct view){ &ops, ui };
	return &p->v;
}
