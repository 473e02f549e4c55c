/* SPDX-License-Identifier: MIT
 *
 * encode.c - state -> frames for one viewer, as far as its window takes them.
 *
 * A pump writes what the viewer lacks, most important first, and ends with a TICK: the reader takes
 * everything between two TICKs as one step. Sums change in a pass only, so all data of a pump is of
 * one moment. When nothing is left over, the TICK says COMPLETE, and then
 *
 *     sum over the slots that this viewer knows = TOTALS
 *
 * Data that did not fit stays due (viewer.wants); the viewer's next acknowledgement starts another
 * try. While a first state loads, half of each pump carries it and half carries changes of slots
 * already sent.
 */
#include "encode/encode.h"
#include "base/arena.h"
#include "base/conf.h"
#include "base/state.h"
#include "base/version.h"
#include "collect/cohorts.h"
#include "encode/encode_slots.h"
#include "collect/history.h"
#include "collect/marks.h"
#include "collect/memory.h"
#include "collect/options.h"
#include "collect/output.h"
#include "collect/peak_snapshot.h"
#include "collect/samples.h"
#include "collect/server.h"
#include "collect/stops.h"
#include "collect/sums.h"
#include "collect/viewer.h"
#include "live/scan.h"
#include "record/filter.h"
#include "record/loss.h"

#include <memtop/wire.h>

#define PUMP_LEAST 2048u            /* do not begin with less room: a few totals, and a TICK */
#define BY_CPU_MOST_NS 500000000ull /* between two ticks, whatever the target does */
#define TICK_BYTES 256u             /* the closing TOTALS and TICK */
#define SMALL_BYTES 512u            /* bound of a frame without paths */
#define SAMPLES_BYTES (SAMPLES * 6 * 10 + 32) /* of SAMPLES */
#define STOPS_BYTES (MTW_STOPS_MAX * (6 * 10 + STOP_NAME) + 32)

#if defined(__x86_64__)
#define ARCH "x86_64"
#elif defined(__aarch64__)
#define ARCH "aarch64"
#elif defined(__arm__)
#define ARCH "arm"
#else
#define ARCH "unknown"
#endif

static struct mtw_out begin(struct server *s)
{
	return (struct mtw_out){ s->scratch, s->scratch + SCRATCH_BYTES, false };
}

static void send(struct server *s, struct viewer *v, unsigned type, const struct mtw_out *o)
{
	if (!o->full)
		viewer_frame(v, type, s->scratch, (size_t)(o->at - s->scratch));
}

static bool fits(struct viewer *v, size_t bytes)
{
	if (viewer_room(v) >= bytes + TICK_BYTES)
		return true;
	v->wants = true;
	return false;
}

static void put_tally(struct mtw_out *o, const struct tally *t)
{
	mtw_put(o, t->alloc_blocks);
	mtw_put(o, t->alloc_bytes);
	mtw_put(o, t->free_blocks);
	mtw_put(o, t->free_bytes);
}

static void put_args(struct mtw_out *o, const struct target *target)
{
	uint64_t n = 0;

	for (size_t i = 0; i < target->args_len; i++)
		n += !target->args[i] || i + 1 == target->args_len;
	n = n < MTW_ARGS_MAX ? n : MTW_ARGS_MAX;
	mtw_put(o, n);
	for (const char *p = target->args; n; n--) {
		mtw_put_string(o, p);
		p += strlen(p) + 1;
	}
}

static void put_fork(struct mtw_out *o)
{
	const struct tally *before = &mt_before_fork;

	mtw_put(o, mt_state_is_fork());
	if (!mt_state_is_fork())
		return;
	mtw_put(o, before->alloc_blocks);
	mtw_put(o, before->alloc_bytes);
	mtw_put(o, before->free_blocks);
	mtw_put(o, before->free_bytes);
	mtw_put(o, mt_first_epoch);
}

void encode_hello(struct server *s, struct viewer *v)
{
	struct mtw_out o = begin(s);
	char options[2048];

	mt_conf_print(options, sizeof(options));
	mtw_put(&o, v->tcp ? MTW_VERSION : MTW_VERSION_UNIX);
	mtw_put(&o, MTW_FEATURE_MEMORY | MTW_FEATURE_COHORTS | MTW_FEATURE_PEAK);
	mtw_put(&o, (uint64_t)s->target.pid);
	mtw_put(&o, s->privileges.rights.uid[1]);
	mtw_put(&o, s->start_unix_ns);
	mtw_put(&o, server_now());
	mtw_put(&o, v->tick_ns);
	mtw_put(&o, 8 * sizeof(void *));
	mtw_put_string(&o, ARCH);
	mtw_put_string(&o, s->target.exe);
	mtw_put_string(&o, mt_version);
	mtw_put_string(&o, options);
	put_args(&o, &s->target);
	put_fork(&o);
	send(s, v, MTW_HELLO, &o);
	v->hello = true;
}

static void put_totals(struct server *s, struct viewer *v)
{
	struct mtw_out o = begin(s);

	mtw_put(&o, s->sums.pass_ns);
	put_tally(&o, &s->sums.totals);
	mtw_put(&o, s->sums.peak_bytes);
	mtw_put(&o, s->sums.peak_error);
	mtw_put(&o, s->sums.peak_ns);
	mtw_put(&o, s->figures.memory_bytes);
	mtw_put(&o, s->figures.agent_cpu_ns);
	mtw_put(&o, s->figures.hooks.ns);
	mtw_put(&o, s->figures.target_cpu_ns);
	mtw_put(&o, s->sums.slots_seen);
	mtw_put(&o, v->slots_sent);
	mtw_put(&o, v->live_sent < 0 ? 0 : (uint64_t)v->live_sent);
	mtw_put(&o, mt_arena_cap());
	mtw_put(&o, s->figures.hooks.error_ns);
	mtw_put(&o, mt_live_walked);
	send(s, v, MTW_TOTALS, &o);
}

static void put_state(struct server *s, struct viewer *v)
{
	if (v->state_serial == s->state.serial || !fits(v, SMALL_BYTES))
		return;
	struct mtw_out o = begin(s);
	mtw_put(&o, s->state.what);
	mtw_put(&o, s->state.status);
	mtw_put(&o, s->state.ns);
	mtw_put(&o, s->state.known);
	send(s, v, MTW_STATE, &o);
	v->state_serial = s->state.serial;
}

static void put_options(struct server *s, struct viewer *v)
{
	if (v->option_serial == s->options.serial || !fits(v, s->options.count * SMALL_BYTES))
		return;
	for (uint32_t i = 0; i < s->options.count; i++) {
		if (s->options.option[i].changed <= v->option_serial)
			continue;
		struct mtw_out o = begin(s);
		mtw_put_string(&o, s->options.option[i].name);
		mtw_put_string(&o, s->options.option[i].value);
		mtw_put_string(&o, s->options.option[i].who);
		send(s, v, MTW_OPTION, &o);
	}
	v->option_serial = s->options.serial;
}

static void put_filters(struct server *s, struct viewer *v)
{
	for (; v->filters_sent < s->options.filter_count; v->filters_sent++) {
		const struct filter_entry *f = &s->options.filter[v->filters_sent];
		if (!fits(v, 2 * SMALL_BYTES))
			return;
		struct mtw_out o = begin(s);
		mtw_put(&o, v->filters_sent);
		mtw_put(&o, f->since_ns);
		mtw_put(&o, f->sample);
		mtw_put(&o, f->min_size);
		mtw_put(&o, f->max_size);
		mtw_put(&o, f->merge);
		mtw_put_string(&o, f->libs);
		mtw_put_string(&o, f->exclude);
		mtw_put_string(&o, f->who);
		send(s, v, MTW_FILTER, &o);
	}
}

static void put_losses(struct server *s, struct viewer *v)
{
	for (unsigned r = 0; r < MTW_LOSS_COUNT; r++) {
		uint64_t events, bytes;
		mt_record_losses(r, &events, &bytes);
		if ((events == v->loss[r][0] && bytes == v->loss[r][1]) || !fits(v, SMALL_BYTES))
			continue;
		struct mtw_out o = begin(s);
		mtw_put(&o, r);
		mtw_put(&o, events);
		mtw_put(&o, bytes);
		send(s, v, MTW_LOSS, &o);
		v->loss[r][0] = events;
		v->loss[r][1] = bytes;
	}
}

/* Works in rounds: a change behind the current round's position goes into the next round. */
static void put_threads(struct server *s, struct viewer *v)
{
	if (v->thread_at == 0) {
		if (s->sums.thread_pass <= v->thread_pass)
			return;
		v->thread_begun = s->sums.pass;
	}
	for (; v->thread_at < s->sums.thread_limit; v->thread_at++) {
		const struct thread_row *row = &s->sums.thread[v->thread_at];
		if (!row->changed || row->changed <= v->thread_pass)
			continue;
		if (!fits(v, SMALL_BYTES))
			return;
		struct mtw_out o = begin(s);
		mtw_put(&o, row->info.index);
		mtw_put(&o, (uint64_t)row->info.tid);
		mtw_put(&o, row->info.ended);
		mtw_put_string(&o, row->info.name);
		put_tally(&o, &row->info.done);
		send(s, v, MTW_THREAD, &o);
	}
	v->thread_pass = v->thread_begun;
	v->thread_at = 0;
}

static void put_process(struct server *s, struct viewer *v)
{
	if ((v->process_pass && s->figures.pass <= v->process_pass) || !fits(v, SMALL_BYTES))
		return;
	struct mtw_out o = begin(s);
	mtw_put(&o, s->figures.rss_bytes);
	mtw_put(&o, s->figures.virtual_bytes);
	mtw_put(&o, s->figures.thread_count);
	mtw_put(&o, s->figures.children);
	send(s, v, MTW_PROCESS, &o);
	v->process_pass = s->sums.pass;
}

static void put_stacks(struct server *s, struct viewer *v)
{
	const struct effort *e = &s->figures.effort;

	if (s->figures.effort_allocations == v->effort_allocations || !fits(v, SMALL_BYTES))
		return;
	struct mtw_out o = begin(s);
	mtw_put(&o, s->figures.effort_allocations);
	mtw_put(&o, e->captures);
	mtw_put(&o, e->whole);
	mtw_put(&o, e->frames);
	mtw_put(&o, e->pc_misses);
	mtw_put(&o, e->edge_misses);
	send(s, v, MTW_STACKS, &o);
	v->effort_allocations = s->figures.effort_allocations;
}

static void put_memory(struct server *s, struct viewer *v)
{
	static const char *const names[PART_COUNT] = { "live map", "stacks and counters",
						       "caches of unwinding", "threads",
						       "server, marks and history" };

	if (!memcmp(s->figures.memory_of, v->memory_of, sizeof(s->figures.memory_of)) ||
	    !fits(v, SMALL_BYTES))
		return;
	struct mtw_out o = begin(s);
	mtw_put(&o, PART_COUNT);
	for (int i = 0; i < PART_COUNT; i++) {
		mtw_put_string(&o, names[i]);
		mtw_put(&o, s->figures.memory_of[i]);
	}
	send(s, v, MTW_MEMORY, &o);
	memcpy(v->memory_of, s->figures.memory_of, sizeof(s->figures.memory_of));
}

static void put_marks(struct server *s, struct viewer *v)
{
	for (uint32_t id = 1; id <= s->marks.last; id++) {
		const struct mark *m = &s->marks.mark[id];
		if (v->mark_sent[id] == m->changed || !fits(v, SMALL_BYTES))
			continue;
		struct mtw_out o = begin(s);
		mtw_put(&o, id);
		mtw_put(&o, m->epoch);
		mtw_put(&o, m->flags);
		mtw_put(&o, m->time_ns);
		mtw_put_string(&o, m->name);
		mtw_put_string(&o, m->set_by);
		put_tally(&o, &m->then);
		mtw_put(&o, m->rss_bytes);
		send(s, v, MTW_MARK, &o);
		v->mark_sent[id] = m->changed;
	}
}

static void put_samples(struct server *s, struct viewer *v)
{
	if (v->samples_sent == 1 + s->samples->changed || !fits(v, SAMPLES_BYTES))
		return;
	if (!v->samples_sent)
		samples_newcomer(s, v);
	struct mtw_out o = begin(s);
	samples_list(s, &o);
	send(s, v, MTW_SAMPLES, &o);
	v->samples_sent = 1 + s->samples->changed;
}

static void put_stops(struct server *s, struct viewer *v)
{
	if (v->stops_sent == s->stops.changed || !fits(v, STOPS_BYTES))
		return;
	struct mtw_out o = begin(s);
	stops_put(&s->stops, &o);
	send(s, v, MTW_STOPS, &o);
	v->stops_sent = s->stops.changed;
}

static void put_history(struct server *s, struct viewer *v)
{
	if (v->history)
		return;
	/* Ignores the window: graphs start from this data, and it comes once. */
	size_t room = viewer_space(v) < SCRATCH_BYTES ? viewer_space(v) : SCRATCH_BYTES;
	size_t len = room > 65536 ? history_encode(s, s->scratch, room - 4096) : 0;
	if (!len) {
		v->wants = true;
		return;
	}
	viewer_frame(v, MTW_HISTORY, s->scratch, len);
	v->history = true;
}

static void put_notices(struct server *s, struct viewer *v)
{
	for (uint32_t i = 0; i < NOTICES; i++) {
		const struct notice *n = &s->notices.notice[(s->notices.serial + i) % NOTICES];
		if (!n->serial || n->serial <= v->notice_serial)
			continue;
		if (!fits(v, SMALL_BYTES))
			return;
		v->notice_serial = n->serial;
		if (n->except == v->index || (n->only >= 0 && n->only != v->index))
			continue;
		struct mtw_out o = begin(s);
		mtw_put_string(&o, n->text);
		send(s, v, MTW_NOTICE, &o);
	}
}

/* Slots and what hangs on them. True: nothing is left. */
static bool put_slots(struct server *s, struct viewer *v)
{
	if (!v->list && !v->list_limit && !encode_slots_list(s, v)) {
		viewer_error(s, v, MTW_E_BUSY, "the agent is out of memory");
		return false;
	}
	if (v->list)
		encode_slots_first(s, v, viewer_room(v) / 2);
	bool swept = encode_slots_sweep(s, v);
	if (v->list)
		encode_slots_first(s, v, viewer_room(v));
	return swept && !v->list && marks_send(s, v) && samples_send(s, v) &&
	       peak_snapshot_send(s, v);
}

/* They pass the window like the answer to a scan; false: there is no room for them yet. */
static bool put_last_scans(struct server *s, struct viewer *v)
{
	for (; s->over && v->last_scans < LAST_SCANS; v->last_scans++) {
		const struct last_scan *last = &s->scans.last[v->last_scans];
		if (last->reply && viewer_space(v) < last->len + SMALL_BYTES) {
			v->wants = true;
			return false;
		}
		if (last->reply)
			viewer_frame(v, last->type, last->reply, last->len);
	}
	return true;
}

/* False: there is no room for all of them yet. */
static bool put_last_cohorts(struct server *s, struct viewer *v)
{
	while (s->over && s->scans.last_cohorts && !v->last_cohorts.whole) {
		if (!fits(v, COHORTS_PART_LEAST + SMALL_BYTES))
			return false;
		size_t room = viewer_room(v) - TICK_BYTES - SMALL_BYTES;
		size_t len = cohorts_encode(s->scans.last_cohorts, &v->last_cohorts, 0, s->scratch,
					    room < SCRATCH_BYTES ? room : SCRATCH_BYTES);
		viewer_frame(v, MTW_SCAN_COHORTS, s->scratch, len);
	}
	return true;
}

static void put_tick(struct server *s, struct viewer *v, bool complete)
{
	struct mtw_out o = begin(s);

	v->final = s->over && complete;
	mtw_put(&o, ++v->seq);
	mtw_put(&o, s->sums.pass_ns);
	mtw_put(&o, (complete ? MTW_TICK_COMPLETE : 0) | (v->final ? MTW_TICK_FINAL : 0));
	send(s, v, MTW_TICK, &o);
}

void encode_pulse(struct server *s, struct viewer *v)
{
	if (v->state != VIEWER_OPEN || !v->hello || v->final || !fits(v, SMALL_BYTES))
		return;
	put_totals(s, v);
	viewer_write(s, v);
}

/*
 * A recorder of a build wants as many ticks as the compiler had work for, not as many as the
 * machine was busy otherwise: what it records is the same each time. Nothing is late that ends
 * something.
 */
static bool tick_is_due(const struct server *s, struct viewer *v)
{
	uint64_t cpu = s->figures.target_cpu_ns, now = s->sums.pass_ns;

	if (v->by_cpu && v->complete && !s->over && !s->target.exec_pending &&
	    cpu - v->tick_cpu_ns < v->tick_ns && now - v->tick_at_ns < BY_CPU_MOST_NS)
		return false;
	v->tick_cpu_ns = cpu;
	v->tick_at_ns = now;
	return true;
}

void encode_pump(struct server *s, struct viewer *v, bool tick)
{
	tick = tick && tick_is_due(s, v);
	if (!s->sums.pass || (!tick && !v->wants) || v->final)
		return;
	/* Between ticks not before a good piece has been taken: small frames would be mostly
	 * TICKs. */
	size_t piece = v->window / 4 < OUT_BYTES / 4 ? v->window / 4 : OUT_BYTES / 4;
	if (viewer_room(v) < (tick ? PUMP_LEAST : piece)) {
		v->wants = true;
		return;
	}
	v->wants = false;
	v->quiet = v->produced - v->acked < MTW_ACK_EVERY;
	if (!v->hello)
		encode_hello(s, v);
	put_totals(s, v);
	put_state(s, v);
	put_options(s, v);
	put_filters(s, v);
	put_losses(s, v);
	put_threads(s, v);
	put_process(s, v);
	put_stacks(s, v);
	put_memory(s, v);
	put_stops(s, v);
	put_marks(s, v);
	put_samples(s, v);
	put_history(s, v);
	put_notices(s, v);
	bool small = !v->wants && v->thread_at == 0;
	uint64_t sent = v->slots_sent;
	bool slots = put_slots(s, v);
	if (v->state != VIEWER_OPEN)
		return;
	if (v->slots_sent != sent)
		put_totals(s, v); /* how far loading is, as of this TICK */
	if (!slots)
		v->wants = true;
	v->complete = small && slots && put_last_scans(s, v) && put_last_cohorts(s, v);
	put_tick(s, v, v->complete);
	viewer_write(s, v);
}
