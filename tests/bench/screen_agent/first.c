/* SPDX-License-Identifier: MIT
 *
 * first.c - sends the first state: the largest holders first, the nodes of a step before its slots.
 */
#include "agent.h"

#include <time.h>
#include <unistd.h>

#define BATCH 2048u /* slots of one step */
#define HISTORY 600u

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
	uint64_t x = live_bytes(&slots[*(const uint32_t *)a]),
		 y = live_bytes(&slots[*(const uint32_t *)b]);

	return (x < y) - (x > y);
}

void make_first_state(void)
{
	uint32_t *order = grown(NULL, slot_count, sizeof(*order)),
		 *list = grown(NULL, BATCH * DEPTH_MAX, sizeof(*list));
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
			for (uint32_t k = slots[order[i]].node; k && known && !known[k];
			     k = nodes[k].parent) {
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
	free(order);
	free(list);
	free(known);
}
