/* SPDX-License-Identifier: MIT
 *
 * offer.h - offers to sample when the agent costs too much. Main thread.
 */
#ifndef OFFER_H
#define OFFER_H

#include <stdint.h>

struct app;

struct offer {
	uint64_t sample;   /* offered interval, in bytes */
	uint64_t after_ns; /* no offer before */
};

void offer_sampling(struct app *a); /* after a refresh */

#endif
