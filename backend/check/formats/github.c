/* SPDX-License-Identifier: MIT
 *
 * github.c - findings as GitHub's workflow commands, which annotate the line of the call site:
 * ::error file=src/a.c,line=12,title=...::text
 *
 * GitHub annotates files of the repository, named from its root.
 */
#include "check/formats/formats.h"

#include "base/sanitize.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A command's values: a percent sign and line ends are escaped, in a property also : and , */
static void put(FILE *out, const char *s, bool property)
{
	char clean[VERDICT_TEXT];

	for (const char *c = sanitize_clean(clean, sizeof clean, s); *c; c++)
		if (*c == '%' || (property && (*c == ':' || *c == ',')))
			fprintf(out, "%%%02X", (unsigned)*c);
		else
			fputc(*c, out);
}

/* The folder that has .git, here or above: what `git rev-parse --show-toplevel` prints. Without
 * one, the folder where the step runs. */
static void find_root(char root[PATH_MAX])
{
	char folder[PATH_MAX], git[PATH_MAX + 8], *slash;

	if (!getcwd(folder, sizeof folder))
		snprintf(folder, sizeof folder, "/");
	snprintf(root, PATH_MAX, "%s", folder);
	for (;;) {
		snprintf(git, sizeof git, "%s/.git", folder);
		if (!access(git, F_OK))
			break;
		if (!(slash = strrchr(folder, '/')))
			return;
		*slash = '\0';
	}
	snprintf(root, PATH_MAX, "%s", folder);
}

/* Does GitHub have the file? Then `path` is its place in the repository. A relative name, as
 * -ffile-prefix-map leaves it, counts from here, else from the root. */
static bool in_repository(const char *root, const char *file, char path[PATH_MAX])
{
	char joined[2 * PATH_MAX], real[PATH_MAX];
	size_t len = strlen(root);

	snprintf(joined, sizeof joined, "%s/%s", root, file);
	if (!realpath(file, real) && (*file == '/' || !realpath(joined, real)))
		return false;
	if (strncmp(real, root, len) || real[len] != '/')
		return false;
	snprintf(path, PATH_MAX, "%s", real + len + 1);
	return true;
}

/* The call site, else the first frame outwards whose line is in the repository; `path` is its
 * file's. NULL = none. */
static const struct check_frame *place_of(const struct check_verdict *v, char path[PATH_MAX])
{
	const struct check_stack *s = v->stacks;
	char root[PATH_MAX];

	find_root(root);
	for (size_t i = v->stack_count ? words_first(s) : 0; v->stack_count && i < s->count; i++)
		if (s->frames[i].file && in_repository(root, s->frames[i].file, path))
			return &s->frames[i];
	return NULL;
}

static void put_frames(const struct check_verdict *v, FILE *out)
{
	char text[VERDICT_TEXT];

	for (size_t i = 0; i < v->stack_count; i++) {
		const struct check_stack *s = &v->stacks[i];

		fputs("%0A", out);
		put(out, words_stack(v, s, text), false);
		for (size_t k = words_first(s), n = 0; k < s->count && n < FRAMES_SHOWN; k++, n++) {
			fputs("%0A    ", out);
			put(out, words_frame(&s->frames[k], text), false);
		}
	}
}

static void put_error(const struct check *c, const struct check_verdict *v, FILE *out)
{
	char text[VERDICT_TEXT], path[PATH_MAX];
	const struct check_frame *at = place_of(v, path);

	fputs("::error ", out);
	if (at) {
		fputs("file=", out);
		put(out, path, true);
		fprintf(out, ",line=%u,", at->line);
	}
	fputs("title=memtop check ", out);
	put(out, v->name, true);
	fputs("::", out);
	put(out, words_process(&c->processes[v->process], text), false);
	fputs(": ", out);
	put(out, words_verdict(c, v, text), false);
	put_frames(v, out);
	fputc('\n', out);
}

int check_github(const struct check *c, FILE *out, struct err *err)
{
	char text[VERDICT_TEXT];

	for (size_t i = 0; i < c->count; i++)
		if (c->verdicts[i].failed)
			put_error(c, &c->verdicts[i], out);
	for (size_t i = 0; i < c->note_count; i++) {
		fputs("::warning title=memtop check::", out);
		put(out, c->notes[i], false);
		fputc('\n', out);
	}
	fprintf(out, "memtop check: %s\n", words_summary(c, text));
	return report_flush(out, err);
}
