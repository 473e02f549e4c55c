/* SPDX-License-Identifier: MIT
 *
 * records.h - the records of .eh_frame, one by one: CIE and FDE.
 *
 * Records are not trusted: every read stays within the cursor. Any thread, no lock.
 */
#ifndef MT_CFI_RECORDS_H
#define MT_CFI_RECORDS_H

#include "base/types.h"
#include "cfi/cfi.h"

#pragma GCC visibility push(hidden)

/* Pointer encodings (DW_EH_PE_*). */
#define PE_OMIT 0xff
#define PE_FORMAT 0x0f
#define PE_APPLY 0x70
#define PE_PCREL 0x10
#define PE_DATAREL 0x30
#define PE_INDIRECT 0x80

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint8_t pointers; /* encoding of the FDE's addresses */
	bool augmented;   /* 'z': the FDE has a length of augmentation data */
	bool signal;
	struct cfi_cursor code;
};

struct fde {
	struct cie cie;
	uintptr_t start, end;
	struct cfi_cursor code;
};

/* A pointer in an encoding DW_EH_PE_*; `data`: the base of data-relative ones. */
uint64_t mt_cfi_pointer(struct cfi_cursor *c, uint8_t encoding, uintptr_t data);
/* Length of the record at the cursor, which then ends with it. 0 at the terminator, and for a
 * record that exceeds the cursor. */
uint64_t mt_cfi_record(struct cfi_cursor *c);
bool mt_cfi_read_cie(struct cfi_cursor c, struct cie *cie);
/* `low`: the lowest address that its CIE may have. */
bool mt_cfi_read_fde(struct cfi_cursor c, const uint8_t *low, struct fde *fde);

#pragma GCC visibility pop

#endif
