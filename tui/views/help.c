/* SPDX-License-Identifier: MIT
 *
 * help.c - the help page: which key answers which question, the keys of the current view, the
 * meaning of the verdict's words and of the columns, then all keys. The keys come from the table of
 * actions, with the user's own bindings.
 */
#include "views/views.h"
#include "widgets/page.h"
#include "screen/term.h"

#include <stdlib.h>
#include <string.h>

#define FOCI_MAX 4
#define NARROW 60

struct help {
	struct page p;                 /* first */
	enum focus here[FOCI_MAX + 1]; /* of the view below; FOCUS_NONE ends */
	int columns;                   /* that the lines were made for */
	bool output;                   /* Output is a view */
	help_line_fn *of_diff;         /* see views/views.h */
};

static int left_width(void)
{
	return term_columns() < NARROW ? 10 : 23;
}

/* Replaces each <name> of an action in the text by the user's first key for it. Returns out. */
static const char *with_keys(const char *text, char *out, size_t size)
{
	char name[32], key[16];
	size_t n = 0;
	enum action r;

	while (*text && n + sizeof key < size) {
		const char *end = *text == '<' ? strchr(text, '>') : NULL;
		snprintf(name, sizeof name, "%.*s", end ? (int)(end - text - 1) : 0, text + 1);
		if (end && action_named(name, &r)) {
			n += (size_t)snprintf(out + n, size - n, "%s",
					      key_label(key, action_key(r, 0)));
			text = end + 1;
		} else {
			out[n++] = *text++;
		}
	}
	out[n] = 0;
	return out;
}

/* The words are ASCII, as those of the table are. */
static void add_pair(struct page *p, const char *left, const char *words)
{
	int columns = left_width(), room = term_columns() - columns - 3;
	char out[400];
	const char *text = with_keys(words, out, sizeof out);

	if (text_width(left) > columns) {
		page_add(p, ROLE_NORMAL, " %s", left);
		left = "";
	}
	do {
		size_t n = draw_words_fit(text, room);
		int pad = columns - text_width(left);
		page_add(p, ROLE_NORMAL, " %s%*s %.*s", left, pad > 0 ? pad : 0, "", (int)n, text);
		text += n + strspn(text + n, " ");
		left = "";
	} while (*text);
}

static void add_title(struct page *p, const char *title)
{
	if (p->count)
		page_add(p, ROLE_NORMAL, "%s", "");
	page_add(p, ROLE_TITLE, "%s", title);
}

#define QUESTIONS "Questions, and the keys that answer them"

struct pair {
	const char *left, *words;
};

static void add_list(struct page *p, const char *title, const struct pair *list, size_t count)
{
	add_title(p, title);
	for (size_t i = 0; i < count; i++)
		add_pair(p, list[i].left, list[i].words);
}

static void add_questions(struct page *p)
{
	static const struct pair list[] = {
		{ "Does it grow?", "Line 2 has a verdict; <overview> Overview: rate by call site" },
		{ "Who holds it?", "<sites> Sites, <libs> Libs, <threads> Threads; <tree> Tree, "
				   "<invert> inverts it" },
		{ "Which process?",
		  "<processes> lists all; line 2 names one that grows or holds more" },
		{ "What is new?",
		  "<mark> sets a mark, <diff> shows BORN and GONE; <marks> compares marks" },
		{ "Is it old?",
		  "<older> shows only old blocks; <detail>: a row's ages, sizes, stack" },
		{ "Is it busy?", "<churn> sorts call sites by calls/s and shows LIFE" },
		{ "Why is RSS larger?", "<memory> Memory: the parts of RSS, and which part grew" },
		{ "What was it then?",
		  "<instant-back> <instant-on> back and forward in time; <instant-peak>: peak; "
		  "<escape>: live" },
		{ "Where is X?",
		  "<search> searches, <next-hit> next hit; <filter> hides rows without a match" },
	};

	add_list(p, QUESTIONS, list, sizeof list / sizeof *list);
}

static void add_questions_of_diff(struct page *p)
{
	static const struct pair list[] = {
		{ "What changed?", "<sites> Sites, <libs> Libs; <tree> Tree, <invert> inverts it: "
				   "the largest growth first; <reverse>: the largest loss" },
		{ "Is it noise?",
		  "KIND says so; the lines below the tree and <detail> have the amounts" },
		{ "What is new?", "<filter> with the word new, or grew" },
		{ "Where is X?",
		  "<search> searches, <next-hit> next hit; <filter> hides rows without a match" },
		{ "Who must see it?", "<save> writes a page to mail (.html), text or JSON" },
	};

	add_list(p, QUESTIONS, list, sizeof list / sizeof *list);
}

/* NULL = the action does nothing here. */
static const char *line_of(const struct help *h, enum action r)
{
	if (h->of_diff)
		return h->of_diff(r);
	return r != ACT_OUTPUT || h->output ? action_info(r)->help : NULL;
}

static void add_focus(struct help *h, enum focus f)
{
	bool titled = false;
	char keys[96];

	for (int r = 1; r < ACT_COUNT; r++) {
		const char *line =
			action_info((enum action)r)->focus == f ? line_of(h, (enum action)r) : NULL;
		if (!line)
			continue;
		if (!titled)
			add_title(&h->p, focus_title(f));
		titled = true;
		add_pair(&h->p, action_keys((enum action)r, keys, sizeof keys), line);
	}
}

static bool is_here(const struct help *h, enum focus f)
{
	for (const enum focus *here = h->here; *here != FOCUS_NONE; here++)
		if (*here == f)
			return true;
	return false;
}

/* The view's own keys, without the familiar list movements. */
static void add_keys_here(struct help *h)
{
	for (const enum focus *here = h->here; *here != FOCUS_NONE; here++)
		if (*here != FOCUS_LIST && *here != FOCUS_TEXT)
			add_focus(h, *here);
}

static void add_other_keys(struct help *h)
{
	for (int f = 1; f < FOCUS_COUNT; f++)
		if (f != FOCUS_CHOOSER &&
		    (f == FOCUS_LIST || f == FOCUS_TEXT || !is_here(h, (enum focus)f)))
			add_focus(h, (enum focus)f);
}

static void add_verdicts(struct page *p)
{
	static const struct pair list[] = {
		{ "GROWING", "at a steady rate, as a leak does; mostly steady: at least half of "
			     "the growth is steady" },
		{ "FILLING", "ever more slowly, as a cache that fills" },
		{ "GREW ..., then not", "it grew for a time and has stopped" },
		{ "STEP", "all at once, in the interval that ended at the given time" },
		{ "UP AND DOWN", "a saw-tooth; its growth is the rise of its low points" },
		{ "SHRINKING, FLAT", "less, or as before: a change below 4K or 0.1 % of LIVE (the "
				     "larger) does not count" },
		{ "AS EXPECTED", "nearly all growth is at call sites that <expect> or --suppress "
				 "marks as expected" },
		{ "RSS GROWS",
		  "the process grows, its heap not at all or far less; Memory shows what grows" },
		{ "needs 20 s more",
		  "no verdict yet: it needs more of the agent's samples, which all viewers share" },
		{ "95 % of it: X", "the call site with most of the growth" },
	};

	add_list(p, "What line 2 says", list, sizeof list / sizeof *list);
}

static void add_words_of_diff(struct page *p)
{
	static const struct pair list[] = {
		{ "GREW, SHRANK", "B holds more than A, or less; which call site changed most" },
		{ "SAME", "no library, call site or stack changed, or all within the noise" },
		{ "A, B", "live memory of A and of B; of several sessions a side, the mean" },
		{ "NET", "B - A" },
		{ "BLOCKS+", "B's live blocks - A's" },
		{ "KIND", "new: A allocated nothing there; gone: B did not; grown, shrunk, same" },
		{ "noise", "runs of one side differ as much. Noise is judged from two sessions a "
			   "side on, better three: memtop open --diff A1 A2 A3 -- B1 B2 B3. "
			   "Else KIND has no noise" },
		{ "size> in a filter", "keeps call paths of which B holds more" },
		{ "owner", "the library whose memory it is: libc, libstdc++ and other wrappers are "
			   "skipped. <direct> counts by direct caller instead" },
		{ "M", "MiB" },
		{ "~", "an estimate: a sampled figure" },
	};

	add_list(p, "Words", list, sizeof list / sizeof *list);
}

static void add_terms(struct page *p)
{
	static const struct pair list[] = {
		{ "LIVE", "requested bytes not freed" },
		{ "BORN", "allocated after the base, alive now" },
		{ "GONE", "alive at the base, freed since" },
		{ "NET", "BORN - GONE, booked to the stack that allocated" },
		{ "SELF", "the part of LIVE that the function itself allocated" },
		{ "AGE, OLDEST", "median age of the live blocks; age of the oldest" },
		{ "LIFE", "mean time from an allocation to its free" },
		{ "SHAPE", "how a site grew: steady (a leak), slowing (a cache that fills), step "
			   "(once), saw-tooth (up and down). Of a saw-tooth, NET and /MIN are the "
			   "rise of its low points." },
		{ "GREW IN", "in how many intervals the site grew" },
		{ "size> in a filter", "keeps call paths that hold more; age> and thread: count "
				       "only such blocks of each path" },
		{ "owner", "the library whose memory it is: libc, libstdc++ and other wrappers are "
			   "skipped. <direct> counts by direct caller instead. Graphs and rows "
			   "show the same letter." },
		{ "M", "MiB" },
		{ "/s", "a second: the mean of the last ten, on every screen" },
		{ "~", "an estimate: a sampled figure, or the agent's cost" },
		{ "in the header", "cached: allocations whose stack was remembered; stacks: blocks "
				   "whose stack is whole; agent: its memory and its share of "
				   "the cpu time; lost: events not counted. More: <agent>" },
	};

	add_list(p, "Words", list, sizeof list / sizeof *list);
	add_pair(p, text_glyph(GLYPH_UNKNOWN), "in a graph by library: owner unknown");
}

static void add_signs(struct page *p, bool graphs)
{
	add_pair(p, ">", "the selected row");
	if (graphs)
		add_pair(p, text_glyph(GLYPH_DOT), "the selected row while keys go elsewhere");
	add_pair(p, text_glyph(GLYPH_HIT), "found by <search>");
}

static void make(struct help *h)
{
	h->columns = term_columns();
	page_clear(&h->p);
	(h->of_diff ? add_questions_of_diff : add_questions)(&h->p);
	add_keys_here(h);
	if (h->of_diff) {
		add_words_of_diff(&h->p);
	} else {
		add_verdicts(&h->p);
		add_terms(&h->p);
	}
	add_signs(&h->p, !h->of_diff);
	add_other_keys(h);
}

static void refresh(struct view *v, bool resort)
{
	(void)v;
	(void)resort;
}

static void draw(struct view *v, const struct area *a)
{
	struct help *h = (struct help *)v;

	if (h->columns != term_columns())
		make(h);
	page_draw(v, a);
}

static const struct view_ops ops = {
	.title = "Help",
	.foci = page_foci,
	.refresh = refresh,
	.draw = draw,
	.action = page_action,
	.search = page_search,
	.next_hit = page_next_hit,
	.free = page_free,
};

struct view *view_help_new(struct ui *ui, const enum focus *here, bool output,
			   help_line_fn *of_diff)
{
	struct help *h = xcalloc(1, sizeof *h);

	h->p.v = (struct view){ &ops, ui };
	for (size_t i = 0; here && i < FOCI_MAX && here[i] != FOCUS_NONE; i++)
		h->here[i] = here[i];
	h->output = output;
	h->of_diff = of_diff;
	make(h);
	return &h->p.v;
}
