/* SPDX-License-Identifier: MIT */
#include "views/looked.h"

#include "views/ui.h"

/* The age of a scan that needs no remark. */
#define LIVE_NS 4000000000u /* running: the next answer comes within two seconds */
#define OVER_NS 1000000000u /* ended: the last scan shows the end, within its own length */
#define PAST_NS 20000000u   /* past: the scan of the tick before shows another instant */

void looked_want(struct ui *ui, enum mtw_kind kind)
{
	if (!ui->paused && !ui->shown.figures.past && !figures_over(&ui->shown.figures))
		watch_want(ui->shown.watch, kind);
}

uint64_t looked_ago(const struct ui *ui, enum mtw_kind kind)
{
	uint64_t at = model_looked(ui->shown.model, kind);

	return at && ui->shown.figures.at_ns > at ? ui->shown.figures.at_ns - at : 0;
}

uint64_t looked_long_ago(const struct ui *ui, enum mtw_kind kind)
{
	uint64_t ago = looked_ago(ui, kind), least = ui->shown.figures.past             ? PAST_NS
						     : figures_over(&ui->shown.figures) ? OVER_NS
											: LIVE_NS;

	return ago > least ? ago : 0;
}
