/* SPDX-License-Identifier: MIT
 *
 * test_idmap.c - ids in any order, against a plain array.
 */
#include "check.h"
#include "base/idmap.h"
#include "random.h"

#define IDS 20000u

static uint32_t plain[IDS]; /* index + 1 */

static void same(const struct idmap *m)
{
	for (uint32_t id = 0; id < IDS; id++)
		CHECK_EQ(idmap_get(m, id), plain[id] - 1);
}

/* Runs of ids, up and down, with gaps, and single ones. */
TEST(ids_in_any_order)
{
	for (seed = 1; seed <= 200; seed++) {
		uint64_t round = seed;
		struct idmap m = { 0 };
		uint32_t index = below(2) ? 0 : UINT32_MAX - 2 * IDS, set = 0;
		memset(plain, 0, sizeof plain);
		while (set < IDS / 2) {
			uint32_t id = below(IDS), left = 1 + below(300), down = !below(4);
			for (; left && id < IDS && !plain[id]; left--, set++) {
				index += !below(50); /* another took the one between */
				idmap_set(&m, id, index);
				plain[id] = ++index;
				id += down ? UINT32_MAX : 1;
			}
		}
		same(&m);
		CHECK_EQ(idmap_get(&m, IDS), UINT32_MAX);
		CHECK_EQ(idmap_get(&m, IDMAP_LIMIT), UINT32_MAX);
		idmap_release(&m);
		seed = round;
	}
}

/* What came since goes to what was there, whichever is larger. */
TEST(two_maps_become_one)
{
	for (seed = 1; seed <= 100; seed++) {
		uint64_t round = seed;
		struct idmap list[2] = { { 0 }, { 0 } };
		uint32_t share = below(4), index = 0;
		memset(plain, 0, sizeof plain);
		for (uint32_t id = below(200); id < IDS; id += 1 + !below(9) * below(500)) {
			idmap_set(&list[below(3) < share], id, index);
			plain[id] = ++index;
		}
		idmap_move(&list[0], &list[1]);
		same(&list[0]);
		CHECK_EQ(list[1].end + list[1].bytes, 0);
		idmap_release(&list[0]);
		seed = round;
	}
}

TEST(ids_in_their_order_cost_little)
{
	struct idmap m = { 0 };

	for (uint32_t id = 5; id < IDS; id++)
		idmap_set(&m, id, id - 5);
	CHECK_EQ(idmap_get(&m, 4), UINT32_MAX);
	CHECK_EQ(idmap_get(&m, 5), 0);
	CHECK_EQ(idmap_get(&m, IDS - 1), IDS - 6);
	CHECK(m.bytes <= IDS / IDMAP_LEAF * sizeof(uint64_t) * 2);
	idmap_release(&m);
}
