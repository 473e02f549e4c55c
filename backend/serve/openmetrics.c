/* SPDX-License-Identifier: MIT
 *
 * openmetrics.c - see serve/requests.h.
 *
 * The format wants all samples of a family together, so each process is read once into a row, and
 * each family walks over the rows. A process that ended keeps its counters, peak and verdict; a
 * live amount of it would stay in sums for ever. Owners and verdict need names; until these were
 * asked for, which happens a few processes at a time, they are left out.
 */
#include "serve/requests.h"

#include "base/ascii.h"
#include "base/sanitize.h"
#include "model/quality.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_MAX 512u
#define NAME_SHOWN 128u

struct share {
	char owner[LABEL_MAX];
	uint64_t bytes, blocks;
};

struct followed {
	struct member *member;
	char pid[16], name[LABEL_MAX];
	bool up, known; /* known: counters and verdict are; also of one that ended */
	const struct model *model;
	const struct totals *totals;
	struct verdict verdict;
	struct share *shares; /* owned */
	size_t share_count;
};

struct page {
	FILE *out;
	struct fleet *fleet;
	const struct openmetrics_options *options;
	struct followed *rows;
	size_t count, followed; /* rows; processes of the fleet */
};

char *openmetrics_label(char *buf, size_t size, const char *text)
{
	char clean[LABEL_MAX];
	size_t n = 0;

	sanitize_clean(clean, sizeof clean < size / 2 ? sizeof clean : size / 2, text);
	for (const char *s = clean; *s && n + 3 < size; s++) {
		if (*s == '\\' || *s == '"')
			buf[n++] = '\\';
		buf[n++] = *s;
	}
	buf[n] = '\0';
	return buf;
}

bool openmetrics_classic(const char *accept)
{
	return accept && strstr(accept, "text/plain") &&
	       !strstr(accept, "application/openmetrics-text");
}

/* Two modules of one file name are one owner here, and one called "other" joins the rest. */
static void add_share(struct followed *r, const struct owner *o, size_t top)
{
	char name[LABEL_MAX];
	size_t at = 0;

	openmetrics_label(name, sizeof name, o->name);
	while (at < r->share_count && strcmp(r->shares[at].owner, name))
		at++;
	if (at == r->share_count && at >= top + 1)
		at = 0;
	if (at == r->share_count) {
		snprintf(r->shares[at].owner, LABEL_MAX, "%s", name);
		r->share_count++;
	}
	r->shares[at].bytes += live_bytes(&o->amounts.sum);
	r->shares[at].blocks += live_blocks(&o->amounts.sum);
}

static void read_owners(struct followed *r, size_t top)
{
	const struct owner *list = NULL;
	size_t n = owners_update(r->member->owners, &list);

	r->shares = xcalloc(top + 1, sizeof *r->shares);
	snprintf(r->shares[0].owner, LABEL_MAX, "other");
	r->share_count = 1;
	for (size_t i = 0; i < n; i++)
		add_share(r, &list[i], top);
}

/* Names are no identity: the same process may be named twice, or two machines have the same pid. */
static void be_distinct(const struct page *p, struct followed *r)
{
	char text[sizeof r->member->name + sizeof r->member->target.text + 2];

	for (const struct followed *other = p->rows; other < r; other++) {
		if (strcmp(other->pid, r->pid) || strcmp(other->name, r->name))
			continue;
		snprintf(text, sizeof text, "%s@%s#%llu", r->member->name, r->member->target.text,
			 (unsigned long long)r->member->serial);
		openmetrics_label(r->name, sizeof r->name, text);
		return;
	}
}

static void read_row(const struct page *p, struct followed *r, struct member *m)
{
	r->member = m;
	r->model = watch_model(m->watch);
	r->up = fleet_up(m);
	r->known = fleet_known(m) && (r->up || m->ended_ns);
	snprintf(r->pid, sizeof r->pid, "%d", m->pid);
	openmetrics_label(r->name, 2 * NAME_SHOWN, m->name);
	be_distinct(p, r);
	r->totals = model_totals(r->model);
	if (m->query && r->known)
		query_verdict(m->query, &r->verdict);
	else if (r->known && model_final(r->model)) /* before its names were asked for */
		r->verdict = (struct verdict){ .kind = V_ENDED, .word = "ENDED" };
	if (m->query && r->up)
		read_owners(r, p->options->top);
}

enum type { GAUGE, COUNTER, STATESET, INFO };

struct family {
	const char *name, *unit, *help; /* unit: "" = none */
	enum type type;
	bool after; /* also of a process that ended */
	/* one value, NAN = unknown; NULL: write() has several */
	double (*value)(const struct followed *r);
	void (*write)(const struct page *p, const struct family *f, const struct followed *r);
};

static void sample(const struct page *p, const struct family *f, const struct followed *r,
		   const char *label, const char *text, double value)
{
	static const char *const suffix[] = {
		[GAUGE] = "", [COUNTER] = "_total", [STATESET] = "", [INFO] = "_info"
	};

	fprintf(p->out, "%s%s{pid=\"%s\",name=\"%s\"", f->name, suffix[f->type], r->pid, r->name);
	if (label)
		fprintf(p->out, ",%s=\"%s\"", label, text);
	fprintf(p->out, value == floor(value) ? "} %.0f\n" : "} %.9g\n", value);
}

static double up(const struct followed *r)
{
	return r->up;
}

static double stopped(const struct followed *r)
{
	return model_stopped(r->model) || watch_stopped(r->member->watch);
}

static double live(const struct followed *r)
{
	return (double)live_bytes(&r->totals->sum);
}

static double blocks(const struct followed *r)
{
	return (double)live_blocks(&r->totals->sum);
}

static double allocated(const struct followed *r)
{
	return (double)r->totals->sum.alloc_bytes;
}

static double allocated_blocks(const struct followed *r)
{
	return (double)r->totals->sum.alloc_blocks;
}

static double freed(const struct followed *r)
{
	return (double)r->totals->sum.free_bytes;
}

static double freed_blocks(const struct followed *r)
{
	return (double)r->totals->sum.free_blocks;
}

static double peak(const struct followed *r)
{
	return (double)r->totals->peak_bytes;
}

static double estimated(const struct followed *r)
{
	return model_estimate(r->model);
}

static double resident(const struct followed *r)
{
	uint64_t rss = 0;

	return model_process(r->model, &rss, NULL, NULL, NULL) && rss ? (double)rss : NAN;
}

static double growth(const struct followed *r)
{
	return r->verdict.rated ? (double)r->verdict.per_minute / 60 : NAN;
}

static double program_cpu(const struct followed *r)
{
	return (double)r->totals->target_cpu_ns / 1e9;
}

static double server_cpu(const struct followed *r)
{
	return (double)r->totals->agent_cpu_ns / 1e9;
}

static double hook_cpu(const struct followed *r)
{
	return (double)r->totals->hook_ns / 1e9;
}

static double agent_memory(const struct followed *r)
{
	return (double)r->totals->agent_memory_bytes;
}

static double overhead(const struct followed *r)
{
	struct quality q;

	quality_of(r->model, &q);
	return q.cost.both / 100;
}

static double lost(const struct followed *r)
{
	uint64_t bytes;

	return (double)report_lost(r->model, &bytes);
}

static void write_parts(const struct page *p, const struct family *f, const struct followed *r)
{
	static const char *const parts[MTW_MEMORY_COUNT] = {
		[MTW_MEMORY_LIVE] = "live",     [MTW_MEMORY_ROUNDING] = "rounding",
		[MTW_MEMORY_FREE] = "free",     [MTW_MEMORY_FILE] = "file",
		[MTW_MEMORY_SHARED] = "shared", [MTW_MEMORY_STACK] = "stack",
		[MTW_MEMORY_AGENT] = "agent",   [MTW_MEMORY_OTHER] = "other",
	};
	const struct rss *now = model_rss_newest(r->model);

	for (unsigned i = 0; now && i < MTW_MEMORY_COUNT; i++)
		sample(p, f, r, "part", parts[i], (double)now->bytes[i]);
}

static void write_owner_bytes(const struct page *p, const struct family *f,
			      const struct followed *r)
{
	for (size_t i = 0; i < r->share_count; i++)
		sample(p, f, r, "owner", r->shares[i].owner, (double)r->shares[i].bytes);
}

static void write_owner_blocks(const struct page *p, const struct family *f,
			       const struct followed *r)
{
	for (size_t i = 0; i < r->share_count; i++)
		sample(p, f, r, "owner", r->shares[i].owner, (double)r->shares[i].blocks);
}

/* "up_and_down" of "UP AND DOWN"; every kind of end is "ended". */
static const char *state_of(const struct verdict *v, char word[32])
{
	size_t n = 0;

	for (const char *s = v->kind == V_ENDED ? "ended" : v->word; *s && n < 31; s++)
		word[n++] = *s == ' ' ? '_' : ascii_lower(*s);
	word[n] = '\0';
	return word;
}

static void write_verdict(const struct page *p, const struct family *f, const struct followed *r)
{
	static const char *const states[] = {
		"as_expected", "ended",     "filling", "flat",        "grew",    "growing",
		"rss_grows",   "shrinking", "step",    "up_and_down", "waiting", "watching",
	};
	char word[32];

	if (!r->verdict.word)
		return; /* its names are still asked for */
	state_of(&r->verdict, word);
	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		sample(p, f, r, "memtop_verdict", states[i], !strcmp(word, states[i]));
}

static void write_info(const struct page *p, const struct family *f, const struct followed *r)
{
	const struct program *g = model_program(r->model);
	char exe[LABEL_MAX], version[LABEL_MAX];

	fprintf(p->out, "%s_info{pid=\"%s\",name=\"%s\",exe=\"%s\",agent=\"%s\"} 1\n", f->name,
		r->pid, r->name, openmetrics_label(exe, sizeof exe, g->exe),
		openmetrics_label(version, sizeof version, g->agent_version));
}

static const struct family families[] = {
	{ "memtop_up", "", "1: the agent of the process answers", GAUGE, true, up, NULL },
	{ "memtop_process", "", "The program and its agent", INFO, true, NULL, write_info },
	{ "memtop_stopped", "",
	  "1: a signal, a debugger or a freezer has stopped the program, and its figures stand "
	  "still",
	  GAUGE, false, stopped, NULL },
	{ "memtop_live_bytes", "bytes", "Requested bytes that are not freed yet", GAUGE, false,
	  live, NULL },
	{ "memtop_live_blocks", "blocks", "Blocks that are not freed yet", GAUGE, false, blocks,
	  NULL },
	{ "memtop_allocated_bytes", "bytes", "Bytes allocated since the start", COUNTER, true,
	  allocated, NULL },
	{ "memtop_allocated_blocks", "blocks", "Blocks allocated since the start", COUNTER, true,
	  allocated_blocks, NULL },
	{ "memtop_freed_bytes", "bytes", "Bytes freed since the start", COUNTER, true, freed,
	  NULL },
	{ "memtop_freed_blocks", "blocks", "Blocks freed since the start", COUNTER, true,
	  freed_blocks, NULL },
	{ "memtop_peak_bytes", "bytes", "The most bytes that were live at a time", GAUGE, true,
	  peak, NULL },
	{ "memtop_estimate", "", "1: the agent samples, and amounts are estimates", GAUGE, false,
	  estimated, NULL },
	{ "memtop_resident_bytes", "bytes", "Resident memory of the process", GAUGE, false,
	  resident, NULL },
	{ "memtop_resident_part_bytes", "bytes", "Resident memory by part, of the newest scan",
	  GAUGE, false, NULL, write_parts },
	{ "memtop_owner_live_bytes", "bytes", "Live bytes by owner library", GAUGE, false, NULL,
	  write_owner_bytes },
	{ "memtop_owner_live_blocks", "blocks", "Live blocks by owner library", GAUGE, false, NULL,
	  write_owner_blocks },
	{ "memtop_verdict", "", "The verdict on growth", STATESET, true, NULL, write_verdict },
	{ "memtop_growth_bytes_per_second", "",
	  "Growth that the verdict states; of RSS where RSS grows", GAUGE, false, growth, NULL },
	{ "memtop_program_cpu_seconds", "seconds", "CPU time of the program", COUNTER, true,
	  program_cpu, NULL },
	{ "memtop_agent_server_cpu_seconds", "seconds", "CPU time of the agent's server", COUNTER,
	  true, server_cpu, NULL },
	{ "memtop_agent_hook_cpu_seconds", "seconds",
	  "CPU time of the agent inside the program's calls, estimated", COUNTER, true, hook_cpu,
	  NULL },
	{ "memtop_agent_overhead_ratio", "ratio",
	  "CPU time of the agent, of what it and the program take; absent while the program is "
	  "idle",
	  GAUGE, false, overhead, NULL },
	{ "memtop_agent_memory_bytes", "bytes", "The agent's own memory", GAUGE, false,
	  agent_memory, NULL },
	{ "memtop_lost_events", "",
	  "Events that could not be booked to their stack or place; totals stay exact", COUNTER,
	  true, lost, NULL },
};

static void describe(const struct page *p, const struct family *f)
{
	static const char *const types[] = {
		[GAUGE] = "gauge", [COUNTER] = "counter", [STATESET] = "stateset", [INFO] = "info"
	};
	static const char *const classic[] = {
		[GAUGE] = "gauge", [COUNTER] = "counter", [STATESET] = "gauge", [INFO] = "gauge"
	};
	const char *suffix = !p->options->classic ? ""
			     : f->type == COUNTER ? "_total"
			     : f->type == INFO    ? "_info"
						  : "";

	fprintf(p->out, "# TYPE %s%s %s\n", f->name, suffix,
		(p->options->classic ? classic : types)[f->type]);
	if (*f->unit && !p->options->classic)
		fprintf(p->out, "# UNIT %s %s\n", f->name, f->unit);
	fprintf(p->out, "# HELP %s%s %s.\n", f->name, suffix, f->help);
}

static void write_family(const struct page *p, const struct family *f)
{
	describe(p, f);
	for (const struct followed *r = p->rows; r < p->rows + p->count; r++) {
		bool told = f->value == up || r->up || (f->after && r->known);

		if (told && f->write)
			f->write(p, f, r);
		else if (told && !isnan(f->value(r)))
			sample(p, f, r, NULL, NULL, f->value(r));
	}
}

static void own(const struct page *p)
{
	fprintf(p->out,
		"# TYPE memtop_processes gauge\n"
		"# HELP memtop_processes Processes that this server follows.\n"
		"memtop_processes %zu\n"
		"# TYPE memtop_processes_left_out gauge\n"
		"# HELP memtop_processes_left_out Agents that this server found and cannot "
		"follow.\n"
		"memtop_processes_left_out %zu\n",
		p->followed, fleet_left_out(p->fleet));
}

void openmetrics_write(struct fleet *f, const struct openmetrics_options *o, FILE *out)
{
	struct page p = { .out = out, .fleet = f, .options = o };
	struct member *const *list;

	p.followed = fleet_list(f, &list);
	p.rows = xcalloc(p.followed + 1, sizeof *p.rows);
	for (size_t i = 0; i < p.followed; i++)
		if (!o->pid || list[i]->pid == o->pid)
			read_row(&p, &p.rows[p.count++], list[i]);
	own(&p);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		write_family(&p, &families[i]);
	if (!o->classic)
		fputs("# EOF\n", out);
	for (size_t i = 0; i < p.count; i++)
		free(p.rows[i].shares);
	free(p.rows);
}
