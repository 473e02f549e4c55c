/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "widgets/prompt.h"
#include "widgets/list_view.h"

static uint64_t ids[100];

static uint64_t id_of(void *arg, size_t i)
{
	(void)arg;
	return ids[i];
}

static void number(size_t n)
{
	for (size_t i = 0; i < n; i++)
		ids[i] = i + 1;
}

static void swap(size_t i, size_t j)
{
	uint64_t t = ids[i];

	ids[i] = ids[j];
	ids[j] = t;
}

TEST(selection_follows_the_row_and_keeps_its_line)
{
	struct list l = { .height = 10 };

	number(50);
	list_update(&l, 50, id_of, NULL, NULL);
	list_select(&l, 20, id_of, NULL); /* line 9 */
	CHECK_EQ(l.at - l.top, 9);
	swap(20, 30);
	list_update(&l, 50, id_of, NULL, NULL);
	CHECK_EQ(l.at, 30);
	CHECK_EQ(l.id, 21);
	CHECK_EQ(l.at - l.top, 9);
}

TEST(an_untouched_list_stays_at_its_first_row)
{
	struct list l = { .height = 10 };

	number(50);
	list_update(&l, 50, id_of, NULL, NULL);
	swap(0, 7);
	list_update(&l, 50, id_of, NULL, NULL);
	CHECK_EQ(l.at, 0);
	CHECK_EQ(l.id, 8);
}

/* Else the row that becomes first would lie above the screen. */
TEST(the_first_row_by_request_is_the_first_after_a_sort_too)
{
	struct list l = { .height = 10 };

	number(50);
	list_update(&l, 50, id_of, NULL, NULL);
	list_action(&l, ACT_LAST, id_of, NULL);
	list_action(&l, ACT_FIRST, id_of, NULL);
	swap(0, 7);
	list_update(&l, 50, id_of, NULL, NULL);
	CHECK_EQ(l.at, 0);
	CHECK_EQ(l.top, 0);
	CHECK_EQ(l.id, 8);
	list_action(&l, ACT_DOWN, id_of, NULL);
	uint64_t chosen = l.id;
	swap(1, 9);
	list_update(&l, 50, id_of, NULL, NULL);
	CHECK_EQ(l.at, 9);
	CHECK_EQ(l.id, chosen);
}

TEST(rows_visited_by_down_are_distinct_while_neighbours_swap)
{
	struct list l = { .height = 10 };
	bool seen[101] = { false };

	number(60);
	list_update(&l, 60, id_of, NULL, NULL);
	for (int i = 0; i < 20; i++) {
		/* values change every tick, the order does not within three seconds of a key */
		list_action(&l, ACT_DOWN, id_of, NULL);
		CHECK(!seen[l.id]);
		seen[l.id] = true;
		list_update(&l, 60, id_of, NULL, NULL);
	}
	CHECK_EQ(l.at, 20);
}

TEST(a_row_that_went_leaves_the_selection_on_the_line)
{
	struct list l = { .height = 10 };

	number(5);
	list_update(&l, 5, id_of, NULL, NULL);
	list_select(&l, 4, id_of, NULL);
	list_update(&l, 3, id_of, NULL, NULL);
	CHECK_EQ(l.at, 2);
	list_update(&l, 0, id_of, NULL, NULL);
	CHECK_EQ(l.at, 0);
}

TEST(movement_stays_within_the_rows)
{
	struct list l = { .height = 10 };

	number(25);
	list_update(&l, 25, id_of, NULL, NULL);
	static const struct {
		enum action r;
		size_t at;
	} steps[] = {
		{ ACT_UP, 0 },    { ACT_DOWN, 1 },    { ACT_PAGE_DOWN, 10 }, { ACT_HALF_DOWN, 15 },
		{ ACT_LAST, 24 }, { ACT_DOWN, 24 },   { ACT_PAGE_UP, 15 },   { ACT_HALF_UP, 10 },
		{ ACT_FIRST, 0 }, { ACT_PAGE_UP, 0 },
	};
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		CHECK(list_action(&l, steps[i].r, id_of, NULL));
		CHECK_EQ(l.at, steps[i].at);
		CHECK(l.top <= l.at && l.at < l.top + 10);
	}
	CHECK(!list_action(&l, ACT_MARK, id_of, NULL));
}

static enum prompt_event last;
static char last_text[64];

static void take(void *arg, enum prompt_event e, const char *text)
{
	(void)arg;
	last = e;
	snprintf(last_text, sizeof last_text, "%s", text);
}

TEST(prompt_edits_by_characters)
{
	struct prompt p;

	prompt_line(&p, "Name: ", "aé", take, NULL);
	prompt_key(&p, 'z');
	CHECK_STR(last_text, "aéz");
	prompt_key(&p, KEY_BS);
	prompt_key(&p, KEY_BS);
	CHECK_STR(last_text, "a");
	prompt_key(&p, KEY_HOME_);
	prompt_key(&p, 0x65e5); /* a wide one */
	CHECK_STR(last_text, "日a");
	prompt_key(&p, KEY_RETURN);
	CHECK_EQ(last, PROMPT_DONE);
	CHECK(!p.open);
}

TEST(what_is_typed_takes_the_place_of_an_offer)
{
	static const struct {
		int keys[3];
		const char *want;
	} cases[] = {
		{ { 'x', 'y' }, "xy" },           { { KEY_BS, 'x' }, "x" },
		{ { KEY_LEFT_, 'x' }, "offexr" }, { { KEY_END_, 'x' }, "offerx" },
		{ { KEY_RETURN }, "offer" },      { { 'U' - '@', 'x' }, "x" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct prompt p;
		prompt_line(&p, "Name: ", "offer", take, NULL);
		prompt_offers(&p);
		for (size_t k = 0; k < 3 && cases[i].keys[k]; k++)
			prompt_key(&p, cases[i].keys[k]);
		CHECK_STR(last_text, cases[i].want);
	}
}

TEST(question_takes_only_its_answers)
{
	struct prompt p;

	prompt_ask(&p, "Delete?", "y", take, NULL);
	last_text[0] = 0;
	prompt_key(&p, 'n');
	CHECK(p.open);
	prompt_key(&p, 'y');
	CHECK_EQ(last, PROMPT_DONE);
	CHECK_STR(last_text, "y");
	prompt_ask(&p, "Delete?", "y", take, NULL);
	prompt_key(&p, KEY_ESCAPE);
	CHECK_EQ(last, PROMPT_CANCELLED);
}

TEST(a_full_prompt_takes_no_more)
{
	struct prompt p;

	prompt_line(&p, "", "", take, NULL);
	for (int i = 0; i < 2 * PROMPT_MAX; i++)
		prompt_key(&p, 0x1f600);
	CHECK_EQ(p.len, PROMPT_MAX);
}
