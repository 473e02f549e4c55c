/* SPDX-License-Identifier: MIT
 *
 * wire.c - hostile streams and files against the decoder, the model, the queries and the session
 * reader.
 *
 * Usage: wire STREAMS FILES SEED (streams: mutated ones), from the project's root. Built with
 * sanitizers: their first finding ends it.
 *
 * A stream is some frames, split as a link splits them and decoded into a model, which is kept from
 * stream to stream until it has refused enough frames. A quarter of the frames are the golden bytes
 * of tests/wire. The others are generated with ids and counters from small ranges, so that the
 * model accepts most of them and the wrong ones are nearly right. Three of four streams then get
 * bytes changed, removed or repeated, or false lengths. The test checks that a refused event keeps
 * every invariant of the model (model_check), and that no code accesses memory out of bounds or
 * allocates more than the bytes justify. Same seed, same run.
 */
#include "../random.h"
#include "heap/heap.h"
#include "model/columns.h"
#include "query/query.h"
#include "session/session.h"
#include "wire/decode.h"

#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAM_MAX 8192u

struct symbols {
	const struct model *m;
};

void symbols_progress(const struct symbols *s, uint64_t *done, uint64_t *asked)
{
	(void)s;
	*done = *asked = 0;
}

uint64_t symbols_generation(const struct symbols *s)
{
	return s->m == NULL;
}

bool symbols_answered(const struct symbols *s, uint64_t generation, struct symbol_place *p)
{
	(void)s, (void)generation, (void)p;
	return false;
}

const struct symbol *symbols_of_location(struct symbols *s, uint32_t number)
{
	static const struct symbol_frame frame = { .name = "[nothing]" };
	static const struct symbol pending = { SYMBOL_PENDING, 0, NULL },
				   none = { SYMBOL_NONE, 1, &frame };

	return model_location(s->m, number)->kind >= MTW_NODE_NOWHERE ? &none : &pending;
}

const struct symbol *symbols_shown(struct symbols *s, uint32_t number)
{
	return symbols_of_location(s, number);
}

const struct debuginfod *symbols_debuginfod(const struct symbols *s)
{
	(void)s;
	return NULL;
}

static void die(int status, const char *format, ...) PRINTF(2, 3) __attribute__((noreturn));

static void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

static struct {
	uint8_t bytes[2048];
	size_t len;
} golden[64];
static size_t golden_count;

static void read_golden(void)
{
	glob_t found;

	if (glob("tests/wire/v*_*.bin", 0, NULL, &found))
		die(1, "no tests/wire/v*_*.bin here");
	for (size_t i = 0; i < found.gl_pathc && golden_count < 64; i++) {
		FILE *f = fopen(found.gl_pathv[i], "rb");
		if (!f)
			die(1, "%s cannot be read", found.gl_pathv[i]);
		if (!strstr(found.gl_pathv[i], "greeting"))
			golden[golden_count].len = fread(golden[golden_count].bytes, 1, 2048, f);
		golden_count += golden[golden_count].len != 0;
		fclose(f);
	}
	globfree(&found);
	if (!golden_count)
		die(1, "the golden frames are empty");
}

/* A number that is mostly small, sometimes at an edge. */
static uint64_t number(uint32_t usual)
{
	static const uint64_t edges[] = { 0,          1,          127,       128,       16383,
					  65535,      65536,      1u << 24,  1u << 26,  INT32_MAX,
					  UINT32_MAX, 1ull << 32, INT64_MAX, UINT64_MAX };

	return below(64) ? below(usual) : edges[below(sizeof edges / sizeof *edges)];
}

static uint64_t now;
static uint32_t nodes, slots;    /* ids that the session knows by now, about */
static struct tally counted[64]; /* of slots, as last sent */

/* After a greeting or a new session nothing is known. */
static void catch_up(const struct model *m)
{
	static uint64_t resets;
	static const struct model *before;

	nodes = model_columns(m)->skeleton->nodes - 1;
	now = model_time(m);
	if (m == before && resets == model_resets(m))
		return;
	before = m;
	resets = model_resets(m);
	slots = 0;
	memset(counted, 0, sizeof counted);
}

static void put_tally(struct mtw_out *o, uint32_t slot)
{
	struct tally *t = &counted[slot % 64];

	t->alloc_blocks += number(1000);
	t->alloc_bytes += number(100000);
	t->free_blocks += below((uint32_t)(t->alloc_blocks - t->free_blocks) / 2 + 1);
	t->free_bytes += below((uint32_t)(t->alloc_bytes - t->free_bytes) / 2 + 1);
	mtw_put(o, t->alloc_blocks);
	mtw_put(o, t->alloc_bytes);
	mtw_put(o, t->free_blocks);
	mtw_put(o, t->free_bytes);
}

/* Mostly one that is known. */
static uint64_t some(uint32_t known)
{
	return below(50) ? below(known + 1) : number(known + 3);
}

static void put_nodes(struct mtw_out *o)
{
	uint64_t kind = below(16) ? MTW_NODE_CODE : below(5);

	mtw_put(o, kind);
	mtw_put(o, kind == MTW_NODE_TRUNCATED ? 0 : some(nodes));
	if (kind <= MTW_NODE_SIGNAL)
		mtw_put(o, below(30) ? 0 : number(4));
	mtw_put(o, kind == MTW_NODE_TRUNCATED ? below(10) : number(200));
	nodes++;
}

static void put_batch(struct mtw_out *o, uint64_t type)
{
	unsigned n = below(6);
	uint32_t id = 0;

	if (type == MTW_MARK_LIVE) {
		mtw_put(o, below(8) ? 1 + below(4) : number(9));
		mtw_put(o, below(2));
	}
	mtw_put(o, n);
	for (unsigned i = 0; i < n; i++) {
		uint64_t step = i                   ? 1
				: type == MTW_NODES ? 1 + nodes
				: type == MTW_SLOTS
					? 1 + slots
					: 1 + below((type == MTW_PROVEN ? nodes : slots) + 1);
		if (!below(100))
			step = number(60);
		id += (uint32_t)step;
		mtw_put(o, step);
		if (type == MTW_NODES) {
			put_nodes(o);
		} else if (type == MTW_SLOTS) {
			mtw_put(o, some(nodes));
			mtw_put(o, number(8));
			slots++;
		} else if (type == MTW_COUNTS) {
			put_tally(o, id);
		} else if (type == MTW_PROVEN) {
			mtw_put(o, below(20) ? MTW_BY_POINTER : number(9));
		} else {
			mtw_put(o, number(500));
			mtw_put(o, number(50000));
		}
	}
}

/* One slot's, and now and then with other totals. */
static void put_peak(struct mtw_out *o)
{
	uint64_t blocks = number(900), bytes = number(90000);

	mtw_put(o, 1 + below(3));
	mtw_put(o, below(3) ? MTW_PART_FIRST | MTW_PART_LAST : below(4));
	mtw_put(o, now);
	for (int i = 0; i < 2; i++) {
		mtw_put(o, below(20) ? blocks : number(900));
		mtw_put(o, bytes);
		mtw_put(o, blocks / 2);
		mtw_put(o, bytes / 2);
		if (i)
			break;
		mtw_put(o, 1);
		mtw_put(o, some(slots));
	}
}

/* The golden one's program again, as a fork. */
static void put_hello(struct mtw_out *o)
{
	static const uint64_t figures[] = { 1, 7, 4121, 1000, 1700000000123456789, 0, 0, 64 };

	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		mtw_put(o, figures[i]);
	for (int i = 0; i < 4; i++)
		mtw_put_string(o, "x");
	mtw_put(o, 0);
	mtw_put(o, below(4) != 0);
	for (int i = 0; i < 4; i++)
		mtw_put(o, number(1000));
	if (below(4))
		mtw_put(o, below(8) ? below(4) : number(9));
}

static void put_payload(struct mtw_out *o, uint64_t type)
{
	switch (type) {
	case MTW_HELLO: put_hello(o); break;
	case MTW_MODULE:
		mtw_put(o, below(4));
		mtw_put(o, number(128));
		mtw_put(o, number(4096));
		mtw_put(o, 4096);
		mtw_put(o, 8192 + number(4096));
		mtw_put(o, 0);
		mtw_put(o, 0);
		mtw_put_bytes(o, "0123456789abcdef0123", 20);
		mtw_put_string(o, below(2) ? "/lib/libone.so" : below(2) ? "" : "two");
		break;
	case MTW_TICK:
		now += number(200000000) & UINT32_MAX;
		mtw_put(o, number(10));
		mtw_put(o, now);
		mtw_put(o, below(8) ? 0 : below(4));
		break;
	case MTW_TOTALS:
		mtw_put(o, now);
		put_tally(o, 0);
		for (int i = 0; i < 10; i++)
			mtw_put(o, number(100000));
		break;
	case MTW_MARK: {
		uint64_t id = below(16) ? 1 + below(5) : number(8);
		mtw_put(o, id);
		mtw_put(o, id);
		mtw_put(o, below(4) ? 0 : below(4));
		mtw_put(o, now);
		mtw_put_string(o, "m");
		mtw_put_string(o, "fuzz");
		put_tally(o, 0);
		mtw_put(o, 0);
		break;
	}
	case MTW_PEAK: put_peak(o); break;
	default: put_batch(o, type);
	}
}

static size_t make_frame(uint8_t *to, size_t room)
{
	static const uint64_t types[] = { MTW_MODULE,    MTW_NODES,  MTW_NODES,  MTW_SLOTS,
					  MTW_SLOTS,     MTW_COUNTS, MTW_COUNTS, MTW_COUNTS,
					  MTW_TICK,      MTW_TICK,   MTW_TOTALS, MTW_MARK,
					  MTW_MARK_LIVE, MTW_PROVEN, MTW_PEAK };
	uint8_t payload[1024];

	if (!below(4)) {
		size_t g = below((uint32_t)golden_count);
		if (golden[g].len > room)
			return 0;
		memcpy(to, golden[g].bytes, golden[g].len);
		return golden[g].len;
	}
	uint64_t type = below(100) ? types[below(sizeof types / sizeof *types)] : MTW_HELLO;
	struct mtw_out in = { payload, payload + sizeof payload, false };
	struct mtw_out out = { to, to + room, false };
	put_payload(&in, type);
	mtw_put(&out, type);
	mtw_put_bytes(&out, payload, (size_t)(in.at - payload));
	return out.full || in.full ? 0 : (size_t)(out.at - to);
}

static size_t mutate(uint8_t *p, size_t len, size_t room)
{
	for (unsigned n = 1 + below(4); n && len > 1; n--) {
		size_t at = below((uint32_t)len), span = 1 + below(8);

		if (span > len - at)
			span = len - at;
		switch (below(6)) {
		case 0: p[at] ^= (uint8_t)(1u << below(8)); break;
		case 1: p[at] = (uint8_t)below(256); break;
		case 2: memset(p + at, below(2) ? 0xff : 0, span); break;
		case 3: /* cut out */
			memmove(p + at, p + at + span, len - at - span);
			len -= span;
			break;
		case 4: /* repeat */
			if (len + span > room)
				break;
			memmove(p + at + span, p + at, len - at);
			len += span;
			break;
		default: len = at + 1; break; /* cut off */
		}
	}
	return len;
}

struct session {
	struct model *m;
	struct symbols s;
	struct owners *o;
	struct query *q;
	unsigned refused;
};

static uint64_t events, refusals, checks, peaks;

static void open_session(struct session *x)
{
	x->m = model_new();
	x->s.m = x->m;
	x->o = owners_new(x->m, &x->s);
	x->q = query_new(x->m, &x->s, x->o);
	x->refused = 0;
}

static void close_session(struct session *x)
{
	query_free(x->q);
	owners_free(x->o);
	model_free(x->m);
}

static void must_hold(const struct session *x)
{
	struct err err = { 0 };

	checks++;
	/* Totals that do not fit the slots are the peer's own lie; all else is ours. */
	if (!model_check(x->m, &err) && !strstr(err.text, "totals"))
		BUG("%s", err.text);
	if (!model_peak(x->m))
		return;
	struct model *then = model_new();
	if (model_recall(then, x->m, KEPT_PEAK, &err) || !model_check(then, &err))
		BUG("at the peak: %s", err.text);
	peaks++;
	model_free(then);
	uint32_t mark = model_newest_mark(x->m);
	if (!mark || !model_mark_says(x->m, mark))
		return;
	then = model_new();
	/* what was live then may contradict what was allocated, which is the peer's own lie, too */
	if (!model_recall(then, x->m, mark, &err) && !model_check(then, &err))
		BUG("at a mark: %s", err.text);
	model_free(then);
}

static void look(struct session *x)
{
	const struct row *rows;
	const struct site *sites;
	const struct owner *owners;
	struct verdict v;
	size_t pending;
	struct err err;
	struct frame_out frames[32];

	query_set_inverted(x->q, below(2));
	query_set_sort(x->q, (enum query_column)below(9), below(2));
	query_set_filter(x->q, below(4) ? "" : "libone", &err);
	size_t n = query_rows(x->q, true, &rows);
	for (int i = 0; n && i < 4; i++)
		query_open(x->q, rows[below((uint32_t)n)].id, below(4) != 0);
	n = query_rows(x->q, below(2), &rows);
	query_sites(x->q, BY_LIVE, false, true, &sites);
	owners_update(x->o, &owners);
	query_verdict(x->q, &v);
	query_search(x->q, "one");
	query_hits(x->q, &pending);
	for (uint32_t i = 0; i < 4; i++)
		query_stack(x->q, below(70), frames, 32);
	if (model_newest_mark(x->m)) {
		struct intervals_kept intervals = { 0 };
		model_set_interval(x->m, below(model_newest_mark(x->m) + 1),
				   below(model_newest_mark(x->m) + 1));
		query_intervals(x->q, model_newest_mark(x->m), 0, &intervals);
		intervals_kept_release(&intervals);
	}
	must_hold(x);
}

static int take(void *arg, const struct event *e, struct err *err)
{
	struct session *x = arg;

	events++;
	return model_apply(x->m, e, err);
}

static void feed(struct session *x, const uint8_t *p, size_t len)
{
	uint64_t type, payload;
	struct err err;

	while (len) {
		int head = mtw_frame(p, len, MTW_FRAME_MAX, &type, &payload);
		if (head <= 0 || payload > len - (size_t)head)
			return; /* malformed, or more is to come */
		/* Of its own size, so that one byte too far is seen. */
		uint8_t *own = xmalloc(payload + !payload);
		memcpy(own, p + head, payload);
		int rc = wire_read(type, own, payload, take, x, &err);
		free(own);
		if (rc) {
			refusals++;
			x->refused++;
			return;
		}
		p += (size_t)head + payload;
		len -= (size_t)head + payload;
	}
}

static size_t make_stream(uint8_t *p, size_t room, uint64_t *mutated)
{
	size_t len = 0;

	for (unsigned n = 1 + below(4); n; n--)
		len += make_frame(p + len, room - len);
	if (!below(4))
		return len;
	++*mutated;
	return mutate(p, len, room);
}

static void fuzz_streams(uint64_t count)
{
	static uint8_t stream[STREAM_MAX];
	struct session x;
	uint64_t mutated = 0;

	open_session(&x);
	for (uint64_t i = 0; mutated < count; i++) {
		catch_up(x.m);
		feed(&x, stream, make_stream(stream, STREAM_MAX, &mutated));
		if (i % 512 == 0)
			look(&x);
		else if (i % 64 == 0)
			must_hold(&x);
		if (x.refused < 300)
			continue;
		if (below(2)) {
			model_clear(x.m);
			x.refused = 0;
			continue;
		}
		close_session(&x);
		open_session(&x);
	}
	close_session(&x);
	printf("%" PRIu64 " mutated streams, %" PRIu64 " events, %" PRIu64 " refusals, %" PRIu64
	       " checks of all invariants, %" PRIu64 " with a peak\n",
	       count, events, refusals, checks, peaks);
}

static uint8_t *make_file(const char *path, size_t *len)
{
	struct err err;
	struct session_writer *w = session_create(path, 0, &err);
	uint8_t *file = NULL;

	if (!w)
		die(1, "%s", err.text);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t type, payload;
		uint8_t frame[2048];
		size_t n = make_frame(frame, sizeof frame);
		int head = n ? mtw_frame(frame, n, MTW_FRAME_MAX, &type, &payload) : 0;
		if (head > 0 &&
		    session_frame(w, 0, i * 10000000ull, type, frame + head, payload, &err))
			die(1, "%s", err.text);
		if (i % 50 == 49 && session_flush(w, &err))
			die(1, "%s", err.text);
	}
	if (session_close(w, &err))
		die(1, "%s", err.text);
	FILE *f = fopen(path, "rb");
	file = xmalloc(1 << 20);
	*len = f ? fread(file, 1, 1 << 20, f) : 0;
	if (!*len)
		die(1, "%s is empty", path);
	fclose(f);
	return file;
}

static void read_file(const char *path, struct session *x)
{
	struct err err;
	struct session_reader *r = session_open(path, 0, &err);
	uint64_t time_ns, type;
	const uint8_t *payload;
	size_t len;

	if (!r)
		return;
	while (session_next(r, &time_ns, &type, &payload, &len, &err) > 0)
		if (wire_read(type, payload, len, take, x, &err))
			break;
	session_cut(r);
	session_reader_free(r);
}

static void fuzz_files(uint64_t count)
{
	char path[] = "/tmp/memtop-fuzz.XXXXXX";
	int fd = mkstemp(path);
	size_t len, now_len;
	struct session x;

	if (fd < 0)
		die(1, "no temporary file");
	uint8_t *good = make_file(path, &len), *bad = xmalloc(len + 64);
	fd = open(path, O_WRONLY);
	for (uint64_t i = 0; i < count; i++) {
		memcpy(bad, good, len);
		now_len = mutate(bad, len, len + 64);
		if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bad, now_len, 0) != (ssize_t)now_len)
			die(1, "%s cannot be written", path);
		if (i % 100 == 0)
			open_session(&x);
		read_file(path, &x);
		model_clear(x.m);
		if (i % 100 == 99 || i + 1 == count)
			close_session(&x);
	}
	close(fd);
	unlink(path);
	free(good);
	free(bad);
	printf("%" PRIu64 " files\n", count);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		die(2, "usage: wire STREAMS FILES SEED");
	seed = strtoull(argv[3], NULL, 10) * 2654435761u + 1;
	read_golden();
	fuzz_streams(strtoull(argv[1], NULL, 10));
	fuzz_files(strtoull(argv[2], NULL, 10));
	return 0;
}
