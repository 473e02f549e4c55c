/* SPDX-License-Identifier: MIT
 *
 * expected_sites.c - decides which call sites are expected: compares their keys with the rules
 * (query/expected.h).
 */
#include "query/sites/expected_sites.h"
#include "query/expected.h"
#include "query/sites/sites.h"

void query_expect(struct query *q, const struct expected *e)
{
	q->expected = e;
}

uint64_t expected_now(const struct query *q)
{
	return q->expected ? expected_version(q->expected) : 0;
}

void query_stack_key(struct query *q, uint32_t leaf, char *key)
{
	uint32_t frame, site = owners_site(q->o, leaf, &frame);
	const struct node *n = model_node(q->m, site);
	const struct name_loc *l = names_loc(q->n, names_loc_of(q->n, n->index));
	const struct name_fn *f = names_fn(q->n, l->frames[frame < l->count ? frame : 0].fn);
	const struct module *m = l->module == NO_ID ? NULL : model_module(q->m, l->module);

	/* What is no code of a module is described by its name. */
	expected_key(key, m, f->function || m ? f->function : f->name, l->offset);
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
	return q->sites ? sites_of_index(q, model_node(q->m, leaf)->index) : 0;
}

bool query_site_key(struct query *q, uint32_t site, char *key)
{
	if (!q->sites || !site || site > q->sites->count)
		return false;
	query_stack_key(q, q->sites->sites[site - 1]->pub.leaf, key);
	return true;
}
