/* SPDX-License-Identifier: MIT
 *
 * keys.c - see diff/keys.h. diff/join.h has the rules.
 */
#include "diff/keys.h"

#include "symbols/demangle.h"

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

/* --- what all sessions have */

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
static const char *local_key(struct join_keys *k, const struct side_frame *f)
{
	static const char hidden[] = "(anonymous namespace)::";
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;
	char *brief = demangle_short(f->plain), *text, *name = brief;
	const char *key = NULL;

	if (!strncmp(name, hidden, sizeof hidden - 1))
		name += sizeof hidden - 1;
	if (f->file && !strstr(name, "::")) {
		text = xasprintf("%s %s", name, slash ? slash + 1 : f->file);
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

	for (size_t i = 0; i < s->frame_count; i++) {
		const struct side_frame *f = &s->frames[i];
		if (!f->plain || f->plain == last || !has_parameters(f->plain))
			continue;
		last = f->plain;
		const char *key = local_key(k, f);
		uint32_t number = key ? map_get(&k->of_local, address(key), 0) : 0;
		if (key && !number) {
			GROW(k->locals, k->local_room, k->local_count + 1);
			k->locals[k->local_count++] = (struct local_function){ f->plain, 0 };
			number = (uint32_t)k->local_count;
			map_set(&k->of_local, address(key), number);
		}
		if (!key)
			continue;
		struct local_function *l = &k->locals[number - 1];
		l->in |= 1u << side;
		l->plain = l->plain == f->plain ? f->plain : NULL;
	}
}

static const char *name_of(struct join_keys *k, uint32_t side, const struct side_frame *f)
{
	const char *key = strpbrk(f->plain, "(:") ? NULL : local_key(k, f);
	uint32_t number = key ? map_get(&k->of_local, address(key), 0) : 0;
	const struct local_function *l = number ? &k->locals[number - 1] : NULL;

	return l && l->plain && !(l->in & 1u << side) ? l->plain : f->plain;
}

/* --- a place's keys */

static const struct side_module *module_of(const struct side *s, const struct side_place *p)
{
	return p->module == NO_ID ? NULL : &s->modules[p->module];
}

static uint32_t frame_key(struct join_keys *k, uint32_t side, const struct side_place *p,
			  const struct side_frame *f)
{
	const struct side_module *m = module_of(k->sides[side], p);

	if (p->kind == MTW_NODE_TRUNCATED)
		return number_take(k, xasprintf("?ends early %" PRIu64, p->offset));
	if (f && f->plain)
		return number_of(k, name_of(k, side, f));
	return number_take(k, xasprintf("?%s", m ? m->role : ""));
}

static void put_number(struct join_keys *k, struct place_keys *to, uint32_t number)
{
	GROW(k->numbers, k->number_room, k->number_count + 1);
	k->numbers[k->number_count++] = number;
	to->count++;
}

static uint32_t code_key(struct join_keys *k, const struct side_place *p, const char *what)
{
	return number_take(k, xasprintf("@%s+%" PRIx64 " %u", what, p->offset, p->kind));
}

/* As recorded: two instants of one run. */
static uint32_t recorded_key(struct join_keys *k, const struct side_place *p)
{
	char module[16];

	snprintf(module, sizeof module, "%u", p->module);
	return code_key(k, p, module);
}

static void by_names(struct join_keys *k, struct place_keys *to, uint32_t side,
		     const struct side_place *p)
{
	const struct side *s = k->sides[side];
	const struct side_module *m = module_of(s, p);
	bool bare = m && map_get(&k->bare, address(m->role), 0);

	for (uint32_t i = p->count; i-- > 0;) {
		const struct side_frame *f = &s->frames[p->first + i];
		if (!bare || i + 1 == p->count)
			put_number(k, to, frame_key(k, side, p, f));
	}
	if (!p->count)
		put_number(k, to, frame_key(k, side, p, NULL));
	to->outline = k->numbers[to->first];
}

static void by_place(struct join_keys *k, struct place_keys *to, uint32_t number)
{
	put_number(k, to, number);
	to->outline = number;
	to->by_offset = true;
}

static unsigned names_in(const struct side *s, const struct side_place *p)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < p->count; i++)
		n += (s->frames[p->first + i].function != NULL) +
		     (s->frames[p->first + i].file != NULL);
	return n;
}

static void offer(struct join_keys *k, uint32_t number, uint32_t side, uint32_t place)
{
	GROW(k->best, k->best_room, (size_t)number + 1);
	struct place_best *b = &k->best[number];

	if (!b->side ||
	    names_in(k->sides[side], &k->sides[side]->places[place]) >=
		    names_in(k->sides[b->side - 1], &k->sides[b->side - 1]->places[b->place]))
		*b = (struct place_best){ side + 1, place };
}

static void make_place(struct join_keys *k, uint32_t side, uint32_t place)
{
	const struct side *s = k->sides[side];
	const struct side_place *p = &s->places[place];
	const struct side_module *m = module_of(s, p);
	struct place_keys *to = &k->places[side][place];

	to->first = (uint32_t)k->number_count;
	if (k->one_run)
		by_place(k, to, recorded_key(k, p));
	else if (m && p->kind != MTW_NODE_TRUNCATED && in_all(k, m))
		by_place(k, to, code_key(k, p, m->build));
	else
		by_names(k, to, side, p);
	if (to->by_offset)
		offer(k, to->outline, side, place);
}

struct join_keys *keys_new(const struct side *const *sides, size_t count)
{
	struct join_keys *k = xcalloc(1, sizeof *k);

	k->sides = sides;
	k->count = count;
	k->one_run = true;
	k->places = xcalloc(count, sizeof *k->places);
	for (size_t i = 0; i < count; i++) {
		k->one_run = k->one_run && same_run(sides[0], sides[i]);
		count_builds(k, sides[i]);
		find_bare(k, sides[i]);
		find_locals(k, (uint32_t)i);
		k->places[i] = xcalloc(sides[i]->place_count + 1, sizeof **k->places);
	}
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t p = 0; p < sides[i]->place_count; p++)
			make_place(k, i, p);
	return k;
}

void keys_free(struct join_keys *k)
{
	for (size_t i = 0; i < k->count; i++)
		free(k->places[i]);
	free(k->places);
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

const struct side_place *keys_best(const struct join_keys *k, uint32_t side, uint32_t place,
				   uint32_t *best_side)
{
	const struct place_keys *p = &k->places[side][place];

	*best_side = side;
	if (p->by_offset) {
		*best_side = k->best[p->outline].side - 1;
		place = k->best[p->outline].place;
	}
	return &k->sides[*best_side]->places[place];
}
