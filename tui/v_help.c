/* SPDX-License-Identifier: MIT
 *
 * v_help.c - the keys, made from the table of requests: it lists what there is and nothing else.
 */
#include "app.h"
#include "page.h"
#include "term.h"

#include <stdlib.h>
#include <string.h>

static void refresh(struct view *v, bool resort)
{
	(void)v;
	(void)resort;
}

static void add_request(struct page *p, enum request r)
{
	char keys[96];

	page_add(p, ROLE_NORMAL, term_columns() < 60 ? " %-9s %s" : "  %-22s %s",
		 request_keys(r, keys, sizeof keys), request_info(r)->help);
}

static const struct view_ops ops = {
	.title = "Help",
	.brief = "Help",
	.foci = page_foci,
	.refresh = refresh,
	.draw = page_draw,
	.request = page_request,
	.search = page_search,
	.next_hit = page_next_hit,
	.free = page_free,
};

static void add_words(struct page *p)
{
	static const char *const lines[] = {
		"LIVE  requested bytes that are not freed",
		"BORN  allocated after the base, alive now",
		"GONE  alive at the base, freed since",
		"NET   BORN - GONE, booked to who allocated",
		"AGE   half of the live blocks are older; OLDEST: the oldest one",
		"Shapes of growth: steady as of a leak, slowing as of a cache that fills,",
		"step once, saw-tooth up and down. Net and per minute are over the same",
		"time, GREW IN its parts.",
		"Its owner is the library that had libc, libstdc++ or other wrappers allocate",
		"for it; L counts by whose code called the allocator.",
		"M is MiB. Rates in rows: the last second; in the header: the last ten.",
		"The letter before a place is the owner library: the same in graphs and rows.",
		"In the header: cached, allocations whose stack was the remembered one;",
		"stacks, blocks whose stack is whole; agent, its memory and its part of a",
		"core; lost, events that were not counted. A tells more.",
	};

	page_add(p, ROLE_TITLE, "Words");
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		page_add(p, ROLE_NORMAL, "  %s", lines[i]);
	page_add(p, ROLE_NORMAL, "  Where a graph by library is %s, nobody knows of whom that was.", text_glyph(GLYPH_UNKNOWN));
	page_add(p, ROLE_NORMAL, "  >     the selected row; %s when the keys are elsewhere. %s found by /",
		 text_glyph(GLYPH_DOT), text_glyph(GLYPH_HIT));
}

struct view *view_help_new(struct app *a)
{
	struct page *p = xcalloc(1, sizeof *p);

	p->v = (struct view){ &ops, a };
	for (int f = 1; f < FOCUS_COUNT; f++) {
		if (f == FOCUS_CHOOSER)
			continue;
		page_add(p, ROLE_TITLE, "%s", focus_title((enum focus)f));
		for (int r = 1; r < REQ_COUNT; r++)
			if (request_info((enum request)r)->focus == (enum focus)f &&
			    (r != REQ_OUTPUT || a->views[VIEW_OUTPUT]))
				add_request(p, (enum request)r);
		page_add(p, ROLE_NORMAL, "%s", "");
	}
	add_words(p);
	return &p->v;
}
