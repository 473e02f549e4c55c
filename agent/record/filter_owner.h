/* SPDX-License-Identifier: MIT
 *
 * filter_owner.h - whether libs= and exclude= admit a module.
 */
#ifndef MT_RECORD_FILTER_OWNER_H
#define MT_RECORD_FILTER_OWNER_H

#include "base/types.h"

#pragma GCC visibility push(hidden)

struct owners;
struct module;

struct owners *mt_filter_owners(const char *libs, const char *exclude, const char **wrong);
bool mt_filter_owner_wanted(struct owners *o, node_id node);
/* false: the module's own calls' allocations are left out */
bool mt_filter_owner_calls_wanted(struct owners *o, const struct module *m);

#pragma GCC visibility pop

#endif
