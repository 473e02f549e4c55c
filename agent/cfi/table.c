/* SPDX-License-Identifier: MIT
 *
 * table.c - finds the FDE of .eh_frame that covers a pc (LSB 5, section 10.6).
 *
 * It bisects .eh_frame_hdr, which linkers make for exceptions. Some links leave that out (musl's
 * compiler wrapper, --no-eh-frame-hdr); for those the agent has built a table itself (cfi/index.c).
 *
 * Tables are not trusted: every read stays within the loaded segment that holds the table.
 */
#include "cfi/table.h"
#include "cfi/cfi.h"
#include "cfi/index.h"
#include "modules/segments.h"

#include <memtop/wire.h>
#include <string.h>

static const uint8_t *search(const uint8_t *table, uint64_t count, uintptr_t base, uintptr_t pc)
{
	uint64_t from = 0, to = count;
	int32_t entry[2];

	while (from < to) {
		uint64_t middle = from + (to - from) / 2;
		memcpy(entry, table + middle * 8, sizeof(entry));
		if (base + (uintptr_t)(intptr_t)entry[0] <= pc)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == 0)
		return NULL;
	memcpy(entry, table + (from - 1) * 8, sizeof(entry));
	return (const uint8_t *)(base + (uintptr_t)(intptr_t)entry[1]);
}

static bool fde_at(const struct module *m, uintptr_t addr, struct fde *fde)
{
	uintptr_t low, high;

	if (!mt_maps_segment(m, addr, &low, &high))
		return false;
	struct cfi_cursor c = { (const uint8_t *)addr, (const uint8_t *)high, false };
	return mt_cfi_read_fde(c, (const uint8_t *)low, fde);
}

/* Entries are pairs of (pc, FDE), both relative to the base, by pc. */
static unsigned find_among(const struct module *m, const uint8_t *table, uint64_t count,
			   uintptr_t base, uintptr_t pc, struct fde *fde)
{
	const uint8_t *at = search(table, count, base, pc);

	return at && fde_at(m, (uintptr_t)at, fde) && pc >= fde->start && pc < fde->end
		       ? MTW_TRUNC_NONE
		       : MTW_TRUNC_NO_CFI;
}

static unsigned find_indexed(const struct module *m, uintptr_t frames, uintptr_t pc,
			     struct fde *fde)
{
	const struct cfi_index *index = mt_cfi_index(m, frames);

	if (index->cut)
		return MTW_TRUNC_NODES;
	return find_among(m, (const uint8_t *)index->entry, index->count, index->base, pc, fde);
}

/* A search table, as .eh_frame_hdr has it. */
struct header {
	const uint8_t *table; /* NULL: in a form that cannot be searched */
	uint64_t count;
	uintptr_t frames;
	bool bad;
};

static struct header read_header(const struct module *m)
{
	struct header h = { .bad = true };
	uintptr_t low, high;

	if (!mt_maps_segment(m, m->eh_frame_hdr, &low, &high))
		return h;
	struct cfi_cursor c = { (const uint8_t *)m->eh_frame_hdr, (const uint8_t *)high, false };
	if (cfi_fixed(&c, 1) != 1)
		return h;
	uint8_t frame_encoding = (uint8_t)cfi_fixed(&c, 1);
	uint8_t count_encoding = (uint8_t)cfi_fixed(&c, 1);
	uint8_t table_encoding = (uint8_t)cfi_fixed(&c, 1);
	h.frames = mt_cfi_pointer(&c, frame_encoding, m->eh_frame_hdr);
	h.count = mt_cfi_pointer(&c, count_encoding, m->eh_frame_hdr);
	if (count_encoding != PE_OMIT && table_encoding == (PE_DATAREL | 0x0b))
		h.table = c.at;
	h.bad = c.bad || (h.table && h.count > (uint64_t)(c.end - c.at) / 8);
	return h;
}

unsigned mt_cfi_find(const struct module *m, uintptr_t pc, struct fde *fde)
{
	if (!m)
		return MTW_TRUNC_NO_CFI;
	if (!m->eh_frame_hdr)
		return find_indexed(m, 0, pc, fde);
	struct header h = read_header(m);
	if (h.bad)
		return MTW_TRUNC_NO_CFI;
	if (!h.table)
		return find_indexed(m, h.frames, pc, fde);
	return find_among(m, h.table, h.count, m->eh_frame_hdr, pc, fde);
}

/* Linkers lay the records before the search table, or behind it, and nearly in its order. */
bool mt_cfi_extent(const struct module *m, uintptr_t *from, uintptr_t *to)
{
	uintptr_t low, high;
	int32_t last[2];

	if (!m->eh_frame_hdr)
		return false;
	struct header h = read_header(m);
	if (h.bad || !h.table || !h.count || !mt_maps_segment(m, m->eh_frame_hdr, &low, &high))
		return false;
	memcpy(last, h.table + (h.count - 1) * 8, sizeof(last));
	uintptr_t fde = m->eh_frame_hdr + (uintptr_t)(intptr_t)last[1];
	*from = h.frames >= low && h.frames < m->eh_frame_hdr ? h.frames : m->eh_frame_hdr;
	*to = (uintptr_t)h.table + h.count * 8;
	if (fde > *to && fde < high)
		*to = fde;
	return true;
}
