/* SPDX-License-Identifier: MIT
 *
 * test_maps.c - the identity of modules; a reused address range is another module.
 */
#include "check.h"
#include "base/prim_linux.h"
#include "base/types.h"
#include "modules/maps.h"
#include "modules/maps_file.h"
#include "modules/segments.h"

#include <dlfcn.h>
#include <memtop/wire.h>

#define LIBRARY "libz.so.1"
#define OTHER "libexpat.so.1"

static struct module *of(const void *p)
{
	return mt_maps_find((uintptr_t)p);
}

TEST(the_program_and_libc)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	mt_maps_init();
	CHECK(len > 0);
	self[len] = '\0';
	struct module *program = of((void *)&mt_maps_init);
	struct module *libc = of(dlsym(RTLD_DEFAULT, "puts"));
	CHECK(program && libc);
	CHECK_STR(program->path, self);
	CHECK(program->xflags & MTW_MODULE_MAIN);
	CHECK(!(program->xflags & MTW_MODULE_AGENT));
	CHECK(libc->xflags & MTW_MODULE_LIBC);
	CHECK(!(libc->xflags & MTW_MODULE_MAIN));
	CHECK(program->build_id_len == 20 && libc->build_id_len == 20);
	CHECK(program->eh_frame_hdr >= program->start && program->eh_frame_hdr < program->end);
	CHECK(libc->bias == libc->start);
	CHECK(of((void *)&mt_maps_init) == program);
	CHECK(mt_maps_find(64) == NULL);
	CHECK(mt_maps_module(program->id) == program);
	CHECK(mt_maps_module(mt_maps_count()) == NULL);
}

TEST(refresh_meets_all_that_is_loaded)
{
	mt_maps_init();
	CHECK(dlopen(LIBRARY, RTLD_NOW));
	mt_maps_refresh();
	bool met = false;
	for (uint32_t i = 0; i < mt_maps_count(); i++)
		met |= strstr(mt_maps_module(i)->path, LIBRARY) != NULL;
	CHECK(met);
	uint32_t count = mt_maps_count();
	mt_maps_refresh();
	CHECK_EQ(mt_maps_count(), count);
}

static struct module *load(const char *name, const char *symbol, void **handle)
{
	*handle = dlopen(name, RTLD_NOW);
	CHECK(*handle);
	return of(dlsym(*handle, symbol));
}

/* The same file at the same place again and again: a module of its own each time. */
TEST(reloads_are_other_modules)
{
	void *handle;
	int same_place = 0;
	struct module *last = NULL;

	mt_maps_init();
	for (int i = 0; i < 20; i++) {
		struct module *m = load(LIBRARY, "zlibVersion", &handle);
		CHECK(m && m != last);
		CHECK(!(m->xflags & MTW_MODULE_GONE));
		if (last) {
			CHECK(m->id > last->id);
			CHECK(last->xflags & MTW_MODULE_GONE);
			CHECK(last->xunloaded_ns != 0);
			same_place += last->start == m->start;
		}
		uint32_t generation = mt_maps_generation();
		mt_maps_invalidate();
		dlclose(handle);
		mt_maps_settle();
		CHECK(mt_maps_generation() != generation);
		CHECK(mt_maps_find(m->start + 64) == NULL);
		last = m;
	}
	CHECK(same_place > 0);
}

TEST(another_file_in_the_same_place)
{
	void *handle;

	mt_maps_init();
	for (int i = 0; i < 10; i++) {
		struct module *a = load(LIBRARY, "zlibVersion", &handle);
		dlclose(handle);
		mt_maps_invalidate();
		struct module *b = load(OTHER, "XML_ParserCreate", &handle);
		CHECK(a && b && a != b);
		CHECK(strstr(b->path, OTHER) != NULL);
		CHECK(a->xflags & MTW_MODULE_GONE);
		dlclose(handle);
		mt_maps_invalidate();
	}
}

TEST(a_segment_holds_the_address_asked_for)
{
	uintptr_t start, end;

	mt_maps_init();
	struct module *m = of((void *)&mt_maps_init);
	CHECK(mt_maps_segment(m, (uintptr_t)&mt_maps_init, &start, &end));
	CHECK(start <= (uintptr_t)&mt_maps_init && end > (uintptr_t)&mt_maps_init);
	CHECK(!mt_maps_segment(m, m->end + 4096, &start, &end));
}

/* As Android 9's linker lists it: a bias, and no dynamic section. */
TEST(the_program_by_its_bias_alone)
{
	mt_maps_init();
	struct module *program = of((void *)&mt_maps_init), *libc = of(dlsym(RTLD_DEFAULT, "puts"));
	struct mt_headers h = mt_maps_headers(program->bias, 0, false, 0);

	CHECK(h.at && h.at == program->headers && h.count == program->header_count);
	CHECK(!mt_maps_headers(libc->bias, 0, false, 0).at);
}

/* What lies between two segments is another's, whole pages of them are not. */
TEST(a_gap_is_not_the_modules)
{
	const uintptr_t page = mt_prim_page_bytes();
	const struct segment s[] = { { 16 * page, 17 * page + 8, true, true },
				     { 32 * page + 64, 33 * page, false, false } };
	const struct module m = {
		.start = 16 * page, .end = 33 * page, .segment = s, .segments = 2
	};
	const struct mt_headers none = { .at = NULL };
	uintptr_t start, end;

	CHECK(!mt_maps_holds(&m, 16 * page - 1));
	CHECK(mt_maps_holds(&m, 16 * page));
	CHECK(mt_maps_holds(&m, 18 * page - 1));
	CHECK(!mt_maps_holds(&m, 18 * page));
	CHECK(!mt_maps_holds(&m, 32 * page - 1));
	CHECK(mt_maps_holds(&m, 32 * page));
	CHECK(!mt_maps_holds(&m, 33 * page));
	CHECK(!mt_maps_overlaps(&m, 18 * page, 32 * page));
	CHECK(mt_maps_overlaps(&m, 18 * page, 32 * page + 1));
	CHECK(!mt_maps_meets(&m, &none, 18 * page, 32 * page));
	CHECK(mt_maps_meets(&m, &none, 15 * page, 34 * page));
	CHECK(mt_maps_has_segment(&m, 16 * page, 17 * page + 8));
	CHECK(!mt_maps_has_segment(&m, 16 * page, 33 * page));
	CHECK(mt_maps_segment(&m, 17 * page, &start, &end) && start == 16 * page &&
	      end == 17 * page + 8);
	CHECK(!mt_maps_segment(&m, 17 * page + 8, &start, &end));
	CHECK(!mt_maps_segment(&m, 32 * page + 64, &start, &end));
}

TEST(segments_are_in_order)
{
	mt_maps_init();
	mt_maps_refresh();
	for (uint32_t id = 0; id < mt_maps_count(); id++) {
		const struct module *m = mt_maps_module(id);
		CHECK(m->segments && m->headers);
		CHECK(m->segment[0].start >= m->start &&
		      m->segment[m->segments - 1].end <= m->end + 64);
		for (uint32_t i = 1; i < m->segments; i++)
			CHECK(m->segment[i].start >= m->segment[i - 1].end);
		CHECK(mt_maps_find(m->segment[0].start) == m);
	}
}
