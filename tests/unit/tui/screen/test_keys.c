/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "screen/keys.h"

TEST(every_key_string_names_keys)
{
	for (int r = 1; r < ACT_COUNT; r++)
		/* never by a slip */
		CHECK(action_key((enum action)r, 0) != KEY_NOTHING || r == ACT_DETACH);
}

TEST(no_two_requests_of_a_focus_share_a_key)
{
	int shared = 0;

	for (int a = 1; a < ACT_COUNT; a++)
		for (int b = a + 1; b < ACT_COUNT; b++) {
			const struct action_info *x = action_info((enum action)a),
						 *y = action_info((enum action)b);
			if (x->focus != y->focus)
				continue;
			for (size_t i = 0; action_key((enum action)a, i); i++)
				for (size_t j = 0; action_key((enum action)b, j); j++)
					if (action_key((enum action)a, i) ==
					    action_key((enum action)b, j)) {
						printf("  %s and %s share key %d\n", x->name,
						       y->name, action_key((enum action)a, i));
						shared++;
					}
		}
	CHECK_EQ(shared, 0);
}

TEST(every_request_has_help_and_a_title)
{
	for (int r = 1; r < ACT_COUNT; r++) {
		CHECK(action_info((enum action)r)->help[0]);
		CHECK(focus_title(action_info((enum action)r)->focus) != NULL);
	}
}

/* A row's place in the list of views is the digit of its tab and the number of its action. */
TEST(each_view_has_the_digit_of_its_tab)
{
	for (int v = 0; v < VIEW_COUNT; v++) {
		const struct view_info *i = view_info((enum view_id)v);
		enum action r = action_of_view((enum view_id)v);
		CHECK_EQ(action_key(r, 0), '1' + v);
		CHECK_EQ(view_of_action(r), v);
		CHECK(!strncmp(action_info(r)->help, i->title, strlen(i->title)));
		CHECK(!i->of_diff || !strncmp(i->of_diff, i->title, strlen(i->title)));
		CHECK(strlen(i->brief) <= 5); /* eight of them leave room for a caption in 80 */
	}
	CHECK_EQ(view_of_action(ACT_MARK), VIEW_COUNT);
	CHECK_EQ(view_of_action(ACT_NONE), VIEW_COUNT);
}

TEST(inner_focus_goes_before_outer_and_global_comes_last)
{
	static const enum focus graph[] = { FOCUS_GRAPH, FOCUS_NONE };
	static const enum focus tree[] = { FOCUS_TREE, FOCUS_LIST, FOCUS_NONE };

	CHECK_EQ(action_of_key(graph, '+'), ACT_ZOOM_IN_TIME);
	CHECK_EQ(action_of_key(tree, '+'), ACT_TREE_MORE);
	CHECK_EQ(action_of_key(tree, 'j'), ACT_DOWN);
	CHECK_EQ(action_of_key(graph, 'j'), ACT_NONE);
	CHECK_EQ(action_of_key(graph, 's'), ACT_MARK);
	CHECK_EQ(action_of_key(tree, KEY_FN + 1), ACT_HELP);
}

/* The user's own keys: all or none of a line counts, and no two of one focus share one. */
TEST(keys_of_the_user)
{
	static const enum focus list[] = { FOCUS_LIST, FOCUS_NONE };
	char why[160], written[64];

	CHECK(!action_set_keys(ACT_MARK, "m <Nope>", why, sizeof why));
	CHECK_STR(why, "\"<Nope>\" is not a key");
	CHECK(!action_set_keys(ACT_MARK, "d", why, sizeof why));
	CHECK_STR(why, "d is already the key of :diff");
	CHECK(!action_set_keys(ACT_MARK, "1 2 3 4 5 6 7 8", why, sizeof why));
	CHECK_EQ(action_of_key(list, 's'), ACT_MARK);
	CHECK(action_set_keys(ACT_MARK, "m  <F2> ^G", why, sizeof why));
	CHECK_EQ(action_of_key(list, 'm'), ACT_MARK);
	CHECK_EQ(action_of_key(list, KEY_FN + 2), ACT_MARK);
	CHECK_EQ(action_of_key(list, 's'), ACT_NONE);
	CHECK_STR(action_keys_written(ACT_MARK, written, sizeof written), "m <F2> ^G");
	CHECK(action_set_keys(ACT_MARK, "", why, sizeof why));
	CHECK_EQ(action_of_key(list, 'm'), ACT_NONE);
	CHECK(action_set_keys(ACT_MARK, "s", why, sizeof why));
	CHECK(action_set_keys(ACT_UP, "s", why, sizeof why)); /* an inner focus may */
	CHECK_EQ(action_of_key(list, 's'), ACT_UP);
	CHECK(action_set_keys(ACT_UP, "<Up> k", why, sizeof why));
	for (int r = 1; r < ACT_COUNT; r++)
		CHECK_STR(action_keys_written((enum action)r, written, sizeof written),
			  action_info((enum action)r)->keys);
}

TEST(names_of_keys)
{
	static const struct {
		const char *name;
		int key;
	} table[] = {
		{ "s", 's' },
		{ "^L", 12 },
		{ "<F5>", KEY_FN + 5 },
		{ "<F12>", KEY_FN + 12 },
		{ "<Up>", KEY_UP_ },
		{ "<Space>", ' ' },
		{ "<", '<' },
		{ "<F25>", KEY_NOTHING },
		{ "<Nope>", KEY_NOTHING },
		{ "ab", KEY_NOTHING },
	};

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		CHECK_EQ(key_parse(table[i].name, strlen(table[i].name)), table[i].key);
}
