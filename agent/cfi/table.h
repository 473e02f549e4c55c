/* SPDX-License-Identifier: MIT
 *
 * table.h - which record of a module's .eh_frame is about a pc: what cfi/cfi.c needs to run one.
 * Any thread, no lock.
 *
 * Tables are not trusted: a record is read within the loaded segment that it lies in, whatever
 * lengths it gives.
 */
#ifndef MT_CFI_TABLE_H
#define MT_CFI_TABLE_H

#include "cfi/cfi.h"

#pragma GCC visibility push(hidden)

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

/* MTW_TRUNC_NONE, or why there is none for that pc. */
unsigned mt_cfi_find(const struct module *m, uintptr_t pc, struct fde *fde);

/* A pointer in one of the encodings DW_EH_PE_*; `data`: what such relative ones are relative to. */
uint64_t mt_cfi_pointer(struct cfi_cursor *c, uint8_t encoding, uintptr_t data);
/* Length of a record at the cursor, which is set to end with it. 0 at the terminator, and where it
 * is not within. */
uint64_t mt_cfi_record(struct cfi_cursor *c);
bool mt_cfi_read_cie(struct cfi_cursor c, struct cie *cie);
/* `low`: its CIE does not lie before. */
bool mt_cfi_read_fde(struct cfi_cursor c, const uint8_t *low, struct fde *fde);

/* cfi/index.c: the FDEs of a file that has no search table. */
struct cfi_index {
	uintptr_t base; /* .eh_frame */
	uint32_t count;
	bool cut;           /* no memory for them: what is missing is not known */
	int32_t entry[][2]; /* pc, FDE: both relative to base; by pc */
};

/*
 * `frames`: where its .eh_frame begins; 0 = it has to be found. Made at the first question, without
 * a system call but for memory; then kept for as long as the process runs. Never NULL.
 */
const struct cfi_index *mt_cfi_index(const struct module *m, uintptr_t frames);

#pragma GCC visibility pop

#endif
