/* SPDX-License-Identifier: MIT */
#include "views/ages.h"

#include "views/looked.h"
#include "screen/term.h"

#include <stdlib.h>

#define ALL_MOST 8192 /* rows; each takes about 4K while ages are counted */

static bool lacking; /* a row was drawn whose age nobody asked for */

void ages_ask(struct ui *ui)
{
	/* The first state loads before ages do, because the link may be slow. */
	if (ui->shown.figures.complete || figures_over(&ui->shown.figures))
		looked_want(ui, MTW_KIND_COHORTS);
}

enum ages_of ages_wanted(bool shown, int sort)
{
	return sort == BY_AGE || sort == BY_OLDEST ? AGES_OF_ALL
	       : shown                             ? AGES_OF_SHOWN
						   : AGES_OF_NONE;
}

/* Includes a screen of rows above and below, so that moving there needs no new request. */
bool ages_take(struct ages *g, struct ui *ui, bool sites, enum ages_of of, const struct list *l,
	       list_id_fn *id, void *arg)
{
	size_t height = l->height > 0 ? (size_t)l->height : (size_t)term_rows(),
	       end = l->top + 2 * height;

	g->count = 0;
	g->part = of == AGES_OF_ALL && l->count > ALL_MOST;
	if (of == AGES_OF_NONE)
		return false;
	ages_ask(ui);
	g->first = l->top > height ? l->top - height : 0;
	if (of == AGES_OF_ALL && !g->part)
		g->first = 0, end = l->count;
	end = end < l->count ? end : l->count;
	g->count = end > g->first ? end - g->first : 0;
	GROW(g->ids, g->room, g->count + 1);
	GROW(g->of, g->of_room, g->count + 1);
	for (size_t i = 0; i < g->count; i++)
		g->ids[i] = (uint32_t)id(arg, g->first + i);
	query_ages(ui->shown.query, sites, g->ids, g->count, g->of);
	bool others = of == AGES_OF_ALL && query_ages_version(ui->shown.query) != g->version;
	g->version = query_ages_version(ui->shown.query);
	return others;
}

/* By id, too: between two refreshes rows may have moved. */
const struct age *ages_at(const struct ages *g, size_t row, uint64_t id)
{
	static const struct age unknown;

	if (row >= g->first && row - g->first < g->count && g->ids[row - g->first] == (uint32_t)id)
		return &g->of[row - g->first];
	lacking = true;
	return &unknown;
}

bool ages_lack(void)
{
	bool lack = lacking;

	lacking = false;
	return lack;
}

char *ages_words(const struct ages *g, const struct ui *ui, char *out, size_t size)
{
	const struct cohorts *c = model_cohorts(ui->shown.model);
	uint64_t age = looked_long_ago(ui, MTW_KIND_COHORTS);
	char text[32];

	*out = 0;
	if (g->part)
		snprintf(out, size, ", too many to sort by age: sorted in view only");
	else if (c && c->left_bytes)
		snprintf(out, size, ", %s of unknown age", text_bytes(text, c->left_bytes));
	else if (age)
		snprintf(out, size, ", ages as of %s ago", text_ago(text, age));
	return out;
}

void ages_release(struct ages *g)
{
	free(g->ids);
	free(g->of);
}

const char *ages_missing(const struct ui *ui)
{
	if (!query_by_cohort(ui->shown.query) || model_cohorts(ui->shown.model))
		return NULL;
	return watch_missing(ui->shown.watch, MTW_KIND_COHORTS);
}
