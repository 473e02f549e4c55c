/* SPDX-License-Identifier: MIT
 *
 * internal.h - what query_*.c shares with owners/owner.c.
 */
#ifndef OWNER_PRIV_H
#define OWNER_PRIV_H

#include "owners/names.h"
#include "owners/owner.h"

struct names *owners_names(struct owners *o);
/* Takes in new nodes and names, so that owners_of_node() and names_*() are current; sums too,
 * unless in slices. */
void owners_refresh(struct owners *o);
/* At first false. On: what goes over all stacks is left to owners_make(), and what was whole last
 * is lent until then. */
void owners_in_slices(struct owners *o, bool on);
#define NODES_A_STEP 4u /* of those of query_allow(), when they are only looked at */
/* Goes on with it while step() says so. True: all is whole. */
bool owners_make(struct owners *o, bool (*step)(void *arg), void *arg);
const struct owner *owners_of_index(struct owners *o, uint32_t index); /* dense */
/* owners_site() in dense indices, by the names that are here: takes in none. */
uint32_t owners_site_of_index(struct owners *o, uint32_t leaf, uint32_t *frame_index);
/*
 * Called from owners_refresh() for stacks (dense indices) whose owner or call site may have become
 * another since they were first asked for; NULL: any may have. One listener.
 */
void owners_on_move(struct owners *o, void (*fn)(void *arg, const uint32_t *indices, size_t count),
		    void *arg);
/* Called before that, for locations that have other frames, or are judged otherwise, than before;
 * NULL: any may. One listener. */
void owners_on_rename(struct owners *o, void (*fn)(void *arg, const uint32_t *locs, size_t count),
		      void *arg);

#endif
