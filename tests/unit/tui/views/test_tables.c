/* SPDX-License-Identifier: MIT
 *
 * test_tables.c - the tables of all views with a tab.
 */
#include "check.h"

#include "views/table_view.h"
#include "views/views.h"
#include "widgets/columns.h"

static void check_table(const struct table *t)
{
	size_t flexible = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct column *c = t->columns[i].is;
		flexible += !c->width && !t->columns[i].width;
		CHECK(c->own || c->value);
		/* the page of columns and the configuration file know it */
		CHECK(!t->columns[i].rank || columns_what(c->title));
		for (size_t k = 0; k < i; k++) {
			const struct column *other = t->columns[k].is;
			if (c->sort >= 0 && other->sort == c->sort)
				printf("  %s: %s and %s are one order\n", view_info(t->view)->title,
				       other->title, c->title);
			CHECK(c->sort < 0 || other->sort != c->sort);
			CHECK(strcmp(c->title, other->title));
		}
	}
	CHECK_EQ(flexible, 1);
	CHECK(t->count <= TABLE_COLUMNS_MAX);
}

TEST(each_column_has_its_order_and_its_meaning)
{
	static struct ui ui = { .output_fd = -1 };
	/* one where the view has no other; by churn, and of All, beside those of an interval */
	static const size_t more[VIEW_COUNT] = {
		[VIEW_OVERVIEW] = 2,
		[VIEW_TREE] = TABLE_SESSIONS + 3,
		[VIEW_SITES] = TABLE_SESSIONS + 5,
		[VIEW_LIBS] = TABLE_SESSIONS + 1,
	};
	size_t tables = 0;

#define X(action, id, name, ...)                                                                   \
	{                                                                                          \
		struct view *v = view_##name##_new(&ui);                                           \
		size_t n = !v || !v->ops->tables ? 0 : v->ops->shows ? more[VIEW_##id] : 1;        \
		for (size_t i = 0; i < n; i++) {                                                   \
			CHECK_EQ(v->ops->tables[i].view, VIEW_##id);                               \
			check_table(&v->ops->tables[i]);                                           \
		}                                                                                  \
		tables += n;                                                                       \
	}
	VIEWS(X, )
#undef X
	CHECK_EQ(tables, 3 * TABLE_SESSIONS + 13);
}
