/* SPDX-License-Identifier: MIT
 *
 * screen_agent.c - an agent without a target, that has more to say than any: for the benchmark of the screen.
 *
 * Usage: screen_agent [-n NEW] NAME PATHS CHANGED PLACES
 *
 * Serves one viewer at the abstract socket NAME: PATHS call paths of 10 to 30 frames, of which CHANGED change per
 * tick (100 ms), and NEW more paths per tick, at places that nobody asked for yet. PLACES is a file of code that
 * there is (screen.py): lines "module PATH BUILD-ID", each with its "OFFSET SIZE" of functions after it.
 *
 * It must not be what limits: the first state is encoded before anybody may connect, a tick is one pass over
 * what changed. A tick that falls due before the last one left is counted, and its changes are in the next one,
 * as with an agent on a slow link. Prints "paths P nodes N" when it listens, "connected NS" (CLOCK_MONOTONIC),
 * "complete NS" when the whole first state was acknowledged, and at the end "ticks SENT DUE".
 *
 * A path leaves the one before it a few frames above its end and goes its own way from there, as the paths of a
 * program that runs do: so most nodes are shared. A node's place in the code says which function is called there,
 * the same everywhere, but for indirect calls.
 */
#include <memtop/wire.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 100000000ull
#define DEPTH_MIN 10u
#define DEPTH_MAX 30u
#define CALLS 4u         /* places in a function that call the next */
#define SITES 2000u      /* functions that allocate, of all modules */
#define BATCH 2048u      /* slots of one step of the first state */
#define FRAME_ENTRIES 8192u
#define COHORTS_MAX (1u << 19)
#define MODULES_MAX 64u
#define THREADS 4u
#define HISTORY 600u

struct function { uint32_t module, size; uint64_t offset; };
struct node { uint32_t parent, module; uint64_t offset; };
struct slot { uint32_t node, epoch; uint64_t count[4]; /* as in COUNTS */ };
struct buffer { uint8_t *bytes; size_t len, room; };

static struct { char path[1024]; uint8_t id[MTW_BUILD_ID_MAX]; size_t id_len; } modules[MODULES_MAX];
static struct function *functions;
static struct node *nodes;
static struct slot *slots;
static uint32_t *slot_of_path; /* the newest */
static uint32_t module_count, function_count, node_count, slot_count, path_count, paths_max;
static uint32_t epoch, marks;
static uint64_t total[4], now;
static uint32_t changed, fresh;

static int viewer;
static struct buffer out;          /* what was not sent yet */
static size_t out_at;
static uint64_t sent, acked, window = MTW_WINDOW_MIN, first_state_end;
static uint64_t ticks_sent, ticks_due;
static int greeted, complete;

static void *grown(void *p, size_t count, size_t size)
{
	p = realloc(p, (count ? count : 1) * size);
	if (!p)
		exit(3);
	return p;
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t mixed(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull;

	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(h >> 32);
}

static uint32_t random_below(uint32_t n)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % n;
}

/* 1, 2, 3, ... each half as often. */
static uint32_t few(void)
{
	return 1 + (uint32_t)__builtin_ctz(random_below(1u << 20) | 1u << 20);
}

/* --- the program */

static void read_places(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[2048], id[2 * MTW_BUILD_ID_MAX + 1];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long offset, size;
		if (sscanf(line, "module %1023s %128s", modules[module_count].path, id) == 2) {
			for (char *at = id; at[0] && at[1] && module_count < MODULES_MAX - 1; at += 2)
				sscanf(at, "%2hhx", &modules[module_count].id[modules[module_count].id_len++]);
			module_count += module_count < MODULES_MAX - 1;
		} else if (module_count && sscanf(line, "%llx %llx", &offset, &size) == 2 && size > 4 * CALLS) {
			functions = grown(functions, function_count + 1, sizeof(*functions));
			functions[function_count++] = (struct function){ module_count - 1, (uint32_t)size, offset };
		}
	}
	if (function_count < SITES) {
		fprintf(stderr, "screen_agent: %s names fewer than %u functions\n", path, SITES);
		exit(2);
	}
}

static uint32_t add_node(uint32_t parent, uint32_t function, uint32_t call)
{
	const struct function *f = &functions[function % function_count];

	nodes = (node_count & (node_count - 1)) ? nodes : grown(nodes, node_count * 2, sizeof(*nodes));
	nodes[node_count] = (struct node){ parent, f->module, f->offset + 4 + (uint64_t)call * (f->size - 4) / CALLS };
	return node_count++;
}

static uint32_t add_slot(uint32_t path, uint32_t node)
{
	slots = (slot_count & (slot_count - 1)) ? slots : grown(slots, slot_count * 2, sizeof(*slots));
	slots[slot_count] = (struct slot){ .node = node, .epoch = epoch };
	return slot_of_path[path] = slot_count++;
}

static void book(struct slot *s, unsigned what, uint64_t blocks, uint64_t size)
{
	s->count[what] += blocks;
	s->count[what + 1] += blocks * size;
	total[what] += blocks;
	total[what + 1] += blocks * size;
}

static uint64_t size_of(uint32_t path)
{
	return 16 + mixed(path, 1) % 240;
}

/* The next one, depth first. */
static void add_path(void)
{
	static uint32_t path[DEPTH_MAX], function[DEPTH_MAX], call[DEPTH_MAX], children[DEPTH_MAX + 1], depth;
	uint32_t up = random_below(256) ? few() : random_below(depth + 1), keep = depth > up + 3 ? depth - up : depth ? 3 : 0;
	uint32_t end = keep + few();
	end = end < DEPTH_MIN ? DEPTH_MIN : end > DEPTH_MAX ? DEPTH_MAX : end;
	if (keep >= end)
		keep = end - 1;
	for (depth = keep; depth < end; depth++) {
		uint32_t child = children[depth]++;
		uint32_t f = depth ? mixed(function[depth - 1] * CALLS + call[depth - 1], child / CALLS) : 0;
		function[depth] = depth + 1 == end ? f % SITES * (function_count / SITES) : f % function_count;
		call[depth] = child % CALLS;
		path[depth] = add_node(depth ? path[depth - 1] : 0, function[depth], call[depth]);
		children[depth + 1] = 0;
	}
	add_slot(path_count, path[end - 1]);
	path_count++;
}

static void make(uint32_t count)
{
	while (path_count < count) {
		struct slot *s;
		add_path();
		s = &slots[slot_of_path[path_count - 1]];
		uint64_t live = 1 + 2000000 / (1 + mixed(path_count, 2) % count);
		book(s, 0, 2 * live, size_of(path_count - 1));
		book(s, 2, live, size_of(path_count - 1));
	}
}

/* --- frames */

static void put_raw(const void *bytes, size_t len)
{
	if (out.len + len > out.room) {
		out.room = (out.len + len) * 2;
		out.bytes = grown(out.bytes, out.room, 1);
	}
	memcpy(out.bytes + out.len, bytes, len);
	out.len += len;
}

static uint8_t payload[MTW_FRAME_MAX];
static struct mtw_out frame;
static uint32_t frame_type;

static void open_frame(uint32_t type)
{
	frame = (struct mtw_out){ payload, payload + sizeof(payload), false };
	frame_type = type;
}

static void put(uint64_t v)
{
	mtw_put(&frame, v);
}

static void put_string(const char *s)
{
	mtw_put_string(&frame, s);
}

static void put_count(const uint64_t *count)
{
	for (int i = 0; i < 4; i++)
		put(count[i]);
}

static void close_frame(void)
{
	uint8_t head[20];
	struct mtw_out o = { head, head + sizeof(head), false };

	mtw_put(&o, frame_type);
	mtw_put(&o, (uint64_t)(frame.at - payload));
	put_raw(head, (size_t)(o.at - head));
	put_raw(payload, (size_t)(frame.at - payload));
}

static uint64_t live_bytes(const struct slot *s)
{
	return s->count[1] - s->count[3];
}

static void put_totals(uint64_t slots_sent, uint64_t live_sent)
{
	open_frame(MTW_TOTALS);
	put(now);
	put_count(total);
	put(total[1] - total[3]);
	put(0);
	put(now);
	put(64u << 20);
	put(now / 200);
	put(now / 60);
	put(now);
	put(slot_count - 1);
	put(slots_sent);
	put(live_sent);
	close_frame();
}

static void put_tick(unsigned flags)
{
	static uint64_t seq;

	open_frame(MTW_TICK);
	put(++seq);
	put(now);
	put(flags);
	close_frame();
}

static void put_process(void)
{
	for (uint32_t i = 1; i <= THREADS; i++) {
		uint64_t part[4];
		char name[32];
		for (int k = 0; k < 4; k++)
			part[k] = total[k] / THREADS;
		snprintf(name, sizeof(name), "worker-%u", i);
		open_frame(MTW_THREAD);
		put(i);
		put((uint64_t)getpid() + i);
		put(0);
		put_string(name);
		put_count(part);
		close_frame();
	}
	open_frame(MTW_PROCESS);
	put((total[1] - total[3]) * 5 / 4);
	put((total[1] - total[3]) * 3);
	put(THREADS);
	put(0);
	close_frame();
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void put_nodes(const uint32_t *list, uint32_t count)
{
	for (uint32_t at = 0; at < count; at += FRAME_ENTRIES) {
		uint32_t n = count - at < FRAME_ENTRIES ? count - at : FRAME_ENTRIES, last = 0;
		open_frame(MTW_NODES);
		put(n);
		for (uint32_t i = at; i < at + n; last = list[i++]) {
			const struct node *x = &nodes[list[i]];
			put(list[i] - last);
			put(MTW_NODE_CODE);
			put(x->parent);
			put(x->module);
			put(x->offset);
		}
		close_frame();
	}
}

static void put_slots(const uint32_t *list, uint32_t count)
{
	for (uint32_t at = 0; at < count; at += FRAME_ENTRIES) {
		uint32_t n = count - at < FRAME_ENTRIES ? count - at : FRAME_ENTRIES, last = 0;
		open_frame(MTW_SLOTS);
		put(n);
		for (uint32_t i = at; i < at + n; last = list[i++]) {
			put(list[i] - last);
			put(slots[list[i]].node);
			put(slots[list[i]].epoch);
		}
		close_frame();
	}
}

static void put_counts(const uint32_t *list, uint32_t count)
{
	for (uint32_t at = 0; at < count; at += FRAME_ENTRIES) {
		uint32_t n = count - at < FRAME_ENTRIES ? count - at : FRAME_ENTRIES, last = 0;
		open_frame(MTW_COUNTS);
		put(n);
		for (uint32_t i = at; i < at + n; last = list[i++]) {
			put(list[i] - last);
			put_count(slots[list[i]].count);
		}
		close_frame();
	}
}

/* --- the first state: made once, before anybody waits for it */

static void put_hello(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	open_frame(MTW_HELLO);
	put(MTW_VERSION);
	put(MTW_FEATURE_MEMORY | MTW_FEATURE_COHORTS);
	put((uint64_t)getpid());
	put(getuid());
	put((uint64_t)t.tv_sec * 1000000000u - now);
	put(now);
	put(TICK_NS);
	put(64);
	put_string("x86_64");
	put_string(modules[0].path);
	put_string("screen_agent");
	put_string("");
	put(1);
	put_string("large");
	close_frame();
}

static void put_module(uint32_t i)
{
	uint64_t start = 0x550000000000ull + ((uint64_t)i << 32);

	open_frame(MTW_MODULE);
	put(i);
	put(i ? 0 : MTW_MODULE_MAIN);
	put(start);
	put(start);
	put(start + (1u << 30));
	put(0);
	put(0);
	mtw_put_bytes(&frame, modules[i].id, modules[i].id_len);
	put_string(modules[i].path);
	close_frame();
}

static void put_history(void)
{
	uint64_t live = total[1] - total[3];

	open_frame(MTW_HISTORY);
	put(now / HISTORY);
	put(1);
	put(0);
	put(HISTORY);
	for (uint64_t i = 0; i < HISTORY; i++) {
		uint64_t part = live / 2 + live / 2 * i / HISTORY;
		put(now / HISTORY * i);
		put(part);
		put(part / 100);
		put(total[1] * i / HISTORY);
		put(total[0] * i / HISTORY);
		put(total[2] * i / HISTORY);
		put(part * 5 / 4);
		put(part / 2);
	}
	close_frame();
}

static int by_live(const void *a, const void *b)
{
	uint64_t x = live_bytes(&slots[*(const uint32_t *)a]), y = live_bytes(&slots[*(const uint32_t *)b]);

	return (x < y) - (x > y);
}

static void make_first_state(void)
{
	uint32_t *order = grown(NULL, slot_count, sizeof(*order)), *list = grown(NULL, BATCH * DEPTH_MAX, sizeof(*list));
	uint8_t *known = calloc(node_count + 1, 1);
	uint64_t live = 0;

	put_raw(MTW_MAGIC "\1\0\1\0", MTW_GREETING_LEN);
	put_hello();
	put_totals(0, 0);
	put_process();
	put_history();
	for (uint32_t i = 0; i < module_count; i++)
		put_module(i);
	put_tick(0);
	for (uint32_t i = 1; i < slot_count; i++)
		order[i - 1] = i;
	qsort(order, slot_count - 1, sizeof(*order), by_live);
	for (uint32_t at = 0, step = 0; at < slot_count - 1; at += BATCH, step++) {
		uint32_t n = slot_count - 1 - at < BATCH ? slot_count - 1 - at : BATCH, count = 0;
		for (uint32_t i = at; i < at + n; i++) {
			live += live_bytes(&slots[order[i]]);
			for (uint32_t k = slots[order[i]].node; k && known && !known[k]; k = nodes[k].parent) {
				known[k] = 1;
				list[count++] = k;
			}
		}
		qsort(list, count, sizeof(*list), by_number);
		put_nodes(list, count);
		qsort(order + at, n, sizeof(*order), by_number);
		put_slots(order + at, n);
		put_counts(order + at, n);
		if (step % 8 == 7) {
			put_totals(at + n, live);
			put_tick(0);
		}
	}
	put_totals(slot_count - 1, live);
	put_tick(MTW_TICK_COMPLETE);
	first_state_end = out.len;
	free(order);
	free(list);
	free(known);
}

/* --- ticks and marks */

static void add_new_paths(void)
{
	uint32_t from = node_count, first = slot_count, *list = grown(NULL, (size_t)fresh * DEPTH_MAX, sizeof(*list));

	for (uint32_t i = 0; i < fresh && path_count < paths_max; i++) {
		uint32_t before = node_count;
		add_path();
		for (uint32_t k = before; k < node_count; k++) /* somewhere between the calls */
			nodes[k].offset += 1 + mixed(k, 3) % 7;
		book(&slots[slot_count - 1], 0, 1, size_of(path_count - 1));
	}
	for (uint32_t k = from; k < node_count; k++)
		list[k - from] = k;
	put_nodes(list, node_count - from);
	for (uint32_t k = first; k < slot_count; k++)
		list[k - first] = k;
	put_slots(list, slot_count - first);
	put_counts(list, slot_count - first);
	free(list);
}

/* One path in each of `count` equal parts; blocks born since a mark are of another slot. */
static void change(uint32_t count)
{
	uint32_t *list = grown(NULL, (size_t)count * 2, sizeof(*list)), first = slot_count, n = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t low = (uint32_t)((uint64_t)path_count * i / count), high = (uint32_t)((uint64_t)path_count * (i + 1) / count);
		uint32_t path = low + random_below(high - low ? high - low : 1), s = slot_of_path[path];
		uint64_t live = slots[s].count[0] - slots[s].count[2], gone = live ? random_below(live < 4 ? (uint32_t)live + 1 : 4) : 0;
		if (gone) {
			book(&slots[s], 2, gone, size_of(path));
			list[n++] = s;
		}
		if (slots[s].epoch != epoch)
			s = add_slot(path, slots[s].node);
		book(&slots[s], 0, 1 + random_below(3), size_of(path));
		if (!n || list[n - 1] != s)
			list[n++] = s;
	}
	uint32_t *new_ones = grown(NULL, slot_count - first, sizeof(*new_ones));
	for (uint32_t k = first; k < slot_count; k++)
		new_ones[k - first] = k;
	put_slots(new_ones, slot_count - first);
	free(new_ones);
	qsort(list, n, sizeof(*list), by_number);
	put_counts(list, n);
	free(list);
}

static void tick(uint64_t missed)
{
	uint64_t count = (uint64_t)changed * (1 + missed);

	ticks_sent++;
	if (fresh)
		add_new_paths();
	if (path_count)
		change((uint32_t)(count < path_count ? count : path_count));
	put_totals(slot_count - 1, total[1] - total[3]);
	put_process();
	put_tick(MTW_TICK_COMPLETE);
}

static void set_mark(void)
{
	open_frame(MTW_MARK);
	put(++marks);
	put(epoch++);
	put(0);
	put(now);
	put_string("");
	put_string("bench");
	put_count(total);
	put((total[1] - total[3]) * 5 / 4);
	close_frame();
	uint32_t at = 1, last = 0;
	do {
		uint32_t n = slot_count - at < FRAME_ENTRIES ? slot_count - at : FRAME_ENTRIES;
		open_frame(MTW_MARK_LIVE);
		put(marks);
		put(at + n == slot_count);
		put(n);
		for (last = 0; n--; last = at++) {
			put(at - last);
			put(slots[at].count[0] - slots[at].count[2]);
			put(live_bytes(&slots[at]));
		}
		close_frame();
	} while (at < slot_count);
}

/* --- scans */

static void scan_cohorts(uint64_t request)
{
	uint32_t all = slot_count - 1 < COHORTS_MAX ? slot_count - 1 : COHORTS_MAX, at = 0;

	do {
		uint32_t n = all - at < FRAME_ENTRIES ? all - at : FRAME_ENTRIES, last = 0;
		open_frame(MTW_SCAN_COHORTS);
		put(request);
		put((at ? 0 : MTW_PART_FIRST) | (at + n == all ? MTW_PART_LAST : 0));
		put(now);
		put(0);
		put(0);
		put(n);
		for (; n--; at++) {
			uint32_t s = 1 + (uint32_t)((uint64_t)at * (slot_count - 1) / all);
			put(s - last);
			put(1 + s % THREADS);
			put(mtw_age_step(mixed(s, 4) % 600));
			put(slots[s].count[0] - slots[s].count[2]);
			put(live_bytes(&slots[s]));
			last = s;
		}
		close_frame();
	} while (at < all);
}

static void scan(uint64_t request, uint64_t kind)
{
	uint64_t blocks = total[0] - total[2], bytes = total[1] - total[3];

	if (kind == MTW_KIND_COHORTS) {
		scan_cohorts(request);
		return;
	}
	open_frame(kind == MTW_KIND_THREADS ? MTW_SCAN_THREADS : kind == MTW_KIND_AGES ? MTW_SCAN_AGES : MTW_SCAN_MEMORY);
	put(request);
	if (kind == MTW_KIND_MEMORY) {
		put(now);
		put(2);
		put(MTW_MEMORY_LIVE);
		put_string("");
		put(bytes);
		put(0);
		put(MTW_MEMORY_FREE);
		put_string("");
		put(bytes / 4);
		put(3);
	}
	if (kind == MTW_KIND_AGES) {
		put(blocks);
		put(bytes);
		for (int list = 0; list < 2; list++) {
			put(1);
			put(list ? 7 : now / 2);
			put(blocks);
			put(bytes);
		}
	}
	if (kind != MTW_KIND_MEMORY) {
		put(THREADS);
		for (uint32_t i = 1; i <= THREADS; i++) {
			put(i);
			put(blocks / THREADS);
			put(bytes / THREADS);
		}
	}
	close_frame();
}

/* --- the link */

static void command(uint64_t type, struct mtw_in *in)
{
	if (type == MTW_ACK) {
		uint64_t more = mtw_get(in);
		window = window + more - acked > MTW_WINDOW_MAX ? MTW_WINDOW_MAX : window + more - acked;
		acked = more;
		if (!complete && acked >= first_state_end - MTW_ACK_EVERY) {
			complete = 1;
			printf("complete %llu\n", (unsigned long long)clock_ns());
		}
	} else if (type == MTW_SET_MARK) {
		set_mark();
	} else if (type == MTW_SCAN) {
		uint64_t request = mtw_get(in);
		scan(request, mtw_get(in));
	}
}

/* False: the viewer is gone. */
static bool listen_to_viewer(void)
{
	static uint8_t bytes[MTW_CLIENT_FRAME_MAX + 64];
	static size_t have;
	ssize_t n = recv(viewer, bytes + have, sizeof(bytes) - have, 0);
	size_t at = 0;

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	have += (size_t)n;
	if (!greeted && have >= MTW_GREETING_LEN) {
		greeted = 1;
		at = MTW_GREETING_LEN;
	}
	while (greeted) {
		uint64_t type, len;
		int head = mtw_frame(bytes + at, have - at, MTW_CLIENT_FRAME_MAX, &type, &len);
		if (head < 0)
			return false;
		if (!head || have - at < (size_t)head + len)
			break;
		struct mtw_in in = { bytes + at + head, bytes + at + head + len, false };
		at += (size_t)head + len;
		command(type, &in);
	}
	memmove(bytes, bytes + at, have -= at);
	return true;
}

static bool may_send(void)
{
	return out_at < out.len && (greeted ? sent - acked < window : sent < MTW_GREETING_LEN);
}

static bool send_some(void)
{
	size_t most = out.len - out_at;
	uint64_t room = greeted ? window - (sent - acked) : MTW_GREETING_LEN - sent;
	ssize_t n = send(viewer, out.bytes + out_at, most < room ? most : room, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	out_at += (size_t)n;
	sent += (uint64_t)n;
	if (out_at == out.len)
		out_at = out.len = 0;
	return true;
}

static void serve(void)
{
	uint64_t due = 0, missed = 0;

	for (bool alive = true; alive;) {
		uint64_t t = clock_ns();
		if (complete && !due)
			due = t;
		if (due && t >= due) {
			now += TICK_NS;
			due += TICK_NS;
			ticks_due++;
			if (out.len) {
				missed++;
			} else {
				tick(missed);
				missed = 0;
			}
			continue;
		}
		struct pollfd p = { viewer, (short)(POLLIN | (may_send() ? POLLOUT : 0)), 0 };
		poll(&p, 1, due ? (int)((due - t) / 1000000) + 1 : -1);
		if (p.revents & (POLLIN | POLLHUP | POLLERR))
			alive = listen_to_viewer();
		if (alive && may_send() && p.revents & POLLOUT)
			alive = send_some();
	}
	printf("ticks %llu %llu\n", (unsigned long long)ticks_sent, (unsigned long long)ticks_due);
}

int main(int argc, char **argv)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int opt, fd;

	while ((opt = getopt(argc, argv, "n:")) == 'n')
		fresh = (uint32_t)strtoul(optarg, NULL, 10);
	if (opt != -1 || argc - optind != 4 || strlen(argv[optind]) + 1 > sizeof(a.sun_path)) {
		fprintf(stderr, "usage: screen_agent [-n NEW] NAME PATHS CHANGED PLACES\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	uint32_t paths = (uint32_t)strtoul(argv[optind + 1], NULL, 10);
	changed = (uint32_t)strtoul(argv[optind + 2], NULL, 10);
	read_places(argv[optind + 3]);
	now = 600 * 1000000000ull;
	paths_max = paths + fresh * 10000;
	slot_of_path = grown(NULL, paths_max, sizeof(*slot_of_path));
	node_count = slot_count = 1;
	nodes = grown(NULL, 1, sizeof(*nodes));
	slots = grown(NULL, 1, sizeof(*slots));
	make(paths);
	make_first_state();
	memcpy(a.sun_path + 1, argv[optind], strlen(argv[optind]));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[optind]))) ||
	    listen(fd, 1)) {
		perror("screen_agent");
		return 3;
	}
	printf("paths %u nodes %u\n", path_count, node_count - 1);
	viewer = accept(fd, NULL, NULL);
	printf("connected %llu\n", (unsigned long long)clock_ns());
	serve();
	return 0;
}
