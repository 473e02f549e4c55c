/* SPDX-License-Identifier: MIT
 *
 * index.c - builds the search table of a file that has none: finds its .eh_frame and sorts it,
 * once.
 *
 * Without a PT_GNU_EH_FRAME nothing in memory names .eh_frame: section headers are not mapped, and
 * a hook opens no file (which may be gone or replaced by now). But the section lies in a read-only
 * segment and has an unmistakable shape: a CIE, then records whose lengths lead from one to the
 * next, and whose FDEs refer back to a CIE and describe code of this very file. So the agent
 * searches word by word, segments without code first. It searches once for each such module, at the
 * first pc that it looks up there. The index needs no file, and so works for libraries loaded by
 * dlopen, for static programs and after an attach alike. Data that only resembles a CIE fails at
 * the next record.
 *
 * Writable segments are skipped, because touching them would add their pages to the program's
 * memory. Every range is probed before it is read, since the program may have unmapped it. In a
 * table without a terminator all records up to the segment's end are tried; a record that describes
 * no code of this file is skipped.
 *
 * Threads that need the index at the same time each build it, and the first one's is kept. It takes
 * 8 bytes for each function, a third of the section. Without memory for it, or above INDEX_BYTES,
 * stacks end there with that reason.
 */
#include "cfi/index.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/prim_linux.h"
#include "cfi/cfi.h"
#include "cfi/records.h"
#include "modules/segments.h"

#include <link.h>
#include <memtop/wire.h>
#include <string.h>

#define INDEX_BYTES ((size_t)64 << 20) /* some 8 million functions */
#define STEP ((uintptr_t)1 << 20)      /* memory that is asked about at once */
#define CIE_LEAST 16u                  /* bytes of the shortest that is looked for */
#define CIE_MOST 4096u
#define IN_VAIN (1u << 20) /* records of what turned out to be no table: then the search ends */

/* Records from `from` on, in the order of the section. */
struct chain {
	const struct module *m;
	const uint8_t *from;
	uintptr_t asked;     /* what lies before can be read */
	struct cfi_cursor c; /* at the next record; ends with the segment */
	const uint8_t *at;   /* the record that was met last */
	uint32_t records;    /* met so far */
	uint32_t others;     /* ... FDEs of no code of this file */
};

static struct cfi_index none;
static struct cfi_index no_room = { .cut = true };

/* Can all up to `to` be read? */
static bool reach(struct chain *ch, uintptr_t to)
{
	uintptr_t end = (uintptr_t)ch->c.end,
		  step = end - ch->asked < STEP ? end - ch->asked : STEP;

	if (likely(to <= ch->asked))
		return true;
	if (to > end)
		return false;
	step = to - ch->asked > step ? to - ch->asked : step;
	if (!mt_prim_readable(ch->asked, step))
		return false;
	ch->asked += step;
	return true;
}

/* A record's bytes are known to be readable when it is gone into. */
static bool next_record(struct chain *ch, struct cfi_cursor *record)
{
	uintptr_t at = (uintptr_t)ch->c.at, left = (uintptr_t)ch->c.end - at;

	*record = ch->c;
	if (!reach(ch, at + (left < CIE_LEAST ? left : CIE_LEAST)) || !mt_cfi_record(record) ||
	    !reach(ch, (uintptr_t)record->end))
		return false;
	ch->at = ch->c.at;
	ch->c.at = record->end;
	ch->records++;
	return true;
}

/* Goes to the next FDE that is about code of this file, at ch->at; false: the table ends. */
static bool next_fde(struct chain *ch, struct fde *fde)
{
	struct cfi_cursor record;

	while (next_record(ch, &record)) {
		struct cfi_cursor whole = { ch->at, record.end, false };
		if (!mt_cfi_read_fde(whole, ch->from, fde))
			continue; /* a CIE, or nothing that anybody could use */
		if (fde->start < fde->end && mt_maps_runs(ch->m, fde->start) &&
		    mt_maps_runs(ch->m, fde->end - 1))
			return true;
		ch->others++;
	}
	return false;
}

/* FDEs of the table that begins there; 0: it is none. */
static uint32_t count_fdes(struct chain *ch)
{
	uint32_t count = 0;
	struct fde fde;

	while (next_fde(ch, &fde))
		count++;
	return count > ch->others ? count : 0;
}

static void swap(int32_t (*e)[2], uint32_t a, uint32_t b)
{
	int32_t pc = e[a][0], at = e[a][1];

	e[a][0] = e[b][0];
	e[a][1] = e[b][1];
	e[b][0] = pc;
	e[b][1] = at;
}

static void sink(int32_t (*e)[2], uint32_t at, uint32_t n)
{
	for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
		child += child + 1 < n && e[child + 1][0] > e[child][0];
		if (e[at][0] >= e[child][0])
			return;
		swap(e, at, child);
	}
}

/* By pc, as a heap: libc's qsort() may allocate. */
static void sort(int32_t (*e)[2], uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sink(e, i, n);
	for (uint32_t i = n; i-- > 1;) {
		swap(e, 0, i);
		sink(e, 0, i);
	}
}

static size_t bytes_of(uint32_t count)
{
	return sizeof(struct cfi_index) + count * sizeof(none.entry[0]);
}

/* Indexes at most `count` FDEs of that table. No code of a file lies further away than an entry can
 * express. */
static struct cfi_index *make_index(struct chain *ch, uint32_t count)
{
	struct cfi_index *index =
		bytes_of(count) <= INDEX_BYTES ? mt_prim_map(bytes_of(count), false) : NULL;
	struct fde fde;

	if (!index)
		return &no_room;
	index->base = (uintptr_t)ch->from;
	while (index->count < count && next_fde(ch, &fde)) {
		intptr_t pc = (intptr_t)(fde.start - index->base), at = ch->at - ch->from;
		if (pc < INT32_MIN || pc > INT32_MAX || at > INT32_MAX)
			continue;
		index->entry[index->count][0] = (int32_t)pc;
		index->entry[index->count++][1] = (int32_t)at;
	}
	sort(index->entry, index->count);
	return index;
}

static struct chain chain_at(const struct module *m, uintptr_t from, uintptr_t asked, uintptr_t end)
{
	return (struct chain){ .m = m,
			       .from = (const uint8_t *)from,
			       .asked = asked,
			       .c = { (const uint8_t *)from, (const uint8_t *)end, false } };
}

/* Indexes the table that begins there; NULL: none does. *vain: records that were read in vain. */
static struct cfi_index *index_from(const struct module *m, uintptr_t from, uintptr_t asked,
				    uintptr_t end, uint32_t *vain)
{
	struct chain first = chain_at(m, from, asked, end), again = first;
	uint32_t count = count_fdes(&first);

	if (!count)
		*vain += first.records;
	return count ? make_index(&again, count) : NULL;
}

/* The words of a CIE of compilers: its length, 0, a version, "z...", "eh" or "". */
static bool looks_like_cie(uintptr_t at)
{
	const uint32_t *word = (const uint32_t *)at;
	const uint8_t *text = (const uint8_t *)at + 8;

	return !word[1] && word[0] >= CIE_LEAST - 8 && word[0] <= CIE_MOST &&
	       (text[0] == 1 || text[0] == 3) && (text[1] == 'z' || text[1] == 'e' || !text[1]);
}

static struct cfi_index *search_segment(const struct module *m, uintptr_t start, uintptr_t end,
					uint32_t *vain)
{
	struct chain area = chain_at(m, start, start, end);
	struct cfi_index *found = NULL;

	for (uintptr_t at = (start + 3) & ~(uintptr_t)3;
	     !found && end - at >= CIE_LEAST && at < end && *vain < IN_VAIN; at += 4) {
		if (!reach(&area, at + CIE_LEAST))
			break;
		if (looks_like_cie(at))
			found = index_from(m, at, area.asked, end, vain);
	}
	return found;
}

static struct cfi_index *search(const struct module *m, bool with_code)
{
	const ElfW(Phdr) *ph = m->headers;
	struct cfi_index *found = NULL;
	uint32_t vain = 0;

	for (size_t i = 0; !found && i < m->header_count; i++) {
		uintptr_t start = m->bias + ph[i].p_vaddr;
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & (PF_R | PF_W)) == PF_R &&
		    !(ph[i].p_flags & PF_X) == !with_code)
			found = search_segment(m, start, start + ph[i].p_filesz, &vain);
	}
	return found;
}

static struct cfi_index *make(const struct module *m, uintptr_t frames)
{
	struct cfi_index *found = NULL;
	uintptr_t low, high;
	uint32_t vain = 0;

	if (frames && mt_maps_segment(m, frames, &low, &high))
		found = index_from(m, frames, frames, high, &vain);
	if (!frames && !(found = search(m, false)))
		found = search(m, true);
	return found ? found : &none;
}

const struct cfi_index *mt_cfi_index(const struct module *m, uintptr_t frames)
{
	struct cfi_index *_Atomic *x = (struct cfi_index * _Atomic *)&m->xcfi_index;
	struct cfi_index *known = atomic_load_explicit(x, memory_order_acquire);

	if (likely(known))
		return known;
	struct cfi_index *made = make(m, frames);
	bool mapped = made != &none && made != &no_room;
	size_t bytes = bytes_of(made->count);
	if (atomic_compare_exchange_strong_explicit(x, &known, made, memory_order_acq_rel,
						    memory_order_acquire)) {
		if (mapped)
			mt_arena_range((uintptr_t)made, bytes, PART_CACHES);
		return made;
	}
	if (mapped)
		mt_prim_unmap(made, bytes);
	return known;
}
