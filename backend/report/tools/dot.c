/* SPDX-License-Identifier: MIT
 *
 * dot.c - the heaviest paths as a graph for graphviz, outermost frame on top. A path never weighs
 * more than the one that it belongs to, so the heaviest ones form a tree by themselves.
 */
#include "report/paths.h"
#include "report/text/page.h"

#include <inttypes.h>
#include <stdlib.h>

#define PATHS 60       /* drawn */
#define LABEL_CHARS 60 /* of a name */

static int heaviest(const void *a, const void *b, void *list)
{
	const struct path *all = list, *x = &all[*(const uint32_t *)a],
			  *y = &all[*(const uint32_t *)b];

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x > y) - (x < y);
}

static void put_name(FILE *out, const char *name)
{
	char brief[4 * LABEL_CHARS + 4];

	for (name = page_shorten(brief, sizeof brief, name, LABEL_CHARS); *name; name++) {
		if (*name == '"' || *name == '\\')
			fputc('\\', out);
		fputc(*name, out);
	}
}

static void put_node(const struct shown *x, const struct paths *t, uint32_t i, FILE *out)
{
	const struct path *p = &t->list[i];
	double share = (double)p->value / (double)t->list[0].value;
	char bytes[FORMAT_NUMBER];

	fprintf(out, "  n%" PRIu32 " [label=\"", i);
	if (i)
		put_name(out, x->labels[p->name]);
	else
		fputs(x->changes ? "all that grew" : "all that is live", out);
	fprintf(out, "\\n%s (%.1f %%)\", fillcolor=\"0.05 %.2f 1.0\"];\n",
		format_bytes(bytes, p->value), 100 * share, share * 0.6);
	if (i)
		fprintf(out, "  n%" PRIu32 " -> n%" PRIu32 " [label=\"%s\", penwidth=%.1f];\n",
			p->parent, i, bytes, 0.5 + 4 * share);
}

static void put_rest(const struct paths *t, const uint32_t *order, size_t drawn, FILE *out)
{
	uint64_t ended = 0;
	char bytes[FORMAT_NUMBER];
	bool *shown = xcalloc(t->count, sizeof *shown);

	for (size_t i = 0; i < drawn; i++)
		shown[order[i]] = true;
	for (uint32_t i = 1; i < t->count; i++) /* the largest parts that are left out */
		ended += !shown[i] && shown[t->list[i].parent] ? t->list[i].value : 0;
	free(shown);
	if (ended)
		fprintf(out,
			"  rest [shape=plaintext, fillcolor=white, label=\"%s of this lies further "
			"down: %zu of %zu paths are drawn\"];\n",
			format_bytes(bytes, ended), drawn - 1, t->count - 1);
}

static void put_graph(struct shown *x, const struct report_options *o, FILE *out)
{
	struct paths t;
	char *title = shown_title(x, o);

	paths_make(&t, x, true);
	uint32_t *order = xcalloc(t.count, sizeof *order);
	for (uint32_t i = 0; i < t.count; i++)
		order[i] = i;
	qsort_r(order, t.count, sizeof *order, heaviest, t.list);
	size_t drawn = t.count < PATHS ? t.count : PATHS;
	fputs("digraph memtop {\n  label=\"", out);
	put_name(out, title);
	fputs("\"; labelloc=t; fontname=\"sans-serif\";\n  node [shape=box, style=filled, "
	      "fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", "
	      "fontsize=8];\n",
	      out);
	for (size_t i = 0; i < drawn && t.list[0].value; i++)
		put_node(x, &t, order[i], out);
	put_rest(&t, order, drawn, out);
	fputs("}\n", out);
	free(order);
	free(title);
	paths_release(&t);
}

static int write_dot(struct watch *w, struct query *q, const struct report_options *o, FILE *out,
		     struct err *err)
{
	struct shown x;

	(void)q;
	if (shown_open(&x, w, o, err))
		return -1;
	put_graph(&x, o, out);
	shown_close(&x);
	return report_flush(out, err);
}

const struct report_format report_dot = {
	.name = "dot",
	.ending = ".dot",
	.write = write_dot,
	.about = "the heaviest paths, for graphviz",
};
