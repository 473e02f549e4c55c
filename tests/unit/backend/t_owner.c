/* SPDX-License-Identifier: MIT
 *
 * t_owner.c - whose memory it is: the table of wrappers, and sums that follow names as they come.
 */
#include "check.h"
#include "made.h"
#include "owner.h"
#include "wrappers.h"

#define PROG 1
#define TILE 2
#define LIBC 3
#define CXX 4

/* main (1) > serve (2) > tile's decode (3) > std::map in tile (4) > libstdc++ (5); serve > strdup (6);
 * main > main's own malloc call (1); a truncated stack (7) > libc (8) */
static struct model *world(struct symbols *s)
{
	struct model *m = model_new();

	*s = (struct symbols){ .m = m };
	made_module(m, PROG, "/bin/prog", MTW_MODULE_MAIN);
	made_module(m, TILE, "/lib/libtile.so.2", 0);
	made_module(m, LIBC, "/lib/libc.so.6", MTW_MODULE_LIBC | MTW_MODULE_ALLOC);
	made_module(m, CXX, "/lib/libstdc++.so.6", MTW_MODULE_CXX);
	made_node(m, 1, 0, PROG, 0x10);
	made_node(m, 2, 1, PROG, 0x20);
	made_node(m, 3, 2, TILE, 0x30);
	made_node(m, 4, 3, TILE, 0x40);
	made_node(m, 5, 4, CXX, 0x50);
	made_node(m, 6, 2, LIBC, 0x60);
	made_truncated(m, 7, MTW_TRUNC_NO_CFI);
	made_node(m, 8, 7, LIBC, 0x60);
	made_slot(m, 1, 1, 0);
	made_slot(m, 2, 5, 0);
	made_slot(m, 3, 6, 0);
	made_slot(m, 4, 8, 0);
	made_slot(m, 5, 4, 0);
	made_counts(m, 1, 1, 100, 0, 0);
	made_counts(m, 2, 3, 3000, 1, 1000);
	made_counts(m, 3, 4, 40, 0, 0);
	made_counts(m, 4, 1, 7, 0, 0);
	made_counts(m, 5, 1, 500, 0, 0);
	made_tick_whole(m, &(struct tally){ 10, 3647, 1, 1000 }, 1000000000);
	return m;
}

static const struct owner *named(struct owners *o, const char *name)
{
	const struct owner *list;
	size_t n = owners_update(o, &list);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

static uint64_t held(struct owners *o, const char *name)
{
	const struct owner *w = named(o, name);

	return w ? live_bytes(&w->sum) : 0;
}

static void sums_hold(struct owners *o, const struct model *m)
{
	const struct owner *list;
	const struct point *points;
	struct tally all = { 0 };
	struct change change = { 0 };
	size_t n = owners_update(o, &list), count = model_history(m, &points);
	uint64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		all.alloc_blocks += list[i].sum.alloc_blocks;
		all.alloc_bytes += list[i].sum.alloc_bytes;
		all.free_blocks += list[i].sum.free_blocks;
		all.free_bytes += list[i].sum.free_bytes;
		change.born_bytes += list[i].change.born_bytes;
		change.gone_bytes += list[i].change.gone_bytes;
		last += list[i].series[count - 1];
		CHECK(i == 0 || live_bytes(&list[i - 1].sum) >= live_bytes(&list[i].sum));
	}
	CHECK(!memcmp(&all, &model_totals(m)->sum, sizeof all));
	CHECK_EQ(change.born_bytes - change.gone_bytes,
		 model_node(m, 0)->incl_change.born_bytes - model_node(m, 0)->incl_change.gone_bytes);
	CHECK_EQ(last, live_bytes(&all));
}

TEST(owners_while_names_arrive)
{
	struct symbols s;
	struct model *m = world(&s);
	struct owners *o = owners_new(m, &s);

	/* Nothing has a name: the runtime's modules pass on, others keep. */
	sums_hold(o, m);
	CHECK_EQ(held(o, "libtile.so.2"), 2500);
	CHECK_EQ(held(o, "prog"), 140);
	CHECK_EQ(held(o, "[unknown]"), 7);
	CHECK(!named(o, "libc.so.6"));
	CHECK(!named(o, "libstdc++.so.6"));
	/* A wrapper in libtile that turns out to be the map's: still tile's, for decode is outside. */
	made_symbol(&s, TILE, 0x40, "std::_Rb_tree::_M_insert");
	sums_hold(o, m);
	CHECK_EQ(held(o, "libtile.so.2"), 2500);
	/* decode itself is only a wrapper: its bytes move out to the program. */
	made_symbol(&s, TILE, 0x30, "xmalloc");
	made_find(&s, TILE, 0x30)->symbol.source = SYMBOL_TABLE;
	sums_hold(o, m);
	CHECK_EQ(held(o, "libtile.so.2"), 0);
	CHECK_EQ(held(o, "prog"), 2640);
	/* Its lines take that back: an inlined wrapper within a function that is none. */
	made_symbol(&s, TILE, 0x30, "xmalloc<tile_decode");
	sums_hold(o, m);
	CHECK_EQ(held(o, "libtile.so.2"), 2500);
	owners_free(o);
	model_free(m);
}

TEST(owners_follow_ticks_and_the_base)
{
	struct symbols s;
	struct model *m = world(&s);
	struct owners *o = owners_new(m, &s);

	sums_hold(o, m);
	char first = named(o, "libtile.so.2")->letter;
	CHECK_EQ(first, 'A');
	made_mark(m, 1, 0, 1000000000, 0, "one");
	made_cell(m, 1, 1, 1, 100);
	made_cell(m, 1, 2, 2, 2000);
	made_cell(m, 1, 3, 4, 40);
	made_cell(m, 1, 4, 1, 7);
	made_cell(m, 1, 5, 1, 500);
	made_cells_end(m, 1);
	CHECK_EQ(model_set_base(m, 1), 0);
	CHECK_EQ(named(o, "libtile.so.2")->change.born_bytes, 0);
	made_slot(m, 6, 1, 1);
	made_counts(m, 6, 9, 90000, 0, 0);
	made_counts(m, 2, 3, 3000, 3, 3000);
	made_tick_whole(m, &(struct tally){ 19, 93647, 3, 3000 }, 2000000000);
	sums_hold(o, m);
	CHECK_EQ(held(o, "prog"), 90140);
	CHECK_EQ(named(o, "prog")->change.born_bytes, 90000);
	CHECK_EQ(named(o, "libtile.so.2")->change.gone_bytes, 2000);
	CHECK_EQ(named(o, "libtile.so.2")->letter, first); /* no longer the heaviest */
	owners_free(o);
	model_free(m);
}

TEST(owners_by_pattern_site_and_caller)
{
	struct symbols s;
	struct model *m = world(&s);
	struct owners *o = owners_new(m, &s);
	uint32_t frame = 9;

	made_symbol(&s, TILE, 0x40, "std::_Rb_tree::_M_insert");
	made_symbol(&s, TILE, 0x30, "std::map::operator[]<tile_decode");
	made_symbol(&s, PROG, 0x20, "serve");
	made_symbol(&s, LIBC, 0x60, "strdup");
	CHECK_EQ(owners_site(o, 5, &frame), 3);
	CHECK_EQ(frame, 1); /* tile_decode, around the inlined map */
	CHECK_EQ(owners_site(o, 6, &frame), 2);
	CHECK_EQ(frame, 0);
	CHECK_STR(owners_of_node(o, 5)->name, "libtile.so.2");
	CHECK_STR(owners_of_node(o, 8)->name, "[unknown]");
	CHECK_EQ(owners_add_wrapper(o, "tile_*"), 0);
	sums_hold(o, m);
	CHECK_EQ(held(o, "prog"), 2640);
	CHECK_EQ(owners_direct(o, 1), true);
	sums_hold(o, m);
	CHECK_EQ(held(o, "libstdc++.so.6"), 2000);
	CHECK_EQ(held(o, "libc.so.6"), 47);
	CHECK_EQ(owners_direct(o, 0), false);
	sums_hold(o, m);
	CHECK_EQ(held(o, "libc.so.6"), 0);
	owners_free(o);
	model_free(m);
}

TEST(table_of_wrappers)
{
	static const struct { uint32_t flags; const char *function; bool is; } rows[] = {
		{ 0, "malloc", true },
		{ 0, "mallocated", false },
		{ 0, "operator new(unsigned long)", true },
		{ 0, "operator new[](unsigned long, std::nothrow_t const&)", true },
		{ 0, "std::vector<int, std::allocator<int> >::push_back(int&&)", true },
		{ 0, "void std::vector<int>::_M_realloc_insert<int const&>(int const&)", true },
		{ 0, "std::pair<std::_Rb_tree_iterator<int>, bool> std::_Rb_tree<int>::_M_insert_unique<int>(int&&)", true },
		{ 0, "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)", true },
		{ 0, "std::vector<int> tile::make<int>(std::string const&)", false },
		{ 0, "tile::load(std::vector<int>)", false },
		{ 0, "tile::(anonymous namespace)::load(std::vector<int>)", false },
		{ 0, "tile::operator<(std::string const&)", false },
		{ 0, "tile::Name::operator std::string() const", false },
		{ 0, "stdx::make()", false },
		{ 0, "g_malloc0", true },
		{ 0, "xmalloc", true },
		{ 0, "PyMem_Malloc", true },
		{ 0, "PyObject_Malloc", true },
		{ 0, "PyDict_New", false },
		{ 0, "sqlite3MemMalloc", true },
		{ 0, "sqlite3Malloc", true },
		{ 0, "sqlite3_exec", false },
		{ 0, "__rust_alloc", true },
		{ 0, "alloc::raw_vec::RawVec<T,A>::grow_one", true },
		{ 0, "core::Engine::load()", false },
		{ 0, "strdup", false }, /* the program's own: only the C library's is known */
		{ 0, NULL, false },
		{ MTW_MODULE_LIBC, "strdup", true },
		{ MTW_MODULE_LIBC, "vasprintf", true },
		{ MTW_MODULE_LIBC, "getline", true },
		{ MTW_MODULE_LIBC, "_IO_file_doallocate", true },
		{ MTW_MODULE_LIBC, NULL, true },
		{ MTW_MODULE_CXX, "std::locale::classic()", true },
		{ MTW_MODULE_CXX, NULL, true },
		{ MTW_MODULE_AGENT, NULL, true },
	};
	struct wrappers w = { 0 };

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		bool is = wrappers_match(&w, rows[i].flags, rows[i].function, NULL);
		if (is != rows[i].is)
			printf("  %s in a module of flags %u\n", rows[i].function ? rows[i].function : "(no name)", rows[i].flags);
		CHECK_EQ(is, rows[i].is);
	}
	CHECK_EQ(wrappers_add(&w, ""), -1);
	CHECK_EQ(wrappers_add(&w, "tile_*alloc"), 0);
	CHECK(wrappers_match(&w, 0, "tile_page_alloc", NULL));
	CHECK(!wrappers_match(&w, 0, "tile_page_allocate", NULL));
	wrappers_release(&w);
}
