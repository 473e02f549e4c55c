/* SPDX-License-Identifier: MIT
 *
 * dot.c - the heaviest paths as a graph for graphviz, outermost frame on top. A path never weighs
 * more than the one that it belongs to, so the heaviest ones form a tree by themselves.
 */
#include "heap/merged.h"
#include "report/shown.h"
#include "base/columns.h"

#include <inttypes.h>
#include <stdlib.h>

#define PATHS 60       /* drawn */
#define LABEL_CHARS 60 /* of a name */

/* The stacks merged by the names of their frames; 0 is the root. */
struct graph {
	struct shown *x;
	uint32_t count; /* paths that hold something, and the root */
	struct path {
		uint64_t bytes;
		uint32_t parent, name, depth; /* name: a label's number */
	} * paths;
};

/* What is live, or of a change what grew, added up from the leaves. */
static uint64_t *bytes_of_nodes(const struct graph *g, const struct merged *m)
{
	const struct report *r = g->x->report;
	uint64_t *bytes = xcalloc(m->count, sizeof *bytes);

	for (size_t i = 0; i < g->x->count; i++) {
		struct report_stack s = shown_stack(g->x, i);
		int64_t grown = shown_bytes(g->x, &s);

		bytes[m->of_node[report_node(r, s.stack)]] += grown > 0 ? (uint64_t)grown : 0;
	}
	for (uint32_t i = m->count; i-- > 1;)
		bytes[m->parent[i]] += bytes[i];
	return bytes;
}

static uint32_t add_path(struct graph *g, uint32_t parent, uint32_t name, uint64_t bytes)
{
	g->paths[g->count] =
		(struct path){ bytes, parent, name, g->count ? g->paths[parent].depth + 1 : 0 };
	return g->count++;
}

static void make_graph(struct graph *g)
{
	const struct report *r = g->x->report;
	uint32_t *name = shown_names(g->x);
	struct merged *m =
		merged_new(r->heap->skeleton, r->names, name, (uint32_t)g->x->label_count);
	uint64_t *bytes = bytes_of_nodes(g, m), below = 0;
	uint32_t *number = xcalloc(m->count, sizeof *number);

	g->paths = xcalloc(m->count + 1ul, sizeof *g->paths);
	add_path(g, 0, 0, bytes[0]);
	for (uint32_t i = 1; i < m->count; i++) {
		below += m->parent[i] ? 0 : bytes[i];
		if (bytes[i])
			number[i] = add_path(g, number[m->parent[i]], name[m->frame[i]], bytes[i]);
	}
	if (bytes[0] > below)
		add_path(g, 0, shown_label(g->x, "[no stack]"), bytes[0] - below);
	free(number);
	free(bytes);
	free(name);
	merged_free(m);
}

static int heaviest(const void *a, const void *b, void *list)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct path *all = list, *x = &all[i], *y = &all[k];

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (i > k) - (i < k);
}

static void put_name(FILE *out, const char *name)
{
	char brief[4 * LABEL_CHARS + 4];

	for (name = columns_clip(brief, sizeof brief, name, LABEL_CHARS, "..."); *name; name++) {
		if (*name == '"' || *name == '\\')
			fputc('\\', out);
		fputc(*name, out);
	}
}

static void put_node(const struct graph *g, uint32_t i, FILE *out)
{
	const struct path *p = &g->paths[i];
	double share = (double)p->bytes / (double)g->paths[0].bytes;
	char bytes[FORMAT_NUMBER];

	fprintf(out, "  n%" PRIu32 " [label=\"", i);
	if (i)
		put_name(out, g->x->labels[p->name]);
	else
		fputs(g->x->changes ? "all that grew" : "all that is live", out);
	fprintf(out, "\\n%s (%.1f %%)\", fillcolor=\"0.05 %.2f 1.0\"];\n",
		format_bytes(bytes, p->bytes), 100 * share, share * 0.6);
	if (i)
		fprintf(out, "  n%" PRIu32 " -> n%" PRIu32 " [label=\"%s\", penwidth=%.1f];\n",
			p->parent, i, bytes, 0.5 + 4 * share);
}

static void put_rest(const struct graph *g, const uint32_t *order, size_t drawn, FILE *out)
{
	uint64_t ended = 0;
	char bytes[FORMAT_NUMBER];
	bool *shown = xcalloc(g->count, sizeof *shown);

	for (size_t i = 0; i < drawn; i++)
		shown[order[i]] = true;
	for (uint32_t i = 1; i < g->count; i++) /* the largest parts that are left out */
		ended += !shown[i] && shown[g->paths[i].parent] ? g->paths[i].bytes : 0;
	free(shown);
	if (ended)
		fprintf(out,
			"  rest [shape=plaintext, fillcolor=white, label=\"%s of this lies further "
			"down: %zu of %" PRIu32 " paths are drawn\"];\n",
			format_bytes(bytes, ended), drawn - 1, g->count - 1);
}

static void put_graph(struct shown *x, const struct report_options *o, FILE *out)
{
	struct graph g = { .x = x };
	char *title = shown_title(x, o);

	make_graph(&g);
	uint32_t *order = xcalloc(g.count, sizeof *order);
	for (uint32_t i = 0; i < g.count; i++)
		order[i] = i;
	qsort_r(order, g.count, sizeof *order, heaviest, g.paths);
	size_t drawn = g.count < PATHS ? g.count : PATHS;
	fputs("digraph memtop {\n  label=\"", out);
	put_name(out, title);
	fputs("\"; labelloc=t; fontname=\"sans-serif\";\n  node [shape=box, style=filled, "
	      "fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", "
	      "fontsize=8];\n",
	      out);
	for (size_t i = 0; i < drawn && g.paths[0].bytes; i++)
		put_node(&g, order[i], out);
	put_rest(&g, order, drawn, out);
	fputs("}\n", out);
	free(order);
	free(title);
	free(g.paths);
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
