/* SPDX-License-Identifier: MIT */
#include "processes/all_code.h"

#include <stdlib.h>
#include <string.h>

#define PROCESS_SHIFT 48 /* pcs of programs are below */

void all_code_release(struct all_code *c)
{
	map_release(&c->modules);
	map_release(&c->numbers);
	map_release(&c->owners);
	free(c->locations);
	free(c->named);
}

void all_code_forget(struct all_names *of)
{
	free(of->module);
	free(of->location);
	*of = (struct all_names){ 0 };
}

static uint64_t hash_bytes(const uint8_t *bytes, size_t len, uint64_t h)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ bytes[i]) * 0x100000001b3ull;
	return hash_mix(h);
}

static uint64_t hash_of_file(const struct module *k)
{
	return k->build_id_len ? hash_bytes(k->build_id, k->build_id_len, 1)
			       : hash_string(k->path ? k->path : "", 2);
}

static void put_module(struct all_code *c, uint32_t number, const struct module *k)
{
	/* One file is the main program of all: that of the first process. */
	bool main = k->path && c->exe && !strcmp(k->path, c->exe);
	uint64_t never = MTW_MODULE_GONE | (main ? 0u : MTW_MODULE_MAIN);
	const uint64_t fields[] = { number, k->flags & ~never, k->bias, k->start,
				    k->end, k->loaded_ns,      0 };

	frames_put_all(c->out, fields, sizeof fields / sizeof *fields);
	frames_bytes(c->out, k->build_id, k->build_id_len);
	frames_string(c->out, k->path);
	frames_end(c->out, MTW_MODULE);
}

/* NO_ID: too many. */
static uint32_t take_module(struct all_code *c, const struct module *k)
{
	uint64_t file = hash_of_file(k);
	uint32_t number = map_get(&c->modules, file, 0);

	if (number)
		return number - 1;
	if (c->module_count >= MTW_MODULES_MAX)
		return NO_ID;
	number = c->module_count++;
	map_set(&c->modules, file, number + 1);
	put_module(c, number, k);
	return number;
}

static bool same(const struct location *a, const struct location *b)
{
	return a->offset == b->offset && a->module == b->module && a->kind == b->kind;
}

/* The number of a location, or where it belongs: *key. */
static uint32_t find(const struct all_code *c, const struct location *at, uint64_t *key)
{
	uint32_t number;

	*key = hash_mix(hash_mix(at->offset) + ((uint64_t)at->module << 8 | at->kind));
	while ((number = map_get(&c->numbers, *key, 0)) && !same(&c->locations[number - 1], at))
		++*key;
	return number ? number - 1 : NO_ID;
}

static uint32_t number_of(struct all_code *c, const struct location *at)
{
	uint64_t key;
	uint32_t number = find(c, at, &key);

	if (number != NO_ID)
		return number;
	GROW(c->locations, c->room, c->count + 1ul);
	GROW(c->named, c->named_room, c->count + 1ul);
	c->locations[c->count] = *at;
	c->named[c->count] = 0;
	map_set(&c->numbers, key, c->count + 1);
	return c->count++;
}

/* A process' location as one of all; take: a pc that no process has yet becomes its own. */
static struct location of_all(struct all_code *c, const struct all_names *of,
			      const struct location *at, bool take)
{
	struct location l = *at;

	if (l.kind <= MTW_NODE_SIGNAL) {
		l.module = l.module < of->modules ? of->module[l.module] : NO_ID;
	} else if (l.kind == MTW_NODE_NOWHERE) {
		uint32_t owner = map_get(&c->owners, l.offset, 0);
		if (!owner && take)
			map_set(&c->owners, l.offset, of->member + 1);
		else if (owner != of->member + 1)
			l.offset += (uint64_t)(of->member + 1) << PROCESS_SHIFT;
	}
	if (l.kind <= MTW_NODE_SIGNAL && l.module == NO_ID)
		l.kind = MTW_NODE_NOWHERE;
	return l;
}

void all_code_take(struct all_code *c, struct all_names *of, const struct model *m)
{
	uint32_t modules = model_module_count(m), locations = model_location_count(m);

	of->module = xrealloc(of->module, (modules + 1ul) * sizeof *of->module);
	for (; of->modules < modules; of->modules++) {
		const struct module *k = model_module(m, of->modules);
		of->module[of->modules] = k && k->known ? take_module(c, k) : NO_ID;
	}
	of->location = xrealloc(of->location, (locations + 1ul) * sizeof *of->location);
	for (; of->locations < locations; of->locations++) {
		struct location at = of_all(c, of, model_location(m, of->locations), true);
		of->location[of->locations] = number_of(c, &at);
	}
}

static void put_name(struct all_code *c, uint32_t number, const struct symbol *sym)
{
	const struct location *at = &c->locations[number];
	bool generated = at->kind == MTW_NODE_NOWHERE;

	c->named[number] = (uint8_t)(sym->source + 1);
	if (!generated)
		frames_put(c->out, at->module);
	frames_put(c->out, at->offset);
	if (!generated)
		frames_put(c->out, at->kind == MTW_NODE_SIGNAL);
	frames_put(c->out, (uint64_t)sym->source);
	frames_put(c->out, sym->count);
	for (uint32_t i = sym->count; i-- > 0;) { /* outermost first */
		frames_string(c->out, sym->frames[i].function);
		frames_string(c->out, sym->frames[i].file);
		frames_put(c->out, sym->frames[i].line);
		frames_put(c->out, sym->frames[i].inlined);
	}
	frames_end(c->out, generated ? MTW_S_GENERATED : MTW_S_SYMBOL);
}

struct naming {
	struct all_code *code;
	const struct all_names *of;
};

static void take_name(void *arg, uint32_t module, uint64_t offset, uint8_t kind,
		      const struct symbol *sym)
{
	struct naming *n = arg;
	struct location own = { offset, module, kind };
	struct location at = of_all(n->code, n->of, &own, false);
	uint64_t key;
	uint32_t number = find(n->code, &at, &key);

	if (number != NO_ID && sym->count && sym->source + 1 > n->code->named[number])
		put_name(n->code, number, sym);
}

void all_code_names(struct all_code *c, const struct all_names *of, const struct symbols *s)
{
	symbols_each(s, take_name, &(struct naming){ c, of });
}

uint32_t all_code_made(struct all_code *c, const char *module, const char *name)
{
	struct module k = { .path = (char *)module };
	struct location at = { .module = take_module(c, &k), .kind = MTW_NODE_CODE };
	uint32_t number = number_of(c, &at);

	put_name(c, number,
		 &(struct symbol){ SYMBOL_TABLE, 1, &(struct symbol_frame){ .function = name } });
	return number;
}
