/* SPDX-License-Identifier: MIT
 *
 * later.c - sends all frames after the first state: ticks, marks, answers to scans.
 */
#include "agent.h"

#define COHORTS_MAX (1u << 19)

uint32_t changed, fresh;
static uint32_t marks;

static void add_new_paths(void)
{
	uint32_t from = node_count, first = slot_count,
		 *list = grown(NULL, (size_t)fresh * DEPTH_MAX, sizeof(*list));

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
		uint32_t low = (uint32_t)((uint64_t)path_count * i / count),
			 high = (uint32_t)((uint64_t)path_count * (i + 1) / count);
		uint32_t path = low + random_below(high - low ? high - low : 1),
			 s = slot_of_path[path];
		uint64_t live = slots[s].count[0] - slots[s].count[2],
			 gone = live ? random_below(live < 4 ? (uint32_t)live + 1 : 4) : 0;
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

void tick(uint64_t missed)
{
	uint64_t count = (uint64_t)changed * (1 + missed);

	if (fresh)
		add_new_paths();
	if (path_count)
		change((uint32_t)(count < path_count ? count : path_count));
	put_totals(slot_count - 1, total[1] - total[3]);
	put_process();
	put_tick(MTW_TICK_COMPLETE);
}

void set_mark(void)
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

void scan(uint64_t request, uint64_t kind)
{
	uint64_t blocks = total[0] - total[2], bytes = total[1] - total[3];

	if (kind == MTW_KIND_COHORTS) {
		scan_cohorts(request);
		return;
	}
	open_frame(kind == MTW_KIND_THREADS ? MTW_SCAN_THREADS
		   : kind == MTW_KIND_AGES  ? MTW_SCAN_AGES
					    : MTW_SCAN_MEMORY);
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
