/* SPDX-License-Identifier: MIT
 *
 * github.c - findings as GitHub's workflow commands, which annotate the line of the call site:
 * ::error file=src/a.c,line=12,title=...::text
 */
#include "check/formats/formats.h"

#include "base/sanitize.h"

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

/* GitHub finds a file by its path in the repository, where the step runs. */
static const char *in_repository(const char *file)
{
	char here[4096];
	size_t len;

	if (!getcwd(here, sizeof here))
		return file;
	len = strlen(here);
	return !strncmp(file, here, len) && file[len] == '/' ? file + len + 1 : file;
}

/* The call site, else the first frame that has a line. */
static const struct check_frame *place_of(const struct check_verdict *v)
{
	const struct check_stack *s = v->stacks;

	for (size_t i = v->stack_count ? words_first(s) : 0; v->stack_count && i < s->count; i++)
		if (s->frames[i].file)
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
	const struct check_frame *at = place_of(v);
	char text[VERDICT_TEXT];

	fputs("::error ", out);
	if (at) {
		fputs("file=", out);
		put(out, in_repository(at->file), true);
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
