/* SPDX-License-Identifier: MIT
 *
 * prompt.h - one line of typing at the foot of the screen, or a question with one-key answers.
 * While it is open every printable key is text. Main thread.
 */
#ifndef PROMPT_H
#define PROMPT_H

#include "draw.h"

enum prompt_event {
	PROMPT_CHANGED,   /* the text so far */
	PROMPT_DONE,      /* Enter; of a question: the answer's key as text */
	PROMPT_CANCELLED, /* Esc */
};
typedef void prompt_fn(void *arg, enum prompt_event e, const char *text);

#define PROMPT_MAX 512

struct prompt {
	bool open;
	char label[96];
	const char *answers;     /* a question: the keys that answer it; NULL = a line */
	int32_t text[PROMPT_MAX];/* code points */
	size_t len, at;          /* at: the cursor */
	prompt_fn *fn;
	void *arg;
};

void prompt_line(struct prompt *p, const char *label, const char *text, prompt_fn *fn, void *arg);
void prompt_ask(struct prompt *p, const char *question, const char *answers, prompt_fn *fn,
		void *arg);
/* Takes a key while open. */
void prompt_key(struct prompt *p, int key);
/* Draws on row y; *cursor_x is where the cursor belongs. */
void prompt_draw(const struct prompt *p, const struct area *a, int y, int *cursor_x);
/* The text as UTF-8, in out[PROMPT_MAX * 4 + 1]. */
char *prompt_text(const struct prompt *p, char *out);

#endif
