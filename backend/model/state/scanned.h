/* SPDX-License-Identifier: MIT
 *
 * scanned.h - the ages of live blocks, as of the newest scan. Main thread only.
 */
#ifndef MODEL_STATE_SCANNED_H
#define MODEL_STATE_SCANNED_H

#include "model/paths/event.h"

struct scanned_ages {
	struct scan_ages now;
	bool known;
};

void scanned_ages_apply(struct scanned_ages *x, const struct event *e);
void scanned_ages_clear(struct scanned_ages *x);

#endif
