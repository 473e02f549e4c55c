/* SPDX-License-Identifier: MIT
 *
 * dispatch.c - turns a key or a click into an action (app/keys/actions.c).
 */
#include "app/keys/keys.h"
#include "app/actions.h"
#include "widgets/mouse.h"
#include "widgets/status.h"
#include "screen/term.h"

#define WHEEL_ROWS 3

static unsigned sort_by(struct app *a, const struct mouse_spot *s)
{
	struct view *v = front_view(a);

	if (s->sort == s->sorted)
		return dispatch_action(a, ACT_REVERSE);
	if (!v->ops->sort)
		return 0;
	*v->ops->sort(v) = s->sort;
	return VIEW_RESORT;
}

static unsigned select_row(struct app *a, const struct mouse_spot *s, int line)
{
	size_t row = s->list->top + (size_t)line;
	unsigned bits = VIEW_DRAW;

	/* The user selects from now on. */
	front_view(a)->ops->action(front_view(a), ACT_NONE);
	if (!s->focus)
		bits |= dispatch_action(a, ACT_FOCUS_NEXT);
	if (row >= s->list->count)
		return bits;
	if (s->focus && row == s->list->at)
		return dispatch_key(a, KEY_RETURN);
	list_select(s->list, row, s->id, s->arg);
	return bits;
}

static unsigned click(struct app *a, int y, int x)
{
	const struct mouse_spot *s = mouse_at(y, x);

	if (!s)
		return 0;
	if (s->action)
		return dispatch_action(a, s->action);
	return s->list ? select_row(a, s, y - s->at.y) : sort_by(a, s);
}

static unsigned wheel(struct app *a, int key)
{
	unsigned bits = 0;

	for (int i = 0; i < WHEEL_ROWS; i++)
		bits |= dispatch_key(a, key);
	return bits;
}

unsigned dispatch_key(struct app *a, int key)
{
	struct view *v = front_view(a);
	int y, x;

	status_key();
	if (key == KEY_WHEEL_UP || key == KEY_WHEEL_DOWN)
		return wheel(a, key == KEY_WHEEL_UP ? KEY_UP_ : KEY_DOWN_);
	if (key == KEY_CLICK) {
		term_clicked(&y, &x);
		return click(a, y, x);
	}
	enum action r = action_of_key(v->ops->foci(v), key);
	return r ? dispatch_action(a, r) : 0;
}
