/* SPDX-License-Identifier: MIT
 *
 * expected_sites.c - decides which call sites are expected: compares their keys with the rules
 * (owners/expected.h).
 */
#include "query/sites/expected_sites.h"
#include "owners/expected.h"
#include "query/sites/sites.h"

void query_expect(struct query *q, const struct expected *e)
{
	q->expected = e;
}

uint64_t expected_now(const struct query *q)
{
	return q->expected ? expected_version(q->expected) : 0;
}

/* Of the site above a node of the call tree. */
static void key_above(const struct query *q, uint32_t node, char *key)
{
	const struct heap_names *n = q->raw->names;
	uint32_t frame, site = heap_site_above(q->raw->skeleton, n, node, &frame);

	if (!site) {
		key[0] = 0;
		return;
	}
	uint32_t location = q->raw->skeleton->location[site];
	const struct heap_function *f = &n->function[n->frames[frame].function];
	const struct module *m = n->place[location].module == NO_ID
					 ? NULL
					 : model_module(q->m, n->place[location].module);

	/* What is no code of a module is described by its name. */
	expected_key(key, m, f->function || m ? f->function : f->name,
		     model_location(q->m, location)->offset);
}

void query_stack_key(struct query *q, uint32_t leaf, char *key)
{
	query_now(q);
	uint32_t n = skeleton_find(q->raw->skeleton, leaf);

	key_above(q, n != NO_ID ? n : 0, key);
}

bool expected_stack(const struct query *q, uint32_t stack)
{
	const struct expected_rule *unused;
	char key[EXPECTED_KEY_MAX];

	if (!q->expected || !expected_rules(q->expected, &unused))
		return false;
	key_above(q, q->raw->skeleton->node_of_stack[stack], key);
	return expected_has(q->expected, key);
}

bool query_expected(struct query *q, uint32_t leaf)
{
	const struct expected_rule *unused;
	char key[EXPECTED_KEY_MAX];

	if (!leaf || !q->expected || !expected_rules(q->expected, &unused))
		return false;
	query_stack_key(q, leaf, key);
	return expected_has(q->expected, key);
}

uint32_t query_site_of(const struct query *q, uint32_t leaf)
{
	const struct site_table *t = q->sites;
	const struct skeleton *s = t && t->of ? t->of->skeleton : NULL;
	uint32_t node = s ? skeleton_find(s, leaf) : NO_ID;
	bool is_stack = node != NO_ID && bit_of(s->stack_bits, node);

	return is_stack ? sites_of(t, skeleton_first(s, node)) : 0;
}

bool query_site_key(struct query *q, uint32_t site, char *key)
{
	query_mine(q);
	if (!q->sites || !site || site > q->sites->count)
		return false;
	query_stack_key(q, q->sites->sites[site - 1]->pub.leaf, key);
	return true;
}
