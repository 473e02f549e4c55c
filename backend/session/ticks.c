/* SPDX-License-Identifier: MIT
 *
 * ticks.c - notes of a stream's ticks: what thinning must know before it reads the first one. They
 * are taken while the session is written, so that its file is read once.
 */
#include "session/writer.h"

#include "base/ages.h"

#include <stdlib.h>

#define THIN_LEAST (8u << 20)

enum { TOTALS_PEAK, PEAK, PEAKS }; /* the first pins; the others are marks */

uint64_t session_thin_least(void)
{
	const char *test = getenv("MEMTOP_TEST_THIN_BYTES");

	return test ? strtoull(test, NULL, 10) : THIN_LEAST;
}

struct session_ticks *session_ticks_add(struct session_ticks **list, size_t *count, size_t *room,
					uint32_t stream)
{
	GROW(*list, *room, *count + 1);
	(*list)[*count] = (struct session_ticks){ .stream = stream };
	return &(*list)[(*count)++];
}

size_t session_ticks_of(struct session_writer *w, uint32_t stream)
{
	for (size_t i = 0; i < w->tick_count; i++)
		if (w->ticks[i].stream == stream)
			return i;
	struct session_ticks *t =
		session_ticks_add(&w->ticks, &w->tick_count, &w->tick_room, stream);
	GROW(t->pins, t->pin_room, PEAKS);
	t->pins[TOTALS_PEAK] = t->pins[PEAK] = 0;
	t->pin_count = PEAKS;
	return w->tick_count - 1;
}

uint64_t session_number(const uint8_t *payload, size_t len, unsigned nth)
{
	struct mtw_in in = { payload, payload + len, false };
	uint64_t v = mtw_get(&in);

	while (nth--)
		v = mtw_get(&in);
	return in.bad ? 0 : v;
}

/* Frames of which a thinned session has fewer. */
static bool is_of_ticks(uint64_t type)
{
	return type == MTW_COUNTS || type == MTW_PEAK || type == MTW_SAMPLE_LIVE ||
	       type == MTW_TOTALS || type == MTW_TICK || type == MTW_THREAD ||
	       (type >= MTW_SCAN_THREADS && type <= MTW_SCAN_AGES) || type == MTW_SCAN_COHORTS;
}

void session_note(struct session_ticks *t, uint64_t time_ns, uint64_t type, const uint8_t *payload,
		  size_t len)
{
	t->dense_bytes += is_of_ticks(type) ? len : 0;
	switch (type) {
	case MTW_TICK:
		t->last_ns = time_ns;
		if (t->dense_from_ns)
			break;
		t->dense_from_ns = time_ns; /* the first state stays */
		t->dense_bytes = 0;
		break;
	case MTW_TOTALS: t->pins[TOTALS_PEAK] = session_number(payload, len, 7); break;
	case MTW_PEAK: t->pins[PEAK] = session_number(payload, len, 2); break;
	case MTW_MARK:
		GROW(t->pins, t->pin_room, t->pin_count + 1);
		t->pins[t->pin_count++] = session_number(payload, len, 3);
		break;
	default: break;
	}
}

/* They came evenly, more or less. */
uint64_t session_loose(const struct session_ticks *t)
{
	uint64_t since = t->last_ns - t->dense_from_ns, whole = ages_whole_ns();

	return since > whole
		       ? (uint64_t)((double)t->dense_bytes * (1 - (double)whole / (double)since))
		       : 0;
}

void session_not_loose(struct session_ticks *t)
{
	uint64_t loose = session_loose(t);

	if (!loose)
		return;
	t->dense_bytes -= loose;
	t->dense_from_ns = t->last_ns - ages_whole_ns();
}

void session_ticks_free(struct session_ticks *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].pins);
		free(list[i].keys);
		free(list[i].kept);
	}
	free(list);
}
