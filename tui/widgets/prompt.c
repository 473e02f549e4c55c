/* SPDX-License-Identifier: MIT
 *
 * prompt.c - see widgets/prompt.h. The text is kept as code points, so that the cursor moves by
 * characters and Backspace never halves one.
 */
#include "widgets/prompt.h"

#include "screen/keys.h"

#include <string.h>

static void open_prompt(struct prompt *p, const char *label, const char *answers, prompt_fn *fn,
			void *arg)
{
	memset(p, 0, sizeof *p);
	p->open = true;
	snprintf(p->label, sizeof p->label, "%s", label);
	p->answers = answers;
	p->fn = fn;
	p->arg = arg;
}

/* At the cursor. */
static void insert(struct prompt *p, int32_t c)
{
	if (p->len == PROMPT_MAX)
		return;
	memmove(p->text + p->at + 1, p->text + p->at, (p->len - p->at) * sizeof p->text[0]);
	p->text[p->at++] = c;
	p->len++;
}

static void insert_text(struct prompt *p, const char *text)
{
	while (*text) {
		unsigned char c = (unsigned char)*text++;
		int32_t code = c < 0x80 ? c : c < 0xe0 ? c & 0x1f : c < 0xf0 ? c & 0x0f : c & 0x07;
		for (; ((unsigned char)*text & 0xc0) == 0x80; text++)
			code = code << 6 | (*text & 0x3f);
		insert(p, code);
	}
}

void prompt_line(struct prompt *p, const char *label, const char *text, prompt_fn *fn, void *arg)
{
	open_prompt(p, label, NULL, fn, arg);
	insert_text(p, text ? text : "");
}

void prompt_offers(struct prompt *p)
{
	p->offered = p->len > 0;
}

void prompt_completes(struct prompt *p, prompt_complete_fn *fn)
{
	p->complete = fn;
}

void prompt_ask(struct prompt *p, const char *question, const char *answers, prompt_fn *fn,
		void *arg)
{
	open_prompt(p, question, answers, fn, arg);
}

static size_t encode(char *out, int32_t c)
{
	if (c < 0x80)
		return out[0] = (char)c, 1;
	if (c < 0x800)
		return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 0x3f)), 2;
	if (c < 0x10000)
		return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 0x3f)),
		       out[2] = (char)(0x80 | (c & 0x3f)), 3;
	return out[0] = (char)(0xf0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 0x3f)),
	       out[2] = (char)(0x80 | (c >> 6 & 0x3f)), out[3] = (char)(0x80 | (c & 0x3f)), 4;
}

static char *part(const struct prompt *p, size_t end, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < end; i++)
		n += encode(out + n, p->text[i]);
	out[n] = 0;
	return out;
}

char *prompt_text(const struct prompt *p, char *out)
{
	return part(p, p->len, out);
}

static void finish(struct prompt *p, enum prompt_event e, const char *text)
{
	p->open = false;
	p->fn(p->arg, e, text);
}

/* Removes [from, to). */
static void cut(struct prompt *p, size_t from, size_t to)
{
	memmove(p->text + from, p->text + to, (p->len - to) * sizeof p->text[0]);
	p->len -= to - from;
	p->at = from;
}

static bool is_text(int key)
{
	return key >= ' ' && key < KEY_SPECIAL;
}

static bool edit(struct prompt *p, int key)
{
	size_t from = p->at;

	if (p->offered && (is_text(key) || key == KEY_BS)) {
		cut(p, 0, p->len);
		if (key == KEY_BS)
			return true;
	}
	switch (key) {
	case KEY_BS:
		if (p->at)
			cut(p, p->at - 1, p->at);
		return true;
	case KEY_DEL:
		if (p->at < p->len)
			cut(p, p->at, p->at + 1);
		return true;
	case 'U' - '@': cut(p, 0, p->at); return true;
	case 'W' - '@':
		while (from && p->text[from - 1] == ' ')
			from--;
		while (from && p->text[from - 1] != ' ')
			from--;
		cut(p, from, p->at);
		return true;
	case KEY_LEFT_: p->at -= p->at > 0; return false;
	case KEY_RIGHT_: p->at += p->at < p->len; return false;
	case KEY_HOME_:
	case 'A' - '@': p->at = 0; return false;
	case KEY_END_:
	case 'E' - '@': p->at = p->len; return false;
	}
	if (!is_text(key) || p->len == PROMPT_MAX)
		return false;
	insert(p, key);
	return true;
}

/* The typed word follows the last completion. */
static bool complete(struct prompt *p)
{
	char out[PROMPT_WORD], before[PROMPT_MAX * 4 + 1];
	size_t from = p->at;

	while (from && p->text[from - 1] != ' ')
		from--;
	if (!p->turns) {
		part(p, p->at, before);
		const char *space = strrchr(before, ' ');
		snprintf(p->word, sizeof p->word, "%.*s", PROMPT_WORD - 1,
			 space ? space + 1 : before);
	}
	if (!p->complete(p->arg, p->word, p->turns, out)) {
		if (!p->turns)
			return false;
		snprintf(out, sizeof out, "%s", p->word);
		p->turns = 0;
	} else {
		p->turns++;
	}
	cut(p, from, p->at);
	insert_text(p, out);
	return true;
}

void prompt_key(struct prompt *p, int key)
{
	char text[PROMPT_MAX * 4 + 1];

	if (key == KEY_TAB_ && p->complete) {
		if (complete(p))
			p->fn(p->arg, PROMPT_CHANGED, prompt_text(p, text));
		return;
	}
	p->turns = 0;
	if (key == KEY_ESCAPE || key == KEY_CTRL_C) {
		finish(p, PROMPT_CANCELLED, "");
	} else if (p->answers) {
		if (key > ' ' && key < 127 && strchr(p->answers, key)) {
			text[0] = (char)key;
			text[1] = 0;
			finish(p, PROMPT_DONE, text);
		}
	} else if (key == KEY_RETURN) {
		finish(p, PROMPT_DONE, prompt_text(p, text));
	} else {
		bool changed = edit(p, key);
		p->offered = false;
		if (changed)
			p->fn(p->arg, PROMPT_CHANGED, prompt_text(p, text));
	}
}

void prompt_draw(const struct prompt *p, const struct area *a, int y, int *cursor_x)
{
	char text[PROMPT_MAX * 4 + 1];

	draw_fill(a, y, 0, -1, ROLE_PROMPT);
	int x = 1 + draw_text(a, y, 1, ROLE_PROMPT, p->label), room = a->w - x - 1;
	int before = text_width(part(p, p->at, text));
	prompt_text(p, text);
	if (before < room)
		draw_clip(a, y, x, room, p->offered ? ROLE_SELECTED : ROLE_PROMPT, CLIP_END, text);
	else /* keep the end of the text visible */
		draw_clip(a, y, x, room, ROLE_PROMPT, CLIP_START, part(p, p->at, text));
	*cursor_x = p->answers ? -1 : a->x + x + (before < room ? before : room);
}
