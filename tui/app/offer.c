/* SPDX-License-Identifier: MIT
 *
 * offer.c - --max-overhead on the screen: every refresh checks the agent's cost. Above the user's
 * limit the view offers to sample. Only a yes starts sampling; after a no the offer waits a while.
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
		a->offer.after_ns = now_ns() + AGAIN_NS;
		return;
	}
	snprintf(value, sizeof value, "%llu", (unsigned long long)a->offer.sample);
	if (watch_set_option(a->ui.shown.watch, "sample", value))
		status_error("sample: no live link to the program");
	else
		status_say("setting sample=%s; :set sample=0 records every block again", value);
}

void offer_sampling(struct app *a)
{
	char question[96], rate[FORMAT_NUMBER];
	double cost;
	uint64_t sample;

	if (!watch_live(a->ui.shown.watch) ||
	    !budget_exceeded(&a->front.budget, watch_now(a->ui.shown.watch), &cost, &sample) ||
	    !sample)
		return;
	if (a->ui.prompt.open || now_ns() < a->offer.after_ns)
		return;
	a->offer.sample = sample;
	snprintf(question, sizeof question,
		 "The agent takes %.1f %% (limit %.3g %%). y: sample every %s  Esc: every block",
		 cost, a->front.budget.percent, format_bytes(rate, sample));
	prompt_ask(&a->ui.prompt, question, "y", answered, a);
}
