/* SPDX-License-Identifier: MIT
 *
 * owner.h - whose memory is it? Main thread only.
 *
 * The owner of a stack is the module of the innermost frame that is not an allocation wrapper:
 * the agent, libc with its loader, the C++ runtime, std:: allocators and containers (inlined ones
 * too), and a list that users extend. See owners/wrappers.c for the table. A stack of nothing but
 * wrappers, or a truncated one that shows none, belongs to OWNER_UNKNOWN; where that frame is
 * generated code, which has no module, to OWNER_GENERATED.
 * Answers are cached per node and recomputed when symbols arrive; sums over owners equal totals.
 */
#ifndef OWNERS_OWNER_H
#define OWNERS_OWNER_H

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
/* False: the list does not cover all stacks yet, or follows the old rule; a query on these
 * owners continues the work. */
bool owners_whole(const struct owners *o);
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

/* --- for queries */

struct names *owners_names(struct owners *o);
/* Adds new nodes and names, so that owners_of_node() and names_*() are current; sums too, unless
 * in slices. */
void owners_refresh(struct owners *o);
/* Initially false. On: owners_make() does the walks over all stacks, and the last complete
 * result stays until then. */
void owners_in_slices(struct owners *o, bool on);
#define NODES_A_STEP 4u /* nodes per step of query_allow(), when only inspected */
/* Continues while step() returns true. True: complete. */
bool owners_make(struct owners *o, bool (*step)(void *arg), void *arg);
const struct owner *owners_of_index(struct owners *o, uint32_t index); /* dense */
/* owners_site() in dense indices, by the current names: adds none. */
uint32_t owners_site_of_index(struct owners *o, uint32_t leaf, uint32_t *frame_index);
/* Called from owners_refresh() for stacks (dense indices) whose owner or call site may have
 * changed since the first request; NULL: any may have. One listener. */
void owners_on_move(struct owners *o, void (*fn)(void *arg, const uint32_t *indices, size_t count),
		    void *arg);
/* Called before that, for locations whose frames or judgement changed. One listener. */
void owners_on_rename(struct owners *o, void (*fn)(void *arg, const uint32_t *locs, size_t count),
		      void *arg);

#endif
