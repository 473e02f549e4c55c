/* SPDX-License-Identifier: MIT
 *
 * expect.c - x marks a call site as expected, so that it is no finding. The session stores the
 * mark; w NAME.supp writes the marks as a rules file for other runs.
 */
#include "app/actions.h"

#include "owners/expected.h"

unsigned expect_site(struct ui *ui, const struct site *s)
{
	char key[EXPECTED_KEY_MAX], rule[2 * EXPECTED_KEY_MAX];
	bool on = !(s->flags & ROW_EXPECTED);

	if (!query_site_key(ui->shown.query, s->id, key))
		return VIEW_DRAW;
	if (s->flags & ROW_PENDING) { /* a rule needs the site's name */
		status_error("not marked: its name is still loading; try again");
		return VIEW_DRAW;
	}
	expected_rule_of(rule, key);
	if (watch_expect(ui->shown.watch, rule, on))
		status_error("not marked: %u suppressions are the limit", EXPECTED_MAX);
	else if (watch_target(ui->shown.watch)->kind == TARGET_FILE)
		status_say("%s: %s; w NAME.supp saves it", key, on ? "expected" : "not expected");
	else
		status_say("%s: %s", key, on ? "expected" : "not expected");
	return VIEW_REFRESH;
}

int expect_file(struct app *a, const char *path)
{
	struct expected *e = expected_new();
	const struct expected_rule *rules;
	struct err wrong = { 0 }, err = { 0 };
	size_t n = 0, refused = 0;

	if (expected_read(e, path, &wrong, &err) == 0)
		n = expected_rules(e, &rules);
	for (size_t i = 0; i < n; i++)
		refused += watch_expect(a->ui.shown.watch, rules[i].text, rules[i].on) != 0;
	expected_free(e);
	front_act(a, VIEW_RESORT);
	if (*err.text)
		return status_error("%s", err.text);
	if (refused)
		return status_error("%s: %zu suppressions over the limit are not used", path,
				    refused);
	if (*wrong.text)
		return status_error("%s", wrong.text);
	status_say("suppressions: %zu from %s", n, path);
	return 0;
}

int expect_save(struct ui *ui, const char *path)
{
	const struct expected *e = watch_expected(ui->shown.watch);
	const struct expected_rule *rules;
	struct err err = { 0 };

	if (!expected_rules(e, &rules))
		return status_error("not saved: no call site is marked as expected (x marks one)");
	if (expected_write(e, path, &err))
		return status_error("%s", err.text);
	status_say("saved: %s", path);
	return 0;
}
