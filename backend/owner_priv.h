/* SPDX-License-Identifier: MIT
 *
 * owner_priv.h - what query_*.c shares with owner.c.
 */
#ifndef OWNER_PRIV_H
#define OWNER_PRIV_H

#include "names.h"
#include "owner.h"

struct names *owners_names(struct owners *o);
/* Takes in new nodes and names, so that owners_of_node() and names_*() are current. */
void owners_refresh(struct owners *o);
const struct owner *owners_of_index(struct owners *o, uint32_t index); /* dense */
uint64_t owners_version(const struct owners *o); /* moves when some node's owner or site may have changed */

#endif
