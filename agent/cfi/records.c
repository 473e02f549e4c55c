/* SPDX-License-Identifier: MIT
 *
 * records.c - reads a CIE or an FDE of .eh_frame (LSB 5, section 10.6) within the bounds of its
 * segment.
 */
#include "cfi/records.h"

#include <string.h>

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
