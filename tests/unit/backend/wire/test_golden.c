/* SPDX-License-Identifier: MIT
 *
 * test_golden.c - the golden bytes of tests/wire, read by the backend's decoder and by the inline
 * functions of wire.h. This file spells out each file's meaning as text, independently of the
 * script that wrote it.
 */
#include "check.h"

#include <stdarg.h>

#include "base/base.h"
#include "wire/decode.h"

#include <memtop/proof.h>

#define COUNTERS "1000/1099511627776/999/1099511627712"
#define BIG "18446744073709551615"

struct golden {
	const char *name;
	uint64_t type;
	const char *text; /* events, each ended by a semicolon */
};

static const struct golden agent_frames[] = {
	{ "hello", MTW_HELLO,
	  "hello 1 5 4121 1000 1700000000123456789 849000000000 100000000 64 x86_64 /usr/bin/mapd"
	  " 0.1.0 unwind=cfi depth=64 [mapd][--tiles][\u00e4 b][];" },
	{ "error", MTW_ERROR, "error 1 no common protocol version;" },
	{ "totals", MTW_TOTALS,
	  "totals 8589934592 " COUNTERS " 128 65536 300 1992294 16384 127 " BIG " 1208 1207 63;" },
	{ "tick", MTW_TICK, "tick 300 30000000000 3;" },
	{ "state", MTW_STATE, "state 2 11 31000000000 1;" },
	{ "module", MTW_MODULE,
	  "module 65535 36 140737349943296 140737349943296 140737352040448 1 0 ebecedeeeff0f1f2"
	  "f3f4f5f6f7f8f9fafbfcfdfe /lib/x86_64-linux-gnu/libc.so.6;" },
	{ "nodes", MTW_NODES,
	  "node 1 0 0 1 6720;node 2 1 1 2 0;node 300 2 2 139641712656111;node 67108863 3 0 3;" },
	{ "slots", MTW_SLOTS, "slot 1 300 0;slot 16777215 1 4096;" },
	{ "counts", MTW_COUNTS, "counts 1 " COUNTERS ";counts 16777215 " BIG "/" BIG "/0/0;" },
	{ "thread", MTW_THREAD, "thread 16383 4122 1 io-2 " COUNTERS ";" },
	{ "process", MTW_PROCESS, "process 137363456 137438953472 8 4;" },
	{ "mark", MTW_MARK,
	  "mark 4095 128 1 529000000000 after 2k tiles by script " COUNTERS " 132120576;" },
	{ "mark_live", MTW_MARK_LIVE,
	  "live 4095 2 0 0;live 4095 130 104858 14260688;live 4095 end;" },
	{ "sample_live", MTW_SAMPLE_LIVE,
	  "live 70000 2 0 0;live 70000 130 104858 14260688;live 70000 end;" },
	{ "samples", MTW_SAMPLES,
	  "samples 1 3:8589934592:4096:0:8192:7340032 70000:17179869184:" BIG ":4096:1:0;" },
	{ "stops", MTW_STOPS,
	  "stops 3600000000000 8589934592 10000000000..40000000000 20000000000 300 2 4200 "
	  "t\xc3\xa4st"
	  " 50000000000.." BIG " 0 1 1 0 ;" },
	{ "peak", MTW_PEAK,
	  "peak 300 1 8589934592 " COUNTERS " none;peak 300 0 8589934592 " COUNTERS " 1 " COUNTERS
	  ";peak 300 0 8589934592 " COUNTERS " 16777215 " BIG "/" BIG
	  "/0/0;peak 300 2 8589934592 " COUNTERS " none;" },
	{ "history", MTW_HISTORY,
	  "history 1000000000 first 1 2: 1000000000 100 10 1000 90 80 7340032 60 40;"
	  "history 1000000000 1 2: 2000000000 300 11 " BIG " 91 80 8388608 0 300;" },
	{ "stacks", MTW_STACKS, "stacks 18446744073709551615 70000 12 210000 300 0;" },
	{ "loss", MTW_LOSS, "loss 3 2 4096;" },
	{ "option", MTW_OPTION, "option depth=128 by viewer 2;" },
	{ "notice", MTW_NOTICE, "notice sampling changed to 64k;" },
	{ "scan_threads", MTW_SCAN_THREADS, "by thread 7 0 1 2;by thread 7 200 3 4;" },
	{ "scan_ages", MTW_SCAN_AGES,
	  "ages 8 5 680 births 100000000:5:680 sizes 0:1:0 7:4:680 threads 1:5:680;" },
	{ "filter", MTW_FILTER,
	  "filter 2 14000000000 65536 64 1048576 8 ssl|crypto ^libX by viewer 2;" },
	{ "weighed", MTW_WEIGHED, "weighed 3 65536;weighed 16777215 1099511627776;" },
	{ "memory", MTW_MEMORY, "memory live map=8589934592 t\u00e4st=0;" },
	{ "scan_memory", MTW_SCAN_MEMORY,
	  "resident 10 849200000000 0 =8589934592/0 3 /usr/lib/t\u00e4st.so=8192/5;" },
	{ "scan_cohorts", MTW_SCAN_COHORTS,
	  "cohorts 11 1 849200000000 2 3 5/0/0:1:0 5/200/31:7:8 "
	  "16777215/16383/1048576:1099511627776:" BIG ";" },
	{ "proven", MTW_PROVEN, "proven 2 1;proven 67108863 1;" },
	{ "s_meta", MTW_S_META, "meta 0.1.0 :9001 1700000100000000000;" },
	{ "s_time", MTW_S_TIME, "time 849100000000;" },
	{ "s_symbol", MTW_S_SYMBOL,
	  "symbol 3 6720 0 2 std::vector<int>::push_back(int&&) /usr/include/c++/12/vector 1203 1"
	  ", new_vertex_array vertex.c 88 0;" },
	{ "s_exit", MTW_S_EXIT, "exit 1 3;" },
	{ "s_expected", MTW_S_EXPECTED, "expected libtile.so.2!new_vertex_array 1;" },
	{ "s_note", MTW_S_NOTE, "note the disk filled: 12 ticks were not saved;" },
	{ "s_generated", MTW_S_GENERATED,
	  "symbol 4294967295 139641712656111 2 1 renderTile /srv/tile.js 12 0;" },
};

/* Client frames have no event; their fields in order: v varint, s string. */
static const struct golden client_frames[] = {
	{ "client", MTW_CLIENT, "v3 smemtop s0123456789abcdef0123456789abcdef v250000000 " },
	{ "ack", MTW_ACK, "v34359738368 " },
	{ "set_mark", MTW_SET_MARK, "safter-login " },
	{ "drop_mark", MTW_DROP_MARK, "v3 " },
	{ "rename_mark", MTW_RENAME_MARK, "v3 swarm " },
	{ "set_option", MTW_SET_OPTION, "ssample s64k " },
	{ "scan", MTW_SCAN, "v9 v1 v3 v1 v4 v1048571 " },
	{ "detach", MTW_DETACH, "" },
};

static char out[4096];

static void add(const char *format, ...)
{
	size_t at = strlen(out);
	va_list args;

	va_start(args, format);
	vsnprintf(out + at, sizeof(out) - at, format, args);
	va_end(args);
}

#define T(t) (int)(t).len, (t).s

static void add_tally(const struct tally *t)
{
	add("%" PRIu64 "/%" PRIu64 "/%" PRIu64 "/%" PRIu64, t->alloc_blocks, t->alloc_bytes,
	    t->free_blocks, t->free_bytes);
}

static void add_cells(const char *name, const struct age_cell *c, size_t count)
{
	add(" %s", name);
	for (size_t i = 0; i < count; i++)
		add(" %" PRIu64 ":%" PRIu64 ":%" PRIu64, c[i].key, c[i].blocks, c[i].bytes);
}

static void add_hello(const struct event *e)
{
	add("hello %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	    " %" PRIu64,
	    e->u.hello.version, e->u.hello.features, e->u.hello.pid, e->u.hello.uid,
	    e->u.hello.start_unix_ns, e->u.hello.now_ns, e->u.hello.tick_ns, e->u.hello.word_bits);
	add(" %.*s %.*s %.*s %.*s ", T(e->u.hello.arch), T(e->u.hello.exe),
	    T(e->u.hello.agent_version), T(e->u.hello.options));
	for (size_t i = 0; i < e->u.hello.arg_count; i++)
		add("[%.*s]", T(e->u.hello.args[i]));
}

static void add_totals(const struct totals *t)
{
	add("totals %" PRIu64 " ", t->time_ns);
	add_tally(&t->sum);
	add(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
	    t->peak_bytes, t->peak_error_bytes, t->peak_time_ns, t->agent_memory_bytes,
	    t->agent_cpu_ns, t->hook_ns, t->target_cpu_ns);
	add(" %" PRIu64 " %" PRIu64 " %" PRIu64, t->slots_total, t->slots_sent, t->live_sent_bytes);
}

static void add_module(const struct event *e)
{
	add("module %u %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ",
	    e->u.module.id, e->u.module.flags, e->u.module.bias, e->u.module.start, e->u.module.end,
	    e->u.module.loaded_ns, e->u.module.unloaded_ns);
	for (size_t i = 0; i < e->u.module.build_id.len; i++)
		add("%02x", (unsigned char)e->u.module.build_id.s[i]);
	add(" %.*s", T(e->u.module.path));
}

static void add_history(const struct event *e)
{
	const struct point *p = &e->u.history.point;

	add("history %" PRIu64 "%s", e->u.history.interval_ns, e->u.history.first ? " first" : "");
	for (size_t i = 0; i < e->u.history.owner_count; i++)
		add(" %u", e->u.history.owners[i]);
	add(": %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
	    p->time_ns, p->live_bytes, p->live_blocks, p->alloc_bytes, p->alloc_blocks,
	    p->free_blocks, p->rss_bytes);
	for (size_t i = 0; i < e->u.history.owner_count; i++)
		add(" %" PRIu64, e->u.history.owner_bytes[i]);
}

static void add_symbol(const struct event *e)
{
	add("symbol %u %" PRIu64 " %u %u", e->u.s_symbol.module, e->u.s_symbol.offset,
	    e->u.s_symbol.kind, e->u.s_symbol.source);
	for (size_t i = 0; i < e->u.s_symbol.count; i++)
		add("%s %.*s %.*s %u %d", i ? "," : "", T(e->u.s_symbol.frames[i].function),
		    T(e->u.s_symbol.frames[i].file), e->u.s_symbol.frames[i].line,
		    e->u.s_symbol.frames[i].inlined);
}

static void add_mark(const struct event *e)
{
	add("mark %u %" PRIu64 " %u %" PRIu64 " %.*s by %.*s ", e->u.mark.id, e->u.mark.epoch,
	    e->u.mark.flags, e->u.mark.time_ns, T(e->u.mark.name), T(e->u.mark.set_by));
	add_tally(&e->u.mark.totals);
	add(" %" PRIu64, e->u.mark.rss_bytes);
}

static void add_mark_live(const struct event *e)
{
	if (e->u.mark_live.end)
		add("live %u end", e->u.mark_live.mark);
	else
		add("live %u %u %" PRIu64 " %" PRIu64, e->u.mark_live.mark, e->u.mark_live.slot,
		    e->u.mark_live.blocks, e->u.mark_live.bytes);
}

static void add_samples(const struct event *e)
{
	add("samples %u", e->u.samples.flags);
	for (size_t i = 0; i < e->u.samples.count; i++) {
		const struct sample_figures *f = &e->u.samples.list[i];
		add(" %u:%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64, f->serial,
		    f->time_ns, f->live_bytes, f->low_bytes, f->fall_bytes, f->rss_bytes);
	}
}

static void add_stops(const struct stops *x)
{
	add("stops %" PRIu64 " %" PRIu64, x->slept_ns, x->slept_at_ns);
	for (size_t i = 0; i < x->count; i++) {
		const struct stop *p = &x->list[i];
		add(" %" PRIu64 "..%" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %s", p->begin_ns,
		    p->end_ns, p->stopped_ns, p->times, p->why, p->pid, p->name);
	}
}

static void add_node(const struct event *e)
{
	add("node %u %u %u", e->u.node.id, e->u.node.kind, e->u.node.parent);
	if (e->u.node.kind == MTW_NODE_CODE || e->u.node.kind == MTW_NODE_SIGNAL)
		add(" %u", e->u.node.module);
	add(" %" PRIu64, e->u.node.offset);
}

static void add_ages(const struct scan_ages *a)
{
	add("ages %" PRIu64 " %" PRIu64 " %" PRIu64, a->request, a->blocks, a->bytes);
	add_cells("births", a->births, a->birth_count);
	add_cells("sizes", a->sizes, a->size_count);
	add_cells("threads", a->threads, a->thread_count);
}

/* Small frames in one place; the others have functions above. */
static void add_small(const struct event *e)
{
	switch (e->type) {
	case MTW_ERROR: add("error %" PRIu64 " %.*s", e->u.error.code, T(e->u.error.text)); break;
	case MTW_TICK:
		add("tick %" PRIu64 " %" PRIu64 " %u", e->u.tick.seq, e->u.tick.time_ns,
		    e->u.tick.flags);
		break;
	case MTW_STATE:
		add("state %u %" PRIu64 " %" PRIu64 " %d", e->u.state.state, e->u.state.status,
		    e->u.state.time_ns, e->u.state.known);
		break;
	case MTW_SLOTS:
		add("slot %u %u %" PRIu64, e->u.slot.id, e->u.slot.node, e->u.slot.epoch);
		break;
	case MTW_COUNTS: add("counts %u ", e->u.counts.slot), add_tally(&e->u.counts.now); break;
	case MTW_THREAD:
		add("thread %u %u %d %.*s ", e->u.thread.index, e->u.thread.tid, e->u.thread.ended,
		    T(e->u.thread.name));
		add_tally(&e->u.thread.done);
		break;
	case MTW_PROCESS:
		add("process %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, e->u.process.rss,
		    e->u.process.virt, e->u.process.threads, e->u.process.children);
		break;
	case MTW_LOSS:
		add("loss %u %" PRIu64 " %" PRIu64, e->u.loss.reason, e->u.loss.events,
		    e->u.loss.bytes);
		break;
	case MTW_STACKS:
		add("stacks %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		    e->u.effort.allocations, e->u.effort.captures, e->u.effort.whole,
		    e->u.effort.frames, e->u.effort.pc_misses, e->u.effort.edge_misses);
		break;
	case MTW_OPTION:
		add("option %.*s=%.*s by %.*s", T(e->u.option.name), T(e->u.option.value),
		    T(e->u.option.who));
		break;
	case MTW_FILTER:
		add("filter %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		    " %.*s %.*s by %.*s",
		    e->u.filter.index, e->u.filter.since_ns, e->u.filter.sample,
		    e->u.filter.min_size, e->u.filter.max_size, e->u.filter.merge,
		    T(e->u.filter.libs), T(e->u.filter.exclude), T(e->u.filter.who));
		break;
	case MTW_WEIGHED: add("weighed %u %" PRIu64, e->u.weighed.slot, e->u.weighed.sample); break;
	case MTW_PROVEN: add("proven %u %" PRIu64, e->u.proven.node, e->u.proven.by); break;
	case MTW_MEMORY:
		add("memory");
		for (size_t i = 0; i < e->u.memory.count; i++)
			add(" %.*s=%" PRIu64, T(e->u.memory.parts[i].name),
			    e->u.memory.parts[i].bytes);
		break;
	case MTW_SCAN_MEMORY:
		add("resident %" PRIu64 " %" PRIu64, e->u.rss.request, e->u.rss.time_ns);
		for (size_t i = 0; i < e->u.rss.count; i++)
			add(" %" PRIu64 " %.*s=%" PRIu64 "/%" PRIu64, e->u.rss.parts[i].what,
			    T(e->u.rss.parts[i].name), e->u.rss.parts[i].bytes,
			    e->u.rss.parts[i].mappings);
		break;
	case MTW_SCAN_COHORTS:
		add("cohorts %" PRIu64 " %u %" PRIu64 " %" PRIu64 " %" PRIu64, e->u.cohorts.request,
		    e->u.cohorts.flags, e->u.cohorts.time_ns, e->u.cohorts.left_blocks,
		    e->u.cohorts.left_bytes);
		for (size_t i = 0; i < e->u.cohorts.count; i++) {
			const struct cohort *c = &e->u.cohorts.list[i];
			add(" %u/%u/%u:%" PRIu64 ":%" PRIu64, c->slot, c->thread, c->age_s,
			    c->blocks, c->bytes);
		}
		break;
	case MTW_NOTICE: add("notice %.*s", T(e->u.notice)); break;
	case MTW_SCAN_THREADS:
		add("by thread %" PRIu64 " %u %" PRIu64 " %" PRIu64, e->u.scan_thread.request,
		    e->u.scan_thread.thread, e->u.scan_thread.blocks, e->u.scan_thread.bytes);
		break;
	case MTW_S_META:
		add("meta %.*s %.*s %" PRIu64, T(e->u.s_meta.version), T(e->u.s_meta.target),
		    e->u.s_meta.unix_ns);
		break;
	case MTW_S_TIME: add("time %" PRIu64, e->u.s_time.time_ns); break;
	case MTW_S_EXIT: add("exit %u %" PRIu64, e->u.s_exit.state, e->u.s_exit.status); break;
	case MTW_S_EXPECTED:
		add("expected %.*s %d", T(e->u.s_expected.key), e->u.s_expected.on);
		break;
	case MTW_S_NOTE: add("note %.*s", T(e->u.s_note)); break;
	default: add("type %u", e->type);
	}
}

static void add_peak(const struct event *e)
{
	add("peak %u %u %" PRIu64 " ", e->u.peak.serial, e->u.peak.flags, e->u.peak.time_ns);
	add_tally(&e->u.peak.sum);
	if (!e->u.peak.slot) {
		add(" none");
		return;
	}
	add(" %u ", e->u.peak.slot);
	add_tally(&e->u.peak.then);
}

static int event_text(void *arg, const struct event *e, struct err *err)
{
	(void)arg;
	(void)err;
	switch (e->type) {
	case MTW_HELLO: add_hello(e); break;
	case MTW_TOTALS: add_totals(&e->u.totals); break;
	case MTW_MODULE: add_module(e); break;
	case MTW_NODES: add_node(e); break;
	case MTW_MARK: add_mark(e); break;
	case MTW_MARK_LIVE:
	case MTW_SAMPLE_LIVE: add_mark_live(e); break;
	case MTW_SAMPLES: add_samples(e); break;
	case MTW_STOPS: add_stops(&e->u.stops); break;
	case MTW_PEAK: add_peak(e); break;
	case MTW_HISTORY: add_history(e); break;
	case MTW_SCAN_AGES: add_ages(&e->u.ages); break;
	case MTW_S_SYMBOL:
	case MTW_S_GENERATED: add_symbol(e); break;
	default: add_small(e);
	}
	add(";");
	return 0;
}

/* The payload of tests/wire/v1_NAME.bin, which is one whole frame of that type. */
static const uint8_t *payload_of(const struct golden *g, size_t *len)
{
	static uint8_t buf[4096];
	char path[128];
	uint64_t type, payload;

	snprintf(path, sizeof(path), "tests/wire/v1_%s.bin", g->name);
	FILE *f = fopen(path, "rb");
	CHECK(f);
	size_t got = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	int header = mtw_frame(buf, got, MTW_FRAME_MAX, &type, &payload);
	CHECK(header > 0);
	CHECK_EQ(type, g->type);
	CHECK_EQ(payload, got - (size_t)header);
	*len = (size_t)payload;
	return buf + header;
}

TEST(agent_and_session_frames)
{
	for (size_t i = 0; i < sizeof(agent_frames) / sizeof(*agent_frames); i++) {
		struct err err = { 0 };
		size_t len;
		const uint8_t *p = payload_of(&agent_frames[i], &len);

		out[0] = 0;
		int rc = wire_read(agent_frames[i].type, p, len, event_text, NULL, &err);
		CHECK_STR(err.text, "");
		CHECK_EQ(rc, 0);
		CHECK_STR(out, agent_frames[i].text);
	}
}

/* Every proper prefix of a payload is either refused or read without a byte past its end (see
 * ASAN=1). */
TEST(frames_that_are_cut_are_refused)
{
	for (size_t i = 0; i < sizeof(agent_frames) / sizeof(*agent_frames); i++) {
		size_t len;
		const uint8_t *p = payload_of(&agent_frames[i], &len);

		for (size_t cut = 0; cut < len; cut++) {
			struct err err = { 0 };
			uint8_t *copy = malloc(cut ? cut : 1);

			memcpy(copy, p, cut);
			out[0] = 0;
			int rc = wire_read(agent_frames[i].type, copy, cut, event_text, NULL, &err);
			CHECK_EQ(rc, -1);
			CHECK(err.text[0]);
			free(copy);
		}
	}
}

/* Later versions append fields: bytes left over are ignored. */
TEST(fields_of_later_versions_are_ignored)
{
	for (size_t i = 0; i < sizeof(agent_frames) / sizeof(*agent_frames); i++) {
		struct err err = { 0 };
		size_t len;
		const uint8_t *p = payload_of(&agent_frames[i], &len);
		uint8_t *copy = calloc(1, len + 3);

		memcpy(copy, p, len);
		out[0] = 0;
		CHECK_EQ(wire_read(agent_frames[i].type, copy, len + 3, event_text, NULL, &err), 0);
		CHECK_STR(out, agent_frames[i].text);
		free(copy);
	}
}

TEST(frames_of_clients_are_as_ever)
{
	for (size_t i = 0; i < sizeof(client_frames) / sizeof(*client_frames); i++) {
		size_t len;
		const uint8_t *p = payload_of(&client_frames[i], &len);
		struct mtw_in in = { p, p + len, false };

		out[0] = 0;
		for (const char *want = client_frames[i].text; *want;
		     want = strchr(want, ' ') + 1) {
			size_t n = 0;
			if (*want == 'v') {
				add("v%" PRIu64 " ", mtw_get(&in));
			} else {
				const char *s = mtw_get_bytes(&in, MTW_STRING_MAX, &n);
				add("s%.*s ", (int)n, s);
			}
		}
		CHECK(!in.bad && in.at == in.end);
		CHECK_STR(out, client_frames[i].text);
	}
}

TEST(the_greeting_is_as_ever)
{
	uint8_t buf[64];
	FILE *f = fopen("tests/wire/v1_greeting.bin", "rb");

	CHECK(f);
	CHECK_EQ(fread(buf, 1, sizeof(buf), f), MTW_GREETING_LEN);
	CHECK(memcmp(buf, MTW_MAGIC, MTW_MAGIC_LEN) == 0);
	CHECK_EQ(buf[8] | buf[9] << 8, 1);
	CHECK_EQ(buf[10] | buf[11] << 8, 1);
	fclose(f);
}

static size_t read_v2(const char *name, uint8_t *to, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "tests/wire/v2_%s.bin", name);
	FILE *f = fopen(path, "rb");
	CHECK(f);
	size_t got = fread(to, 1, size, f);
	fclose(f);
	return got;
}

/* The next field of a frame of version 2: 32 bytes. */
static const uint8_t *field(struct mtw_in *in)
{
	size_t len;
	const char *at = mtw_get_bytes(in, MTW_NONCE_LEN, &len);

	CHECK_EQ(len, MTW_NONCE_LEN);
	return (const uint8_t *)at;
}

/* The frames that carry the proof, and the proofs in them: the token is that of v1_client.bin. */
TEST(proofs_of_version_2_are_as_ever)
{
	static const struct {
		const char *name;
		uint64_t type;
		size_t fields;
	} frames[] = {
		{ "challenge", MTW_CHALLENGE, 1 },
		{ "response", MTW_RESPONSE, 2 },
		{ "proof", MTW_PROOF, 1 },
	};
	static const uint8_t client_greeting[MTW_GREETING_LEN] = MTW_MAGIC "\2\0\1";
	static uint8_t bytes[3][128];
	const uint8_t *found[4];
	struct mtw_exchange x;
	uint8_t want[MTW_PROOF_LEN];
	size_t n = 0;

	for (size_t i = 0; i < 3; i++) {
		uint64_t type, len;
		size_t got = read_v2(frames[i].name, bytes[i], sizeof(bytes[i]));
		int head = mtw_frame(bytes[i], got, MTW_ENTRY_FRAME_MAX, &type, &len);
		CHECK(head > 0);
		CHECK_EQ(type, frames[i].type);
		CHECK_EQ((size_t)head + len, got);
		struct mtw_in in = { bytes[i] + head, bytes[i] + got, false };
		for (size_t k = 0; k < frames[i].fields; k++)
			found[n++] = field(&in);
		CHECK(!in.bad && in.at == in.end);
	}
	CHECK_EQ(read_v2("greeting_tcp", x.agent_greeting, sizeof(x.agent_greeting)),
		 MTW_GREETING_LEN);
	CHECK(memcmp(x.agent_greeting, MTW_MAGIC "\2\0\2", MTW_GREETING_LEN) == 0);
	memcpy(x.agent_nonce, found[0], MTW_NONCE_LEN);
	memcpy(x.client_greeting, client_greeting, MTW_GREETING_LEN);
	memcpy(x.client_nonce, found[1], MTW_NONCE_LEN);
	mtw_proof("0123456789abcdef0123456789abcdef", MTW_LABEL_CLIENT, &x, want);
	CHECK(mtw_same(want, found[2], MTW_PROOF_LEN));
	mtw_proof("0123456789abcdef0123456789abcdef", MTW_LABEL_AGENT, &x, want);
	CHECK(mtw_same(want, found[3], MTW_PROOF_LEN));
}
