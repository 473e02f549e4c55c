/* SPDX-License-Identifier: MIT
 *
 * looked.c - see app/looked.h.
 */
#include "app/looked.h"

#include "app/app.h"

#define LIVE_NS                                                                                    \
	4000000000u         /* while the program runs the next answer is two seconds away at most  \
			     */
#define OVER_NS 1000000000u /* the last look is of the end, within its own length */
#define PAST_NS 20000000u   /* of an instant: what came with the tick before is of another one */

void looked_want(struct app *a, enum mtw_kind kind)
{
	if (!a->paused && !a->figures.past && !figures_over(&a->figures))
		watch_want(a->watch, kind);
}

uint64_t looked_ago(const struct app *a, enum mtw_kind kind)
{
	uint64_t at = model_looked(a->model, kind);

	return at && a->figures.at_ns > at ? a->figures.at_ns - at : 0;
}

uint64_t looked_long_ago(const struct app *a, enum mtw_kind kind)
{
	uint64_t ago = looked_ago(a, kind), least = a->figures.past             ? PAST_NS
						    : figures_over(&a->figures) ? OVER_NS
										: LIVE_NS;

	return ago > least ? ago : 0;
}
