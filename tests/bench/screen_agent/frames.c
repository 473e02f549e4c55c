/* SPDX-License-Identifier: MIT
 *
 * frames.c - encodes frames into the send buffer.
 */
#include "agent.h"

#include <stdio.h>
#include <unistd.h>

struct buffer out;
uint64_t now;
void put_raw(const void *bytes, size_t len)
{
	if (out.len + len > out.room) {
		out.room = (out.len + len) * 2;
		out.bytes = grown(out.bytes, out.room, 1);
	}
	memcpy(out.bytes + out.len, bytes, len);
	out.len += len;
}

static uint8_t payload[MTW_FRAME_MAX];
struct mtw_out frame;
static uint32_t frame_type;

void open_frame(uint32_t type)
{
	frame = (struct mtw_out){ payload, payload + sizeof(payload), false };
	frame_type = type;
}

void put(uint64_t v)
{
	mtw_put(&frame, v);
}

void put_string(const char *s)
{
	mtw_put_string(&frame, s);
}

void put_count(const uint64_t *count)
{
	for (int i = 0; i < 4; i++)
		put(count[i]);
}

void close_frame(void)
{
	uint8_t head[20];
	struct mtw_out o = { head, head + sizeof(head), false };

	mtw_put(&o, frame_type);
	mtw_put(&o, (uint64_t)(frame.at - payload));
	put_raw(head, (size_t)(o.at - head));
	put_raw(payload, (size_t)(frame.at - payload));
}

void put_totals(uint64_t slots_sent, uint64_t live_sent)
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

void put_tick(unsigned flags)
{
	static uint64_t seq;

	open_frame(MTW_TICK);
	put(++seq);
	put(now);
	put(flags);
	close_frame();
}

void put_process(void)
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

int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

void put_nodes(const uint32_t *list, uint32_t count)
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

void put_slots(const uint32_t *list, uint32_t count)
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

void put_counts(const uint32_t *list, uint32_t count)
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
