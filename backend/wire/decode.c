/* SPDX-License-Identifier: MIT
 *
 * decode.c - one frame's payload -> events.
 *
 * One function per frame type, in wire.h's order, each a plain transcription of the field list
 * there. This file checks form: bounds of lengths, counts and ids, known enumerations, no NUL in a
 * text. The model checks sense (does the id exist, did a counter shrink). No allocation is
 * proportional to a number from the peer: a count is accepted only if the payload can hold that
 * many entries.
 *
 * An event is built once per frame and its changing fields overwritten per entry: struct event is
 * large (symbols) and batches are long.
 */
#include "wire/decode.h"

#include "wire/reader.h"

#include <stdlib.h>

static void read_hello(struct reader *r)
{
	struct mtw_in *in = &r->in;

	r->e.u.hello.version = mtw_get(in);
	r->e.u.hello.features = mtw_get(in);
	r->e.u.hello.pid = get32(r);
	r->e.u.hello.uid = get32(r);
	r->e.u.hello.start_unix_ns = mtw_get(in);
	r->e.u.hello.now_ns = mtw_get(in);
	r->e.u.hello.tick_ns = mtw_get(in);
	r->e.u.hello.word_bits = get32(r);
	r->e.u.hello.arch = get_text(r, MTW_NAME_MAX);
	r->e.u.hello.exe = get_text(r, MTW_STRING_MAX);
	r->e.u.hello.agent_version = get_text(r, MTW_NAME_MAX);
	r->e.u.hello.options = get_text(r, MTW_STRING_MAX);
	r->e.u.hello.arg_count = get_count(r, MTW_ARGS_MAX, 1);
	for (size_t i = 0; i < r->e.u.hello.arg_count; i++)
		r->e.u.hello.args[i] = get_text(r, MTW_STRING_MAX);
	r->e.u.hello.forked =
		!in->bad && in->at < in->end && mtw_get(in); /* an older agent's ends before */
	if (r->e.u.hello.forked)
		r->e.u.hello.before = get_tally(r);
	r->e.u.hello.inherits_apart =
		!r->e.u.hello.forked || (!in->bad && in->at < in->end); /* likewise */
	if (r->e.u.hello.forked && r->e.u.hello.inherits_apart)
		r->e.u.hello.first_epoch = mtw_get(in);
	emit(r);
}

static void read_error(struct reader *r)
{
	r->e.u.error.code = mtw_get(&r->in);
	r->e.u.error.text = get_text(r, MTW_STRING_MAX);
	emit(r);
}

static void read_totals(struct reader *r)
{
	struct totals *t = &r->e.u.totals;
	struct mtw_in *in = &r->in;

	t->time_ns = mtw_get(in);
	t->sum = get_tally(r);
	t->peak_bytes = mtw_get(in);
	t->peak_error_bytes = mtw_get(in);
	t->peak_time_ns = mtw_get(in);
	t->agent_memory_bytes = mtw_get(in);
	t->agent_cpu_ns = mtw_get(in);
	t->hook_ns = mtw_get(in);
	t->target_cpu_ns = mtw_get(in);
	t->slots_total = mtw_get(in);
	t->slots_sent = mtw_get(in);
	t->live_sent_bytes = mtw_get(in);
	t->agent_limit_bytes = !in->bad && in->at < in->end ? mtw_get(in) : 0;
	t->hook_error_ns = !in->bad && in->at < in->end ? mtw_get(in) : 0;
	t->walked = !in->bad && in->at < in->end ? mtw_get(in) : 0;
	emit(r);
}

static void read_tick(struct reader *r)
{
	r->e.u.tick.seq = mtw_get(&r->in);
	r->e.u.tick.time_ns = mtw_get(&r->in);
	r->e.u.tick.flags = get32(r);
	emit(r);
}

static void read_state(struct reader *r)
{
	r->e.u.state.state = get_id(r, MTW_STATE_COUNT);
	if (r->e.u.state.state == MTW_LINK_LOST || r->e.u.state.state == MTW_CUT)
		r->in.bad = true; /* a viewer's own */
	r->e.u.state.status = get32(r);
	r->e.u.state.time_ns = mtw_get(&r->in);
	r->e.u.state.known = mtw_get(&r->in) != 0;
	emit(r);
}

static void read_module(struct reader *r)
{
	struct mtw_in *in = &r->in;

	r->e.u.module.id = get_id(r, MTW_MODULES_MAX);
	r->e.u.module.flags = get32(r);
	r->e.u.module.bias = mtw_get(in);
	r->e.u.module.start = mtw_get(in);
	r->e.u.module.end = mtw_get(in);
	r->e.u.module.loaded_ns = mtw_get(in);
	r->e.u.module.unloaded_ns = mtw_get(in);
	r->e.u.module.build_id.s = mtw_get_bytes(in, MTW_BUILD_ID_MAX, &r->e.u.module.build_id.len);
	r->e.u.module.path = get_text(r, MTW_STRING_MAX);
	if (r->e.u.module.end < r->e.u.module.start)
		in->bad = true;
	emit(r);
}

static void read_nodes(struct reader *r)
{
	size_t n = get_count(r, MTW_BATCH_MAX, 4);
	uint64_t id = 0;

	while (n-- && !r->in.bad) {
		r->e.u.node.id = get_delta(r, &id, MTW_NODES_MAX);
		r->e.u.node.kind = get_id(r, MTW_NODE_TRUNCATED + 1);
		r->e.u.node.parent = get_id(r, MTW_NODES_MAX);
		r->e.u.node.module = NO_ID;
		if (r->e.u.node.kind <= MTW_NODE_SIGNAL)
			r->e.u.node.module = get_id(r, MTW_MODULES_MAX);
		r->e.u.node.offset = mtw_get(&r->in);
		if (r->e.u.node.kind == MTW_NODE_TRUNCATED &&
		    (r->e.u.node.offset >= MTW_TRUNC_COUNT || r->e.u.node.parent != 0))
			r->in.bad = true;
		emit(r);
	}
}

static void read_slots(struct reader *r)
{
	size_t n = get_count(r, MTW_BATCH_MAX, 3);
	uint64_t id = 0;

	while (n-- && !r->in.bad) {
		r->e.u.slot.id = get_delta(r, &id, MTW_SLOTS_MAX);
		r->e.u.slot.node = get_id(r, MTW_NODES_MAX);
		r->e.u.slot.epoch = mtw_get(&r->in);
		emit(r);
	}
}

static void read_counts(struct reader *r)
{
	size_t n = get_count(r, MTW_BATCH_MAX, 5);
	uint64_t id = 0;

	while (n-- && !r->in.bad) {
		r->e.u.counts.slot = get_delta(r, &id, MTW_SLOTS_MAX);
		r->e.u.counts.now = get_tally(r);
		emit(r);
	}
}

static void read_thread(struct reader *r)
{
	r->e.u.thread.index = get_id(r, MTW_THREADS_MAX);
	r->e.u.thread.tid = get32(r);
	r->e.u.thread.ended = mtw_get(&r->in) & 1;
	r->e.u.thread.name = get_text(r, MTW_STRING_MAX);
	r->e.u.thread.done = get_tally(r);
	emit(r);
}

static void read_process(struct reader *r)
{
	r->e.u.process.rss = mtw_get(&r->in);
	r->e.u.process.virt = mtw_get(&r->in);
	r->e.u.process.threads = get32(r);
	r->e.u.process.children = get32(r);
	emit(r);
}

static uint32_t get_mark(struct reader *r)
{
	uint32_t id = get_id(r, MTW_MARKS_MAX);

	if (id == 0)
		r->in.bad = true;
	return id;
}

static void read_mark(struct reader *r)
{
	r->e.u.mark.id = get_mark(r);
	r->e.u.mark.epoch = mtw_get(&r->in);
	r->e.u.mark.flags = get32(r);
	r->e.u.mark.time_ns = mtw_get(&r->in);
	r->e.u.mark.name = get_text(r, MTW_NAME_MAX);
	r->e.u.mark.set_by = get_text(r, MTW_NAME_MAX);
	r->e.u.mark.totals = get_tally(r);
	r->e.u.mark.rss_bytes = mtw_get(&r->in);
	emit(r);
}

/* Live amounts at a mark or a sample. */
static void read_live_at(struct reader *r, uint32_t number)
{
	r->e.u.mark_live.mark = number;
	uint32_t flags = get32(r);
	size_t n = get_count(r, MTW_BATCH_MAX, 3);
	uint64_t id = 0;

	while (n-- && !r->in.bad) {
		r->e.u.mark_live.slot = get_delta(r, &id, MTW_SLOTS_MAX);
		r->e.u.mark_live.blocks = mtw_get(&r->in);
		r->e.u.mark_live.bytes = mtw_get(&r->in);
		emit(r);
	}
	if (flags & 1) {
		r->e.u.mark_live.slot = 0;
		r->e.u.mark_live.blocks = r->e.u.mark_live.bytes = 0;
		r->e.u.mark_live.end = true;
		emit(r);
	}
}

static void read_mark_live(struct reader *r)
{
	read_live_at(r, get_mark(r));
}

static void read_sample_live(struct reader *r)
{
	uint32_t serial = get32(r);

	r->in.bad |= serial == 0;
	read_live_at(r, serial);
}

static void read_samples(struct reader *r)
{
	uint64_t serial = 0;

	r->e.u.samples.flags = get32(r);
	r->e.u.samples.count = get_count(r, MTW_SAMPLES_MAX, 6);
	for (size_t i = 0; i < r->e.u.samples.count && !r->in.bad; i++) {
		struct sample_figures *f = &r->e.u.samples.list[i];
		f->serial = (uint32_t)get_delta(r, &serial, UINT32_MAX);
		f->time_ns = mtw_get(&r->in);
		f->live_bytes = mtw_get(&r->in);
		f->low_bytes = mtw_get(&r->in);
		f->fall_bytes = mtw_get(&r->in);
		f->rss_bytes = mtw_get(&r->in);
	}
	emit(r);
}

/* What a hostile peer may send must not break the sums: entries ascend, and stops lie in them. */
static void read_stops(struct reader *r)
{
	struct stops *x = &r->e.u.stops;
	uint64_t before = 0;

	x->slept_ns = mtw_get(&r->in);
	x->slept_at_ns = mtw_get(&r->in);
	x->count = get_count(r, MTW_STOPS_MAX, 7);
	for (size_t i = 0; i < x->count && !r->in.bad; i++) {
		struct stop *p = &x->list[i];
		p->begin_ns = mtw_get(&r->in);
		p->end_ns = mtw_get(&r->in);
		p->stopped_ns = mtw_get(&r->in);
		p->times = mtw_get(&r->in);
		p->why = get32(r);
		p->pid = get32(r);
		struct text name = get_text(r, MTW_COMM_MAX);
		memcpy(p->name, name.s, name.len);
		p->end_ns = p->end_ns ? p->end_ns : UINT64_MAX;
		r->in.bad |= p->begin_ns < before || p->end_ns < p->begin_ns ||
			     p->stopped_ns > p->end_ns - p->begin_ns;
		before = p->end_ns;
	}
	emit(r);
}

static void read_peak(struct reader *r)
{
	uint64_t id = 0;

	r->e.u.peak.serial = get32(r);
	uint32_t flags = get32(r);
	r->e.u.peak.time_ns = mtw_get(&r->in);
	r->e.u.peak.sum = get_tally(r);
	size_t n = get_count(r, MTW_BATCH_MAX, 5);
	r->e.u.peak.flags = flags & MTW_PART_FIRST;
	emit(r);
	r->e.u.peak.flags = 0;
	while (n-- && !r->in.bad) {
		r->e.u.peak.slot = get_delta(r, &id, MTW_SLOTS_MAX);
		r->e.u.peak.then = get_tally(r);
		emit(r);
	}
	r->e.u.peak.slot = 0;
	r->e.u.peak.flags = flags & MTW_PART_LAST;
	if (flags & MTW_PART_LAST)
		emit(r);
}

static void read_history(struct reader *r)
{
	struct mtw_in *in = &r->in;

	r->e.u.history.interval_ns = mtw_get(in);
	size_t owners = get_count(r, MTW_HISTORY_OWNERS_MAX, 1);
	r->e.u.history.owner_count = owners;
	for (size_t i = 0; i < owners; i++)
		r->e.u.history.owners[i] = get_id(r, MTW_MODULES_MAX);
	size_t n = get_count(r, MTW_BATCH_MAX, 7 + owners);
	r->e.u.history.first = true;
	while (n-- && !in->bad) {
		struct point *p = &r->e.u.history.point;
		p->time_ns = mtw_get(in);
		p->live_bytes = mtw_get(in);
		p->live_blocks = mtw_get(in);
		p->alloc_bytes = mtw_get(in);
		p->alloc_blocks = mtw_get(in);
		p->free_blocks = mtw_get(in);
		p->rss_bytes = mtw_get(in);
		for (size_t i = 0; i < owners; i++)
			r->e.u.history.owner_bytes[i] = mtw_get(in);
		emit(r);
		r->e.u.history.first = false;
	}
}

static void read_loss(struct reader *r)
{
	r->e.u.loss.reason = get32(r);
	r->e.u.loss.events = mtw_get(&r->in);
	r->e.u.loss.bytes = mtw_get(&r->in);
	/* A later agent may know more reasons: accept them. */
	if (r->e.u.loss.reason < MTW_LOSS_COUNT)
		emit(r);
}

static void read_stacks(struct reader *r)
{
	struct effort *f = &r->e.u.effort;

	f->allocations = mtw_get(&r->in);
	f->captures = mtw_get(&r->in);
	f->whole = mtw_get(&r->in);
	f->frames = mtw_get(&r->in);
	f->pc_misses = mtw_get(&r->in);
	f->edge_misses = mtw_get(&r->in);
	emit(r);
}

static void read_memory(struct reader *r)
{
	size_t n = get_count(r, MTW_PARTS_MAX, 2);

	r->e.u.memory.count = n;
	for (size_t i = 0; i < n; i++) {
		r->e.u.memory.parts[i].name = get_text(r, MTW_NAME_MAX);
		r->e.u.memory.parts[i].bytes = mtw_get(&r->in);
	}
	emit(r);
}

static void read_option(struct reader *r)
{
	r->e.u.option.name = get_text(r, MTW_NAME_MAX);
	r->e.u.option.value = get_text(r, MTW_STRING_MAX);
	r->e.u.option.who = get_text(r, MTW_NAME_MAX);
	emit(r);
}

static void read_filter(struct reader *r)
{
	r->e.u.filter.index = get_id(r, FILTERS_MAX);
	r->e.u.filter.since_ns = mtw_get(&r->in);
	r->e.u.filter.sample = mtw_get(&r->in);
	r->e.u.filter.min_size = mtw_get(&r->in);
	r->e.u.filter.max_size = mtw_get(&r->in);
	r->e.u.filter.merge = mtw_get(&r->in);
	r->e.u.filter.libs = get_text(r, MTW_STRING_MAX);
	r->e.u.filter.exclude = get_text(r, MTW_STRING_MAX);
	r->e.u.filter.who = get_text(r, MTW_NAME_MAX);
	emit(r);
}

static void read_weighed(struct reader *r)
{
	size_t n = get_count(r, MTW_BATCH_MAX, 2);
	uint64_t id = 0;

	while (n-- && !r->in.bad) {
		r->e.u.weighed.slot = get_delta(r, &id, MTW_SLOTS_MAX);
		r->e.u.weighed.sample = mtw_get(&r->in);
		if (!r->e.u.weighed.sample)
			r->in.bad = true;
		emit(r);
	}
}

static void read_proven(struct reader *r)
{
	size_t n = get_count(r, MTW_BATCH_MAX, 2);
	uint64_t id = 0;

	while (n-- && !r->in.bad) {
		r->e.u.proven.node = get_delta(r, &id, MTW_NODES_MAX);
		r->e.u.proven.by = mtw_get(&r->in);
		if (!r->e.u.proven.node || !r->e.u.proven.by)
			r->in.bad = true;
		emit(r);
	}
}

static void read_notice(struct reader *r)
{
	r->e.u.notice = get_text(r, MTW_STRING_MAX);
	emit(r);
}

static void read_s_symbol(struct reader *r)
{
	bool generated = r->e.type == MTW_S_GENERATED;

	r->e.u.s_symbol.module = generated ? NO_ID : get_id(r, MTW_MODULES_MAX);
	r->e.u.s_symbol.offset = mtw_get(&r->in);
	r->e.u.s_symbol.kind = generated ? MTW_NODE_NOWHERE : get_id(r, MTW_NODE_SIGNAL + 1);
	r->e.u.s_symbol.source = get_id(r, 3);
	size_t max = sizeof r->e.u.s_symbol.frames / sizeof r->e.u.s_symbol.frames[0];
	r->e.u.s_symbol.count = get_count(r, max, 4);
	for (size_t i = 0; i < r->e.u.s_symbol.count && !r->in.bad; i++) {
		/* Template instances of C++ have names far longer than a path. */
		r->e.u.s_symbol.frames[i].function = get_text(r, MTW_FRAME_MAX);
		r->e.u.s_symbol.frames[i].file = get_text(r, MTW_FRAME_MAX);
		r->e.u.s_symbol.frames[i].line = get32(r);
		r->e.u.s_symbol.frames[i].inlined = mtw_get(&r->in) != 0;
	}
	emit(r);
}

static void read_session(struct reader *r)
{
	switch (r->e.type) {
	case MTW_S_META:
		r->e.u.s_meta.version = get_text(r, MTW_STRING_MAX);
		r->e.u.s_meta.target = get_text(r, MTW_STRING_MAX);
		r->e.u.s_meta.unix_ns = mtw_get(&r->in);
		break;
	case MTW_S_TIME: r->e.u.s_time.time_ns = mtw_get(&r->in); break;
	case MTW_S_EXIT:
		r->e.u.s_exit.state = get_id(r, MTW_STATE_COUNT);
		r->e.u.s_exit.status = get32(r);
		break;
	case MTW_S_EXPECTED:
		r->e.u.s_expected.key = get_text(r, MTW_FRAME_MAX);
		r->e.u.s_expected.on = mtw_get(&r->in) != 0;
		break;
	case MTW_S_NOTE: r->e.u.s_note = get_text(r, MTW_STRING_MAX); break;
	}
	emit(r);
}

static const struct {
	uint32_t type;
	const char *name;
	void (*read)(struct reader *r);
} readers[] = {
	{ MTW_HELLO, "HELLO", read_hello },
	{ MTW_ERROR, "ERROR", read_error },
	{ MTW_TOTALS, "TOTALS", read_totals },
	{ MTW_TICK, "TICK", read_tick },
	{ MTW_STATE, "STATE", read_state },
	{ MTW_MODULE, "MODULE", read_module },
	{ MTW_NODES, "NODES", read_nodes },
	{ MTW_SLOTS, "SLOTS", read_slots },
	{ MTW_COUNTS, "COUNTS", read_counts },
	{ MTW_THREAD, "THREAD", read_thread },
	{ MTW_PROCESS, "PROCESS", read_process },
	{ MTW_MARK, "MARK", read_mark },
	{ MTW_MARK_LIVE, "MARK_LIVE", read_mark_live },
	{ MTW_SAMPLES, "SAMPLES", read_samples },
	{ MTW_SAMPLE_LIVE, "SAMPLE_LIVE", read_sample_live },
	{ MTW_STOPS, "STOPS", read_stops },
	{ MTW_PEAK, "PEAK", read_peak },
	{ MTW_HISTORY, "HISTORY", read_history },
	{ MTW_LOSS, "LOSS", read_loss },
	{ MTW_STACKS, "STACKS", read_stacks },
	{ MTW_OPTION, "OPTION", read_option },
	{ MTW_NOTICE, "NOTICE", read_notice },
	{ MTW_SCAN_THREADS, "SCAN_THREADS", scans_read_threads },
	{ MTW_SCAN_AGES, "SCAN_AGES", scans_read_ages },
	{ MTW_SCAN_MEMORY, "SCAN_MEMORY", scans_read_memory },
	{ MTW_SCAN_COHORTS, "SCAN_COHORTS", scans_read_cohorts },
	{ MTW_FILTER, "FILTER", read_filter },
	{ MTW_WEIGHED, "WEIGHED", read_weighed },
	{ MTW_MEMORY, "MEMORY", read_memory },
	{ MTW_PROVEN, "PROVEN", read_proven },
	{ MTW_S_META, "S_META", read_session },
	{ MTW_S_TIME, "S_TIME", read_session },
	{ MTW_S_SYMBOL, "S_SYMBOL", read_s_symbol },
	{ MTW_S_EXIT, "S_EXIT", read_session },
	{ MTW_S_EXPECTED, "S_EXPECTED", read_session },
	{ MTW_S_NOTE, "S_NOTE", read_session },
	{ MTW_S_GENERATED, "S_GENERATED", read_s_symbol },
	{ MTW_S_KEY, "S_KEY", key_frames_read_key },
	{ MTW_S_INSTANTS, "S_INSTANTS", key_frames_read_instants },
	{ MTW_S_POINTS, "S_POINTS", key_frames_read_points },
	{ MTW_S_WINDOW, "S_WINDOW", key_frames_read_window },
	{ MTW_S_WINDOW_THREADS, "S_WINDOW_THREADS", key_frames_read_window_threads },
	{ MTW_S_OMITTED, "S_OMITTED", key_frames_read_omitted },
};

int wire_read(uint64_t type, const uint8_t *payload, size_t len,
	      int (*fn)(void *arg, const struct event *e, struct err *err), void *arg,
	      struct err *err)
{
	struct reader r;

	for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
		if (readers[i].type != type)
			continue;
		if (len > MTW_FRAME_MAX)
			return err_set(err, 3,
				       "stream: a %s frame of %zu bytes is longer than the "
				       "protocol allows; connect again",
				       readers[i].name, len);
		memset(&r, 0, sizeof r);
		r.in = (struct mtw_in){ payload, payload + len, false };
		r.fn = fn;
		r.arg = arg;
		r.err = err;
		r.e.type = (uint32_t)type;
		readers[i].read(&r);
		if (r.stopped)
			return -1;
		if (r.in.bad)
			return err_set(
				err, 3,
				"stream: malformed %s frame at byte %zu of %zu; connect again",
				readers[i].name, (size_t)(r.in.at - payload), len);
		return 0;
	}
	return 0;
}
