/* SPDX-License-Identifier: MIT
 *
 * slices.h - chooses which of the model's long jobs continues. Main thread only.
 */
#ifndef MODEL_SLICES_H
#define MODEL_SLICES_H

#include <stdint.h>

struct model;

void slices_tick(struct model *m, uint64_t time_ns, uint32_t flags); /* a TICK came */
void slices_settle(struct model *m); /* finishes all work in progress at once */

#endif
