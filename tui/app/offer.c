/* SPDX-License-Identifier: MIT
 *
 * offer.c - --max-overhead on the screen: what the agent costs is looked at with every refresh, and
 * when it is more than the user allows, sampling is offered. Nothing changes without a yes; a no is
 * not asked about again for a while.
 */
#include "app/actions.h"

#include "report/report.h"

#define AGAIN_NS (600ull * 1000 * 1000 * 1000)

static void answered(void *arg, enum prompt_event e, const char *text)
{
	struct app *a = arg;
	char value[32];

	(void)text;
	if (e != PROMPT_DONE) {
		a->offer_after_ns = now_ns() + AGAIN_NS;
		return;
	}
	snprintf(value, sizeof value, "%llu", (unsigned long long)a->offered);
	if (watch_set_option(a->watch, "sample", value))
		status_error("sample: no live link to the program");
	else
		status_say("setting sample=%s; :set sample=0 records every block again", value);
}

void offer_sampling(struct app *a)
{
	char question[96], rate[FORMAT_NUMBER];
	double cost;
	uint64_t sample;

	if (!watch_live(a->watch) ||
	    !budget_exceeded(&a->budget, watch_now(a->watch), &cost, &sample) || !sample)
		return;
	if (a->prompt.open || now_ns() < a->offer_after_ns)
		return;
	a->offered = sample;
	snprintf(question, sizeof question,
		 "The agent takes %.1f %% (limit %.3g %%). y: sample every %s  Esc: every block",
		 cost, a->budget.percent, format_bytes(rate, sample));
	prompt_ask(&a->prompt, question, "y", answered, a);
}
