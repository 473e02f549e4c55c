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

void ages_want(struct ages *g, struct ui *ui, enum ages_of of, const struct list *l)
{
	g->wanted = of;
	g->height = l->height > 0 ? (size_t)l->height : (size_t)term_rows();
	g->top = l->top;
	if (of != AGES_OF_NONE)
		ages_ask(ui);
}

/* Includes a screen of rows above and below, so that moving there needs no new request. */
bool ages_make(struct ages *g, struct query *q, bool sites, size_t rows, list_id_fn *id, void *arg)
{
	struct ages_known *k = &g->made;
	size_t end = g->top + 2 * g->height;

	k->count = 0;
	k->part = g->wanted == AGES_OF_ALL && rows > ALL_MOST;
	if (g->wanted == AGES_OF_NONE)
		return false;
	k->first = g->top > g->height ? g->top - g->height : 0;
	if (g->wanted == AGES_OF_ALL && !k->part)
		k->first = 0, end = rows;
	end = end < rows ? end : rows;
	k->count = end > k->first ? end - k->first : 0;
	GROW(k->ids, k->room, k->count + 1);
	GROW(k->of, k->of_room, k->count + 1);
	for (size_t i = 0; i < k->count; i++)
		k->ids[i] = (uint32_t)id(arg, k->first + i);
	query_ages(q, sites, k->ids, k->count, k->of);
	/* of a part, each order brings other rows into it */
	bool others = g->wanted == AGES_OF_ALL && !k->part && query_ages_version(q) != g->version;
	g->version = query_ages_version(q);
	return others;
}

void ages_take(struct ages *g)
{
	struct ages_known was = g->shown;

	g->shown = g->made;
	g->made = was;
}

/* By id, too: between two refreshes rows may have moved. */
const struct age *ages_at(const struct ages *g, size_t row, uint64_t id)
{
	static const struct age unknown;

	const struct ages_known *k = &g->shown;

	if (row >= k->first && row - k->first < k->count && k->ids[row - k->first] == (uint32_t)id)
		return &k->of[row - k->first];
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
	if (g->shown.part)
		snprintf(out, size, ", too many to sort by age: sorted in view only");
	else if (c && c->left_bytes)
		snprintf(out, size, ", %s of unknown age", text_bytes(text, c->left_bytes));
	else if (age)
		snprintf(out, size, ", ages as of %s ago", text_ago(text, age));
	return out;
}

void ages_release(struct ages *g)
{
	free(g->shown.ids);
	free(g->shown.of);
	free(g->made.ids);
	free(g->made.of);
}

const char *ages_missing(const struct ui *ui)
{
	if (!query_by_cohort(ui->shown.query) || model_cohorts(ui->shown.model))
		return NULL;
	return watch_missing(ui->shown.watch, MTW_KIND_COHORTS);
}
