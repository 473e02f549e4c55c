/* SPDX-License-Identifier: MIT */
#include "widgets/mouse.h"

#define SPOTS_MAX 256u /* more than a screen has; what comes later is not pressed */

static struct mouse_spot spots[SPOTS_MAX];
static size_t count;

void mouse_forget(void)
{
	count = 0;
}

static void add(const struct area *a, int y, int x, int h, int w, struct mouse_spot s)
{
	s.at = (struct area){ a->y + y, a->x + x, h, w };
	if (count < SPOTS_MAX)
		spots[count++] = s;
}

void mouse_action(const struct area *a, int y, int x, int width, enum action r)
{
	add(a, y, x, 1, width, (struct mouse_spot){ .action = r });
}

void mouse_rows(const struct area *a, int y, struct list *l, list_id_fn *id, void *arg, bool focus)
{
	add(a, y, 0, a->h - y, a->w,
	    (struct mouse_spot){ .list = l, .id = id, .arg = arg, .focus = focus });
}

void mouse_head(const struct area *a, int y, int x, int width, const struct table *t, int sort,
		int sorted)
{
	if (sort >= 0)
		add(a, y, x, 1, width,
		    (struct mouse_spot){ .table = t, .sort = sort, .sorted = sorted });
}

const struct mouse_spot *mouse_at(int y, int x)
{
	for (size_t i = count; i-- > 0;) {
		const struct area *a = &spots[i].at;
		if (y >= a->y && y < a->y + a->h && x >= a->x && x < a->x + a->w)
			return &spots[i];
	}
	return NULL;
}
