/* SPDX-License-Identifier: MIT
 *
 * owner.h - whose memory is it? Main thread only.
 *
 * The owner of a stack is the module of the innermost frame that is not an allocation wrapper:
 * the agent, libc with its loader, the C++ runtime, std:: allocators and containers (inlined ones
 * too), and a list that users extend. See owners/wrappers.c for the table. A stack of nothing but
 * wrappers, or a truncated one that shows none, belongs to OWNER_UNKNOWN; where that frame is
 * generated code, which has no module, to OWNER_GENERATED.
 * A stack's owner follows from its call site; sums over owners equal totals.
 */
#ifndef OWNERS_OWNER_H
#define OWNERS_OWNER_H

#include "heap/sites.h"
#include "symbols/symbols.h"

#define OWNER_UNKNOWN NO_ID         /* shown as [unknown] */
#define OWNER_GENERATED (NO_ID - 1) /* shown as GENERATED_NAME */

struct owners;
struct owner {
	struct amounts amounts; /* first */
	uint32_t module;  /* newest module id of this path, or OWNER_UNKNOWN, OWNER_GENERATED */
	const char *name; /* "libtile.so.2" */
	char letter;      /* A, B, ... fixed for the session */
	/* live bytes at each of model_history()'s points, where owners_known() */
	const uint64_t *series;
};

struct owners *owners_new(const struct model *m, struct symbols *s);
void owners_free(struct owners *o);
/* Clears the history: the owners' past amounts become unknown. */
void owners_forget_history(struct owners *o);
/* For the same program: takes letters and the history by owner from `from`. */
void owners_inherit(struct owners *o, struct owners *from);
/* Brings sums up to date; cheap when nothing changed. Returns owners, heaviest live first. */
size_t owners_update(struct owners *o, const struct owner **list);
/* leaf of a stack; never NULL */
const struct owner *owners_of_node(struct owners *o, uint32_t node);
/* The call site of a stack: innermost node and inlined-frame index that is not a wrapper. */
uint32_t owners_site(struct owners *o, uint32_t leaf, uint32_t *frame_index);
/*
 * Groups by direct caller instead of owner: the module of the innermost frame that is not the
 * agent's. -1 asks. Libraries keep their letters. Each rule's history is kept while the other is in
 * force, but not continued: the agent's own is by owner.
 */
bool owners_direct(struct owners *o, int on);
/* For each point of model_history(), as of the last owners_update(): are the owners' amounts
 * known? */
const bool *owners_known(const struct owners *o);

struct names;
struct names *owners_names(struct owners *o);

/*
 * The model's snapshot (model_heap()) with its names, its call sites, and the owner of each stack
 * (owners_at()). Borrowed until the next call of one that takes names in; hold it to keep it. It
 * asks for the names that call sites depend on.
 */
const struct heap *owners_heap(struct owners *o);
/* The same, for who then asks about single stacks. */
void owners_refresh(struct owners *o);
/* In a forked child there is no worker, and what it had may be half done. The model's, too. */
void owners_forked(struct owners *o);
/* The next snapshot has all names that are known by then: who searches waits for it. */
void owners_hurry(struct owners *o);
/* A newer one is there. */
bool owners_behind(struct owners *o);
/* The snapshot has the changes of another interval: the model's is coming. */
bool owners_interval_late(const struct owners *o);
/* Of a node of its call tree, as if it were a stack. Asks for no name. */
const struct owner *owners_in(struct owners *o, const struct heap *h, uint32_t node);
/* By its number in a snapshot: heap_owner_of_stack(). */
const struct owner *owners_at(struct owners *o, uint32_t number);
/* Asks for the names of these locations (bits by number). True: some are known at once. */
bool owners_ask(struct owners *o, const uint64_t *locations, uint32_t count);

#endif
