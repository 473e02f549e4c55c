/* SPDX-License-Identifier: MIT
 *
 * output.c - the output of the program under `run`. The program writes to an unnamed file that this
 * view reads, so it never depends on a reader. The view keeps line offsets alone, reads a line when
 * it draws it, and leaves out control sequences.
 */
#include "views/views.h"
#include "widgets/page.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCAN_BYTES (1u << 20) /* looked at for line ends in one go */
#define LINE_BYTES 2048       /* of a line that are shown */
#define SEARCH_LINES 20000    /* the last ones; the rest is said to be pending */

struct output {
	struct view v;
	uint64_t *lines; /* offset of each line's first byte */
	size_t count, room, top;
	int fd;           /* its file; not ours */
	uint64_t scanned; /* bytes looked at */
	int height;
	bool follow;
};

static void scan(struct output *o)
{
	char *bytes = xmalloc(SCAN_BYTES);
	ssize_t n = pread(o->fd, bytes, SCAN_BYTES, (off_t)o->scanned);

	for (ssize_t i = 0; i < n; i++) {
		bool first = o->scanned + (uint64_t)i == 0;
		if (first || bytes[i] == '\n') {
			GROW(o->lines, o->room, o->count + 1);
			o->lines[o->count++] = first ? 0 : o->scanned + (uint64_t)i + 1;
			if (first && bytes[i] == '\n') {
				GROW(o->lines, o->room, o->count + 1);
				o->lines[o->count++] = 1;
			}
		}
	}
	if (n > 0)
		o->scanned += (uint64_t)n;
	free(bytes);
}

/* Lines that hold something: a final line end does not start another. */
static size_t line_count(const struct output *o)
{
	return o->count && o->lines[o->count - 1] >= o->scanned ? o->count - 1 : o->count;
}

/* ESC [ ... letter and ESC ] ... BEL do not print. */
static void strip(char *s)
{
	char *to = s;

	while (*s) {
		if (*s == 27 && s[1] == '[') {
			s += 2;
			while (*s && (*s < '@' || *s > '~'))
				s++;
			s += *s != 0;
		} else if (*s == 27 && s[1] == ']') {
			while (*s && *s != 7)
				s++;
			s += *s != 0;
		} else if (*s == 27 || *s == '\r') {
			s++;
		} else {
			*to++ = *s++;
		}
	}
	*to = 0;
}

static void read_line(const struct output *o, size_t i, char *out)
{
	uint64_t from = o->lines[i], to = i + 1 < o->count ? o->lines[i + 1] - 1 : o->scanned;
	size_t len = to - from < LINE_BYTES - 1 ? (size_t)(to - from) : LINE_BYTES - 1;
	ssize_t n = pread(o->fd, out, len, (off_t)from);

	out[n > 0 ? n : 0] = 0;
	for (ssize_t k = 0; k < n; k++)
		if (!out[k])
			out[k] = '?';
	strip(out);
}

static void refresh(struct view *v, bool resort)
{
	(void)resort;
	scan((struct output *)v);
}

static void draw(struct view *v, const struct area *a)
{
	struct output *o = (struct output *)v;
	char text[LINE_BYTES];
	size_t n;

	scan(o);
	n = line_count(o);
	o->height = a->h;
	if (o->follow || o->top + (size_t)a->h > n)
		o->top = n > (size_t)a->h ? n - (size_t)a->h : 0;
	for (int y = 0; y < a->h && o->top + (size_t)y < n; y++) {
		read_line(o, o->top + (size_t)y, text);
		bool hit = v->ui->shown.search[0] && strcasestr(text, v->ui->shown.search);
		if (hit)
			draw_text(a, y, 0, ROLE_HIT, text_glyph(GLYPH_HIT));
		draw_text(a, y, 1, hit ? ROLE_HIT : ROLE_NORMAL, text);
	}
	if (n == 0)
		draw_text(a, 1, 3, ROLE_WARNING,
			  v->ui->shown.figures.final ? "the program wrote no output"
						     : "no output yet");
}

static void caption(struct view *v, bool brief, char *out, size_t size)
{
	struct output *o = (struct output *)v;
	char count[32];
	struct stat st;
	bool more = fstat(o->fd, &st) == 0 && (uint64_t)st.st_size > o->scanned;

	snprintf(out, size, "%s line%s%s%s", format_count(count, line_count(o)),
		 format_s(line_count(o)), more ? " and more" : "",
		 o->follow ? ", following"
		 : brief   ? ""
			   : ", End follows");
}

static unsigned action(struct view *v, enum action r)
{
	struct output *o = (struct output *)v;

	if (!page_move(r, &o->top, line_count(o), o->height))
		return VIEW_IGNORED;
	o->follow = o->top + (size_t)o->height >= line_count(o);
	return VIEW_DRAW;
}

static bool line_hits(const struct output *o, size_t i, const char *what)
{
	char text[LINE_BYTES];

	read_line(o, i, text);
	return *what && strcasestr(text, what);
}

static long search(struct view *v, const char *what, size_t *pending)
{
	struct output *o = (struct output *)v;
	size_t n = line_count(o), first = n > SEARCH_LINES ? n - SEARCH_LINES : 0;
	long hits = 0;

	*pending = first;
	for (size_t i = first; i < n; i++)
		hits += line_hits(o, i, what);
	return hits;
}

static unsigned next_hit(struct view *v, enum hit which)
{
	struct output *o = (struct output *)v;
	size_t n = line_count(o), most = n < SEARCH_LINES ? n : SEARCH_LINES;

	for (size_t k = 1; k <= most; k++) {
		size_t i = (o->top + (which == HIT_PREVIOUS ? n - k : k)) % n;
		if (line_hits(o, i, v->ui->shown.search)) {
			o->top = i;
			o->follow = false;
			break;
		}
	}
	return VIEW_DRAW;
}

static void view_free(struct view *v)
{
	free(((struct output *)v)->lines);
	free(v);
}

static const struct view_ops ops = {
	.foci = page_foci,
	.refresh = refresh,
	.draw = draw,
	.action = action,
	.caption = caption,
	.search = search,
	.next_hit = next_hit,
	.free = view_free,
};

struct view *view_output_new(struct ui *ui)
{
	if (ui->output_fd < 0)
		return NULL;
	struct output *o = xcalloc(1, sizeof *o);

	o->v = (struct view){ &ops, ui };
	o->fd = ui->output_fd;
	o->follow = true;
	return &o->v;
}
