/* SPDX-License-Identifier: MIT
 *
 * budget.h - does the agent cost more than the user allows? Main thread.
 */
#ifndef LINK_BUDGET_H
#define LINK_BUDGET_H

#include "model/model.h"

/*
 * Cost is the agent's part of the cpu time (struct cost of model/quality.h) over windows of some
 * seconds that restart when the filter of recording changes. A cost whose error reaches down to the
 * limit is not over it. A program that hardly runs is never over the budget: there is nothing to
 * save.
 */
struct budget {
	double percent; /* allowed; 0 = no limit */
	uint64_t since_ns, hook_ns, server_ns, cpu_ns;
	size_t filters;
	bool begun;
	double last_cost; /* when the last rate was suggested */
};

/*
 * Call it after ticks. True, once for each window over the budget: *cost in percent, *sample = the
 * rate that should fix it; 0 when no rate helps: the rarest one is in force, or the last change
 * saved hardly anything.
 */
bool budget_exceeded(struct budget *b, const struct model *m, double *cost, uint64_t *sample);

#endif
