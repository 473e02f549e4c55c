/* SPDX-License-Identifier: MIT
 *
 * read.c - read access to the model.
 */
#include "model/columns.h"
#include "model/model_state.h"

#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ull

const struct program *model_program(const struct model *m)
{
	return m->hello ? &m->program : NULL;
}

const struct totals *model_totals(const struct model *m)
{
	return &m->totals;
}

bool model_inherited(const struct model *m, struct tally *sum)
{
	*sum = m->inherited;
	return m->hello && m->complete && !m->resuming && m->program.inherits_apart;
}

const struct peak_instant *model_peak(const struct model *m)
{
	return m->peak.whole ? &m->peak.at : NULL;
}

uint32_t model_state(const struct model *m, int *status, bool *known)
{
	if (status)
		*status = m->status;
	if (known)
		*known = m->status_known;
	return m->state;
}

/* A known end of the program stays when the link is lost or the agent is less sure. */
void model_set_state(struct model *m, uint32_t state, int status, bool known)
{
	bool ended = m->state == MTW_EXITED || m->state == MTW_SIGNALLED;

	model_mine(m);
	if (ended && (state == MTW_LINK_LOST || (m->status_known && !known)))
		return;
	m->state = state;
	m->status = status;
	m->status_known = known;
}

void model_set_cut(struct model *m)
{
	bool ended = m->state == MTW_EXITED || m->state == MTW_SIGNALLED;

	model_mine(m);
	if (m->final || (m->state != MTW_RUNNING && !ended))
		return;
	m->cut_end = (struct program_end){ m->state, m->status, m->status_known };
	m->state = MTW_CUT;
	m->status_known = false;
}

struct program_end model_cut_end(const struct model *m)
{
	return m->cut_end;
}

void model_set_still(struct model *m)
{
	m->still = true;
}

bool model_still(const struct model *m)
{
	return m->still;
}

bool model_whole(const struct model *m)
{
	return m->complete && m->tick_complete;
}

bool model_complete(const struct model *m)
{
	return m->complete;
}

bool model_final(const struct model *m)
{
	return m->final;
}

const struct totals *model_coming(const struct model *m)
{
	return m->resuming ? &m->totals_staged : NULL;
}

uint64_t model_walked(const struct model *m)
{
	return m->totals_staged.walked;
}

uint64_t model_time(const struct model *m)
{
	return m->time_ns;
}

uint64_t model_ticks(const struct model *m)
{
	return m->ticks;
}

uint64_t model_resets(const struct model *m)
{
	return m->resets;
}

uint64_t model_arrivals(const struct model *m)
{
	return m->arrivals;
}

uint32_t model_module_count(const struct model *m)
{
	return (uint32_t)m->modules.count;
}

uint64_t model_module_changes(const struct model *m)
{
	return m->modules.changes;
}

const struct module *model_module(const struct model *m, uint32_t id)
{
	return id < m->modules.count ? &m->modules.list[id] : NULL;
}

uint32_t model_thread_count(const struct model *m)
{
	return (uint32_t)m->threads.count;
}

const struct thread *model_thread(const struct model *m, uint32_t index)
{
	return index < m->threads.count ? &m->threads.list[index] : NULL;
}

void model_loss(const struct model *m, unsigned reason, uint64_t *events, uint64_t *bytes)
{
	*events = reason < MTW_LOSS_COUNT ? m->figures.loss_events[reason] : 0;
	*bytes = reason < MTW_LOSS_COUNT ? m->figures.loss_bytes[reason] : 0;
}

const struct effort *model_effort(const struct model *m)
{
	return &m->figures.effort;
}

size_t model_memory(const struct model *m, const struct memory_part **parts)
{
	*parts = m->figures.parts;
	return m->figures.part_count;
}

/* Such a stack is a child of the root that is named by its reason. */
uint64_t model_truncated(const struct model *m, unsigned reason)
{
	const struct heap *h = model_heap(m);
	const struct skeleton *s = h->skeleton;
	uint64_t blocks = 0;

	for (uint32_t n = 1; n < s->nodes; n = s->end[n]) {
		const struct location *at = model_location(m, s->location[n]);
		if (at->kind == MTW_NODE_TRUNCATED && at->offset == reason)
			blocks += heap_incl(h, n).alloc_blocks;
	}
	return blocks;
}

/* Of the outermost such nodes. */
uint64_t model_by_pointer(const struct model *m)
{
	const struct heap *h = model_heap(m);
	const struct skeleton *s = h->skeleton;
	uint64_t blocks = 0;

	for (uint32_t n = 1; n < s->nodes;) {
		uint64_t left = s->by_pointer_bits[n / 64] >> n % 64;
		if (!left) {
			n = (n / 64 + 1) * 64;
			continue;
		}
		n += (uint32_t)__builtin_ctzll(left);
		blocks += heap_incl(h, n).alloc_blocks;
		n = s->end[n];
	}
	return blocks;
}

size_t model_process(const struct model *m, uint64_t *rss, uint64_t *virt, uint32_t *threads,
		     uint32_t *children)
{
	if (rss)
		*rss = m->figures.rss;
	if (virt)
		*virt = m->figures.virt;
	if (threads)
		*threads = m->figures.process_threads;
	if (children)
		*children = m->figures.process_children;
	return m->figures.rss || m->figures.virt || m->figures.process_threads;
}

size_t model_filters(const struct model *m, const struct recorded **list)
{
	*list = m->filters.list;
	return m->filters.count;
}

const struct recorded *model_filter(const struct model *m)
{
	const struct recorded *f = m->filters.count ? &m->filters.list[m->filters.count - 1] : NULL;

	if (!f || !(f->sample || f->min_size || f->max_size || f->merge || *f->libs || *f->exclude))
		return NULL;
	return f;
}

bool model_estimate(const struct model *m)
{
	return m->estimated;
}

bool model_mark_estimate(const struct model *m, uint32_t id)
{
	const struct mark *k = model_mark(m, id);

	return k && k->known && m->sampled_epoch <= k->epoch;
}

const struct scan_ages *model_ages(const struct model *m)
{
	return m->ages.known ? &m->ages.now : NULL;
}

size_t model_history(const struct model *m, const struct point **points)
{
	*points = m->history.series.points;
	return m->history.series.count;
}

size_t model_history_owners(const struct model *m, const uint32_t **modules)
{
	*modules = m->history.series.owners;
	return m->history.series.owner_count;
}

const uint64_t *model_history_owner_bytes(const struct model *m, size_t point)
{
	return point < m->history.series.from_agent ? m->history.series.owner_bytes[point] : NULL;
}

size_t model_notices(const struct model *m, const char *const **sentences)
{
	*sentences = (const char *const *)m->notices.list;
	return m->notices.count;
}

void model_on_notice(struct model *m, void (*fn)(void *arg, const char *text), void *arg)
{
	m->on_notice = fn;
	m->notice_arg = arg;
}

uint32_t model_location_count(const struct model *m)
{
	return (uint32_t)m->locations.count;
}

const struct location *model_location(const struct model *m, uint32_t number)
{
	return locations_at(&m->locations, number);
}

uint32_t model_location_find(const struct model *m, uint32_t module, uint64_t offset, uint8_t kind)
{
	return locations_find(&m->locations, module, offset, kind);
}

size_t model_instants(const struct model *m, const struct instant **list)
{
	*list = m->instants.list;
	return m->instants.count;
}

size_t model_instant_at(const struct model *m, uint64_t time_ns)
{
	/* 0 - 1 = SIZE_MAX */
	return count_up_to(m->instants.list, m->instants.count, sizeof *m->instants.list, time_ns) -
	       1;
}

uint64_t model_ticks_read(const struct model *m)
{
	return m->instants.ticks_read;
}

uint64_t model_answers(const struct model *m, enum mtw_kind kind)
{
	return m->instants.answers[kind];
}

uint64_t model_looked(const struct model *m, enum mtw_kind kind)
{
	return m->instants.looked_ns[kind];
}

uint64_t model_marks_generation(const struct model *m)
{
	return m->marks.generation;
}

uint32_t model_mark_limit(const struct model *m)
{
	return m->marks.limit ? (uint32_t)m->marks.limit : 1;
}

const struct mark *model_mark(const struct model *m, uint32_t id)
{
	static const struct mark none;
	const struct mark *pinned = interval_pinned(&m->interval, id);

	if (pinned)
		return pinned;
	if (id < m->marks.limit)
		return &m->marks.list[id];
	return id < model_mark_limit(m) ? &none : NULL;
}

int model_mark_find(const struct model *m, const char *name_or_id)
{
	const char *digits = name_or_id + (name_or_id[0] == 'm');
	char *end;

	for (size_t i = 1; i < m->marks.limit; i++)
		if (m->marks.list[i].known && !(m->marks.list[i].flags & MTW_MARK_DROPPED) &&
		    !strcmp(m->marks.list[i].name, name_or_id))
			return (int)i;
	if (*digits < '0' || *digits > '9')
		return -1;
	unsigned long id = strtoul(digits, &end, 10);
	if (*end || id == 0 || id >= m->marks.limit || !m->marks.list[id].known ||
	    (m->marks.list[id].flags & MTW_MARK_DROPPED))
		return -1;
	return (int)id;
}

uint32_t model_newest_mark(const struct model *m)
{
	for (size_t i = m->marks.limit; i-- > 1;)
		if (m->marks.list[i].known && !(m->marks.list[i].flags & MTW_MARK_DROPPED))
			return (uint32_t)i;
	return 0;
}

size_t model_samples(const struct model *m, const struct sample **list)
{
	*list = m->samples.list;
	return m->samples.count;
}

const struct stops *model_stops(const struct model *m)
{
	return &m->stops;
}

const struct stop *model_stopped(const struct model *m)
{
	return m->final ? NULL : stops_open(&m->stops);
}

uint64_t model_running(const struct model *m, uint64_t ns)
{
	return stops_running(&m->stops, ns);
}

bool model_samples_told(const struct model *m)
{
	return m->samples.told;
}

bool model_samples_by_slot(const struct model *m)
{
	for (size_t i = 0; i < m->samples.count; i++)
		if (!m->samples.list[i].whole)
			return false;
	return !m->samples.totals_only;
}

uint64_t model_samples_generation(const struct model *m)
{
	return m->samples.generation;
}

size_t model_rss(const struct model *m, const struct rss **list)
{
	*list = m->rss.list;
	return m->rss.count;
}

const struct rss *model_rss_newest(const struct model *m)
{
	return m->rss.count ? &m->rss.list[m->rss.count - 1] : NULL;
}

size_t model_rss_named(const struct model *m, const struct rss_named **list)
{
	*list = m->rss.named;
	return m->rss.named_count;
}

const struct cohorts *model_cohorts(const struct model *m)
{
	return m->cohorts.whole ? &m->cohorts.now : NULL;
}

uint64_t model_cohort_scans(const struct model *m)
{
	return m->cohorts.scans;
}

uint64_t model_window(const struct model *m)
{
	uint64_t now = stops_running(&m->stops, m->time_ns);
	bool known = m->rates.known && m->rates.begin_ns < now;

	return known ? now - m->rates.begin_ns : 0;
}

double model_per_second(const struct model *m, uint64_t count)
{
	uint64_t ns = model_window(m);

	return ns ? (double)count * 1e9 / (double)ns : 0;
}

struct rates model_rates(const struct model *m)
{
	struct tally d = tally_sub(&m->totals.sum, &m->rates.before);

	if (!model_window(m))
		return (struct rates){ 0 };
	return (struct rates){ model_per_second(m, d.alloc_bytes),
			       model_per_second(m, d.alloc_blocks),
			       model_per_second(m, d.free_bytes),
			       model_per_second(m, d.free_blocks), true };
}

bool model_thread_rate(const struct model *m, uint32_t i, struct rate *rate)
{
	const struct rate_part *p = m->rates.count ? rates_part(&m->rates, 0) : NULL;

	if (!model_window(m) || !p->threads || p->begin_ns != m->rates.begin_ns)
		return false;
	struct rate now = thread_done(&m->threads, i),
		    then = i < p->thread_count ? p->threads[i] : (struct rate){ 0 };
	/* another thread has its number now */
	bool same = now.blocks >= then.blocks && now.bytes >= then.bytes && now.freed >= then.freed;
	*rate = same ? rate_sub(&now, &then) : now;
	return true;
}

const struct rss *model_rss_at(const struct model *m, uint64_t time_ns)
{
	return rss_at(&m->rss, time_ns);
}

const char *model_option(const struct model *m, const char *name)
{
	return options_value(&m->options, name);
}
