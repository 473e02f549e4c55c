/* SPDX-License-Identifier: MIT */
#include "widgets/columns.h"

#include "base/ascii.h"
#include "widgets/judgement.h"

#include <string.h>

static const struct {
	const char *title, *what;
} words[] = {
	{ "LIVE", "requested bytes not freed" },
	{ "LIVE NOW", "requested bytes not freed: now, not at the interval's end" },
	{ "BLOCKS", "live blocks; in a diff: growth since the base" },
	{ "BLOCKS+", "live blocks: growth since the base" },
	{ "TID", "the kernel's thread id" },
	{ "SELF", "the part of LIVE that the function itself allocated" },
	{ "CALLS/s", "allocations per second, of the last ten" },
	{ "BYTES/s", "allocated per second, of the last ten" },
	{ "CHURN/s", "allocated and freed again per second, of the last ten: allocated - |NET|" },
	{ "LIFE", "mean time from allocation to free; >: nothing freed for this long" },
	{ "IN ALL", "allocated since the start, freed or not" },
	{ "AGE", "median age of the live blocks" },
	{ "OLDEST", "age of the oldest live block" },
	{ "PROCS", "how many processes hold some of it; of all processes alone" },
	{ "BORN", "allocated after the base, alive now" },
	{ "GONE", "alive at the base, freed since" },
	{ "NET", "BORN - GONE; of two sessions: B - A" },
	{ "A", "live in A: a diff's first session, or the mean of its sessions" },
	{ "B", "live in B: a diff's second session, or the mean of its sessions" },
	{ JUDGEMENT_TITLE, "new, grown, shrunk, gone, same, noise (runs differ as much)" },
	{ "SHAPE", "how it grew: steady as of a leak, slowing as of a cache" },
	{ "/MIN", "NET per minute" },
	{ "GREW IN", "in how many intervals it grew" },
	{ "TREND", "live bytes over time" },
	{ "AT", "source line, or module" },
	{ "OWNER", "library that owns the memory" },
	{ "SHARE", "part of the whole" },
	{ "ALLOC", "allocated by the thread" },
	{ "FREED", "freed by the thread" },
	{ "%", "part of the whole" },
};

static struct hidden {
	enum view_id view;
	char name[16], title[32]; /* the view's, and the column's, as the user wrote them */
} list[COLUMNS_HIDDEN_MAX];
static size_t count;

const char *columns_what(const char *title)
{
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (ascii_same(words[i].title, title))
			return words[i].what;
	return NULL;
}

/* VIEW_COUNT: no view of that name has columns that can be hidden. */
static enum view_id view_named(const char *name)
{
	for (int v = 0; v < VIEW_COUNT; v++)
		if (view_info((enum view_id)v)->columns &&
		    ascii_same(view_info((enum view_id)v)->title, name))
			return (enum view_id)v;
	return VIEW_COUNT;
}

static struct hidden *find(enum view_id view, const char *title)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].view == view && ascii_same(list[i].title, title))
			return &list[i];
	return NULL;
}

bool columns_hidden(enum view_id view, const char *title)
{
	return find(view, title) != NULL;
}

static bool hide_as(enum view_id view, const char *name, const char *title, bool hide)
{
	struct hidden *h = find(view, title);

	if (h && !hide)
		*h = list[--count];
	if (h || !hide)
		return true;
	if (count == COLUMNS_HIDDEN_MAX || strlen(title) >= sizeof h->title)
		return false;
	h = &list[count++];
	h->view = view;
	snprintf(h->name, sizeof h->name, "%s", name);
	strcpy(h->title, title);
	return true;
}

bool columns_hide(enum view_id view, const char *title, bool hide)
{
	return hide_as(view, view_info(view)->title, title, hide);
}

bool columns_set(const char *name, const char *titles, char *why, size_t size)
{
	enum view_id view = view_named(name);
	char copy[1024], *save = NULL;

	if (view == VIEW_COUNT) {
		snprintf(why, size, "no view with columns \"%.40s\"", name);
		return false;
	}
	for (size_t i = count; i-- > 0;)
		if (list[i].view == view)
			list[i] = list[--count];
	snprintf(copy, sizeof copy, "%s", titles);
	for (char *t = strtok_r(copy, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		t += strspn(t, " ");
		for (size_t n = strlen(t); n && t[n - 1] == ' '; n--)
			t[n - 1] = 0;
		if (*t && (!columns_what(t) || !hide_as(view, name, t, true))) {
			snprintf(why, size, "no column \"%.40s\" that can be hidden", t);
			return false;
		}
	}
	return true;
}

static bool said_before(size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (list[k].view == list[i].view)
			return true;
	return false;
}

void columns_write(FILE *f)
{
	for (size_t i = 0; i < count; i++) {
		const char *comma = "";
		if (said_before(i))
			continue;
		fprintf(f, "hide %s = ", list[i].name);
		for (size_t k = i; k < count; k++)
			if (list[k].view == list[i].view) {
				fprintf(f, "%s%s", comma, list[k].title);
				comma = ", ";
			}
		fputc('\n', f);
	}
}
