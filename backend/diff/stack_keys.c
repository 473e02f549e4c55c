/* SPDX-License-Identifier: MIT
 *
 * stack_keys.c - see diff/stack_keys.h. diff/join.h has the rules.
 */
#include "diff/stack_keys.h"

#include "base/name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t address(const char *text)
{
	return (uint64_t)(uintptr_t)text;
}

static uint32_t number_of(struct join_keys *k, const char *text)
{
	uint64_t at = address(string_pool_keep(&k->texts, text));
	uint32_t number = map_get(&k->of_text, at, 0);

	if (!number) {
		number = ++k->next;
		map_set(&k->of_text, at, number);
	}
	return number;
}

static uint32_t number_take(struct join_keys *k, char *text)
{
	uint32_t number = number_of(k, text);

	free(text);
	return number;
}

static bool same_run(const struct side *a, const struct side *b)
{
	return a->pid == b->pid && a->start_unix_ns && a->start_unix_ns == b->start_unix_ns &&
	       !strcmp(a->program, b->program);
}

static bool loaded_before(const struct side *s, size_t module)
{
	for (size_t i = 0; i < module; i++)
		if (s->modules[i].build == s->modules[module].build)
			return true;
	return false;
}

static void count_builds(struct join_keys *k, const struct side *s)
{
	for (size_t i = 0; i < s->module_count; i++) {
		const char *build = s->modules[i].build;
		if (build && !loaded_before(s, i))
			map_set(&k->builds, address(build),
				map_get(&k->builds, address(build), 0) + 1);
	}
}

static bool in_all(const struct join_keys *k, const struct side_module *m)
{
	return m->build && map_get(&k->builds, address(m->build), 0) == k->count;
}

static void find_bare(struct join_keys *k, const struct side *s)
{
	for (size_t i = 0; i < s->module_count; i++)
		if (s->modules[i].named && !s->modules[i].lines)
			map_set(&k->bare, address(s->modules[i].role), 1);
}

/*
 * Some compilers' debug information names a C++ function that no other unit can call without its
 * parameters ("keep_one"), others' with them. Between builds of both, the short name stands for
 * the whole one, if its file has one such function and the session does not name it so itself.
 */
static const char *local_key(struct join_keys *k, const char *plain, const char *file)
{
	static const char hidden[] = "(anonymous namespace)::";
	const char *slash = file ? strrchr(file, '/') : NULL;
	char *brief = name_brief(plain), *text, *name = brief;
	const char *key = NULL;

	if (!strncmp(name, hidden, sizeof hidden - 1))
		name += sizeof hidden - 1;
	if (file && !strstr(name, "::")) {
		text = xasprintf("%s %s", name, slash ? slash + 1 : file);
		key = string_pool_keep(&k->texts, text);
		free(text);
	}
	free(brief);
	return key;
}

static bool has_parameters(const char *plain)
{
	return plain[strcspn(plain, "(<")] == '(';
}

static void find_locals(struct join_keys *k, uint32_t side)
{
	const struct side *s = k->sides[side];
	const char *last = NULL;

	for (uint32_t i = 0; i < s->names->first[s->names->locations]; i++) {
		const struct heap_frame *f = &s->names->frames[i];
		const char *plain = s->functions[f->function].plain;
		if (!plain || plain == last || !has_parameters(plain))
			continue;
		last = plain;
		const char *key = local_key(k, plain, f->file);
		uint32_t number = key ? map_get(&k->of_local, address(key), 0) : 0;
		if (key && !number) {
			GROW(k->locals, k->local_room, k->local_count + 1);
			k->locals[k->local_count++] = (struct local_function){ plain, 0 };
			number = (uint32_t)k->local_count;
			map_set(&k->of_local, address(key), number);
		}
		if (!key)
			continue;
		struct local_function *l = &k->locals[number - 1];
		l->in |= 1u << side;
		l->plain = l->plain == plain ? plain : NULL;
	}
}

static const char *name_of(struct join_keys *k, uint32_t side, const char *plain, const char *file)
{
	const char *key = strpbrk(plain, "(:") ? NULL : local_key(k, plain, file);
	uint32_t number = key ? map_get(&k->of_local, address(key), 0) : 0;
	const struct local_function *l = number ? &k->locals[number - 1] : NULL;

	return l && l->plain && !(l->in & 1u << side) ? l->plain : plain;
}

static uint32_t frame_key(struct join_keys *k, uint32_t side, uint32_t location,
			  const struct heap_frame *f)
{
	const struct side *s = k->sides[side];
	const struct side_module *m = side_module(s, location);
	const char *plain = s->functions[f->function].plain;

	if (s->locations[location].kind == MTW_NODE_TRUNCATED)
		return number_take(
			k, xasprintf("?ends early %" PRIu64, s->locations[location].offset));
	if (plain)
		return number_of(k, name_of(k, side, plain, f->file));
	return number_take(k, xasprintf("?%s", m ? m->role : ""));
}

static void put_number(struct join_keys *k, uint32_t number)
{
	GROW(k->numbers, k->number_room, k->number_count + 1);
	k->numbers[k->number_count++] = number;
}

static uint32_t code_key(struct join_keys *k, const struct location *l, const char *what)
{
	return number_take(k, xasprintf("@%s+%" PRIx64 " %u", what, l->offset, l->kind));
}

/* As recorded: two instants of one run. */
static uint32_t recorded_key(struct join_keys *k, const struct location *l)
{
	char module[16];

	snprintf(module, sizeof module, "%u", l->module);
	return code_key(k, l, module);
}

static void by_names(struct join_keys *k, uint32_t side, uint32_t location)
{
	const struct side *s = k->sides[side];
	const struct side_module *m = side_module(s, location);
	bool bare = m && map_get(&k->bare, address(m->role), 0);
	uint32_t first = s->names->first[location], end = s->names->first[location + 1];

	for (uint32_t i = end; i-- > first;)
		if (!bare || i + 1 == end)
			put_number(k, frame_key(k, side, location, &s->names->frames[i]));
}

static unsigned names_in(const struct side *s, uint32_t location)
{
	unsigned n = 0;

	for (uint32_t i = s->names->first[location]; i < s->names->first[location + 1]; i++)
		n += (s->names->function[s->names->frames[i].function].function != NULL) +
		     (s->names->frames[i].file != NULL);
	return n;
}

static void offer(struct join_keys *k, uint32_t number, uint32_t side, uint32_t location)
{
	GROW(k->best, k->best_room, (size_t)number + 1);
	struct location_best *b = &k->best[number];

	if (!b->side ||
	    names_in(k->sides[side], location) >= names_in(k->sides[b->side - 1], b->location))
		*b = (struct location_best){ side + 1, location };
}

static void make_location(struct join_keys *k, uint32_t side, uint32_t location)
{
	const struct side *s = k->sides[side];
	const struct location *l = &s->locations[location];
	const struct side_module *m = side_module(s, location);
	struct side_keys *to = &k->sides_keys[side];
	bool same = m && l->kind != MTW_NODE_TRUNCATED && in_all(k, m);

	to->first[location] = (uint32_t)k->number_count;
	to->by_offset[location] = k->one_run || same;
	if (!to->by_offset[location])
		by_names(k, side, location);
	else
		put_number(k, k->one_run ? recorded_key(k, l) : code_key(k, l, m->build));
	to->outline[location] = k->numbers[to->first[location]];
	if (to->by_offset[location])
		offer(k, to->outline[location], side, location);
}

static void make_locations(struct join_keys *k, uint32_t side)
{
	uint32_t count = k->sides[side]->names->locations;
	struct side_keys *to = &k->sides_keys[side];

	to->first = xcalloc(count + 1ul, sizeof *to->first);
	to->outline = xcalloc(count + 1ul, sizeof *to->outline);
	to->by_offset = xcalloc(count + 1ul, sizeof *to->by_offset);
	for (uint32_t i = 0; i < count; i++)
		make_location(k, side, i);
	to->first[count] = (uint32_t)k->number_count;
}

struct join_keys *stack_keys_new(const struct side *const *sides, size_t count)
{
	struct join_keys *k = xcalloc(1, sizeof *k);

	k->sides = sides;
	k->count = count;
	k->one_run = true;
	k->sides_keys = xcalloc(count, sizeof *k->sides_keys);
	for (size_t i = 0; i < count; i++) {
		k->one_run = k->one_run && same_run(sides[0], sides[i]);
		count_builds(k, sides[i]);
		find_bare(k, sides[i]);
		find_locals(k, (uint32_t)i);
	}
	for (uint32_t i = 0; i < count; i++)
		make_locations(k, i);
	return k;
}

void stack_keys_free(struct join_keys *k)
{
	for (size_t i = 0; i < k->count; i++) {
		free(k->sides_keys[i].first);
		free(k->sides_keys[i].outline);
		free(k->sides_keys[i].by_offset);
	}
	free(k->sides_keys);
	free(k->numbers);
	free(k->best);
	map_release(&k->of_text);
	map_release(&k->builds);
	map_release(&k->bare);
	map_release(&k->of_local);
	free(k->locals);
	string_pool_release(&k->texts);
	free(k);
}

uint32_t stack_keys_best(const struct join_keys *k, uint32_t side, uint32_t location,
			 uint32_t *best_side)
{
	const struct side_keys *own = &k->sides_keys[side];

	*best_side = side;
	if (!own->by_offset[location])
		return location;
	*best_side = k->best[own->outline[location]].side - 1;
	return k->best[own->outline[location]].location;
}
