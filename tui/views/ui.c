/* SPDX-License-Identifier: MIT */
#include "views/ui.h"

#include "report/report.h"
#include "views/ages.h"

#include <string.h>

bool ui_of_all(const struct ui *ui)
{
	return ui->others.shown == PROCESS_ALL;
}

bool ui_linked(const struct ui *ui)
{
	return ui_of_all(ui) ? others_watches(ui->processes) > 0 : watch_live(ui->shown.watch);
}

static bool has_word(const struct ui *ui, const char *word)
{
	const char *filter = ui->shown.filter, *at = strstr(filter, word);
	size_t len = strlen(word);

	return at && (at == filter || at[-1] == ' ') && (!at[len] || at[len] == ' ');
}

const char *ui_empty_reason(const struct ui *ui)
{
	static char text[600];
	const char *capture = model_option(ui->shown.model, "capture");

	if (!model_program(ui->shown.model)) {
		const char *problem = watch_problem(ui->shown.watch);
		return problem ? problem : "connecting: no answer yet";
	}
	if (ages_missing(ui))
		return ages_missing(ui);
	if (!model_diffing(ui->shown.model) && (has_word(ui, "grew") || has_word(ui, "new"))) {
		snprintf(text, sizeof text,
			 "the filter \"%s\" needs a diff: d compares with a mark (Esc removes it)",
			 ui->shown.filter);
		return text;
	}
	if (ui->shown.filter[0]) {
		snprintf(text, sizeof text, "nothing matches the filter \"%s\" (Esc removes it)",
			 ui->shown.filter);
		return text;
	}
	if (capture && !strcmp(capture, "off"))
		return "NOT COUNTING: capture is off (:set capture=on turns it on)";
	if (ui->shown.figures.totals.sum.alloc_blocks == 0 && model_filter(ui->shown.model)) {
		char what[400];
		snprintf(text, sizeof text, "no block passes the agent's filter yet: %s",
			 report_filter(model_filter(ui->shown.model), false, what, sizeof what));
		return text;
	}
	if (ui->shown.figures.totals.sum.alloc_blocks == 0)
		return ui->shown.figures.final ? "the program ended before the agent saw an "
						 "allocation (static, or its own allocator?)"
					       : "waiting for the first allocation";
	if (!ui->shown.figures.complete)
		return "loading the first rows";
	if (live_blocks(&ui->shown.figures.totals.sum))
		return "no rows yet";
	return "nothing is live";
}

bool ui_of_threads(const struct ui *ui)
{
	const char *filter = ui->shown.filter, *word = strstr(filter, "thread:");

	return word && (word == filter || word[-1] == ' ');
}
