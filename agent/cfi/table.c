/* SPDX-License-Identifier: MIT
 *
 * table.c - finds the FDE of .eh_frame that is about a pc (LSB 5, section 10.6), and reads it and
 * its CIE.
 *
 * By binary search in .eh_frame_hdr, which linkers make for exceptions. Some are not told to
 * (musl's compiler wrapper, --no-eh-frame-hdr), and then the agent has made such a table itself
 * (cfi/index.c).
 *
 * The tables are not trusted: all reading is bounded by the loaded segment that a table lies in.
 */
#include "cfi/table.h"
#include "modules/maps.h"

#include <string.h>

/* Pointer encodings (DW_EH_PE_*). */
#define PE_OMIT 0xff
#define PE_FORMAT 0x0f
#define PE_APPLY 0x70
#define PE_PCREL 0x10
#define PE_DATAREL 0x30
#define PE_INDIRECT 0x80

uint64_t mt_cfi_pointer(struct cfi_cursor *c, uint8_t encoding, uintptr_t data)
{
	uintptr_t here = (uintptr_t)c->at;
	uint64_t v;

	if (encoding == PE_OMIT)
		return 0;
	switch (encoding & PE_FORMAT) {
	case 0x00: /* absptr */
	case 0x04:
	case 0x0c: v = cfi_fixed(c, 8); break;
	case 0x01: v = cfi_uleb(c); break;
	case 0x02: v = cfi_fixed(c, 2); break;
	case 0x03: v = cfi_fixed(c, 4); break;
	case 0x09: v = (uint64_t)cfi_sleb(c); break;
	case 0x0a: v = (uint64_t)(int16_t)cfi_fixed(c, 2); break;
	case 0x0b: v = (uint64_t)(int32_t)cfi_fixed(c, 4); break;
	default: c->bad = true; return 0;
	}
	if ((encoding & PE_APPLY) == PE_PCREL)
		v += here;
	else if ((encoding & PE_APPLY) == PE_DATAREL)
		v += data;
	else if (encoding & PE_APPLY)
		c->bad = true;
	return v; /* indirect ones are personality routines only: never followed */
}

uint64_t mt_cfi_record(struct cfi_cursor *c)
{
	uint64_t len = cfi_fixed(c, 4);

	if (len == 0xffffffff)
		len = cfi_fixed(c, 8);
	if (c->bad || len > (uint64_t)(c->end - c->at))
		c->bad = true;
	else
		c->end = c->at + len;
	return c->bad ? 0 : len;
}

bool mt_cfi_read_cie(struct cfi_cursor c, struct cie *cie)
{
	memset(cie, 0, sizeof(*cie));
	if (!mt_cfi_record(&c) || cfi_fixed(&c, 4) != 0)
		return false;
	uint64_t version = cfi_fixed(&c, 1);
	const char *augmentation = (const char *)c.at;
	while (cfi_fixed(&c, 1) != 0)
		;
	if (c.bad || (version != 1 && version != 3))
		return false;
	cie->code_align = cfi_uleb(&c);
	cie->data_align = cfi_sleb(&c);
	cie->ra = version == 1 ? cfi_fixed(&c, 1) : cfi_uleb(&c);
	cie->augmented = *augmentation == 'z';
	if (cie->augmented) {
		uint64_t len = cfi_uleb(&c);
		struct cfi_cursor data = c;
		if (c.bad || len > (uint64_t)(c.end - c.at))
			return false;
		data.end = c.at + len;
		c.at += len;
		for (augmentation++; *augmentation; augmentation++) {
			switch (*augmentation) {
			case 'R': cie->pointers = (uint8_t)cfi_fixed(&data, 1); break;
			case 'L': cfi_fixed(&data, 1); break;
			case 'P': {
				uint8_t encoding = (uint8_t)cfi_fixed(&data, 1);
				mt_cfi_pointer(&data, encoding & ~(PE_APPLY | PE_INDIRECT), 0);
				break;
			}
			case 'S': cie->signal = true; break;
			case 'B': break;
			/* the rest is unknown, and skipped by its length */
			default: augmentation = "z";
			}
		}
		if (data.bad)
			return false;
	} else if (*augmentation) {
		return false;
	}
	cie->code = c;
	return !c.bad;
}

bool mt_cfi_read_fde(struct cfi_cursor c, const uint8_t *low, struct fde *fde)
{
	const uint8_t *limit = c.end;

	if (!mt_cfi_record(&c))
		return false;
	const uint8_t *here = c.at;
	uint64_t back = cfi_fixed(&c, 4);
	if (back == 0 || back > (uint64_t)(here - low))
		return false;
	struct cfi_cursor parent = { here - back, limit, false };
	if (!mt_cfi_read_cie(parent, &fde->cie))
		return false;
	fde->start = mt_cfi_pointer(&c, fde->cie.pointers, 0);
	fde->end = fde->start + mt_cfi_pointer(&c, fde->cie.pointers & PE_FORMAT, 0);
	if (fde->cie.augmented) {
		uint64_t len = cfi_uleb(&c);
		if (c.bad || len > (uint64_t)(c.end - c.at))
			return false;
		c.at += len;
	}
	fde->code = c;
	return !c.bad;
}

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

unsigned mt_cfi_find(const struct module *m, uintptr_t pc, struct fde *fde)
{
	uintptr_t low, high;

	if (!m)
		return MTW_TRUNC_NO_CFI;
	if (!m->eh_frame_hdr)
		return find_indexed(m, 0, pc, fde);
	if (!mt_maps_segment(m, m->eh_frame_hdr, &low, &high))
		return MTW_TRUNC_NO_CFI;
	struct cfi_cursor c = { (const uint8_t *)m->eh_frame_hdr, (const uint8_t *)high, false };
	if (cfi_fixed(&c, 1) != 1)
		return MTW_TRUNC_NO_CFI;
	uint8_t frame_encoding = (uint8_t)cfi_fixed(&c, 1);
	uint8_t count_encoding = (uint8_t)cfi_fixed(&c, 1);
	uint8_t table_encoding = (uint8_t)cfi_fixed(&c, 1);
	uintptr_t frames = mt_cfi_pointer(&c, frame_encoding, m->eh_frame_hdr);
	uint64_t count = mt_cfi_pointer(&c, count_encoding, m->eh_frame_hdr);
	if (c.bad)
		return MTW_TRUNC_NO_CFI;
	if (count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | 0x0b))
		return find_indexed(m, frames, pc, fde);
	if (count > (uint64_t)(c.end - c.at) / 8)
		return MTW_TRUNC_NO_CFI;
	return find_among(m, c.at, count, m->eh_frame_hdr, pc, fde);
}
