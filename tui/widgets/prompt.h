/* SPDX-License-Identifier: MIT
 *
 * prompt.h - one line of typing at the foot of the screen, or a question with one-key answers.
 * While it is open every printable key is text. Main thread.
 */
#ifndef PROMPT_H
#define PROMPT_H

#include "screen/draw.h"

enum prompt_event {
	PROMPT_CHANGED,   /* the text so far */
	PROMPT_DONE,      /* Enter; for a question: the answer's key as text */
	PROMPT_CANCELLED, /* Esc */
};
typedef void prompt_fn(void *arg, enum prompt_event e, const char *text);

#define PROMPT_MAX 512
#define PROMPT_WORD 256
/* Writes the word's n-th completion to out[PROMPT_WORD]; false: there are fewer. */
typedef bool prompt_complete_fn(void *arg, const char *word, size_t n, char *out);

struct prompt {
	bool open;
	char label[96];
	const char *answers;      /* a question: the keys that answer it; NULL = a line */
	int32_t text[PROMPT_MAX]; /* code points */
	size_t len, at;           /* at: the cursor */
	bool offered;             /* no key yet: typing replaces the text */
	prompt_fn *fn;
	prompt_complete_fn *complete; /* NULL: Tab does nothing */
	char word[PROMPT_WORD];       /* the word at the first Tab */
	size_t turns;                 /* Tabs since; 0 = another key came last */
	void *arg;
};

void prompt_line(struct prompt *p, const char *label, const char *text, prompt_fn *fn, void *arg);
/* Makes the new line's text an offer. Typing, ^U or Backspace replaces it; Enter or a cursor key
 * keeps it. */
void prompt_offers(struct prompt *p);
/* In the new line Tab completes the word before the cursor; Tab again takes the next completion. */
void prompt_completes(struct prompt *p, prompt_complete_fn *fn);
void prompt_ask(struct prompt *p, const char *question, const char *answers, prompt_fn *fn,
		void *arg);
/* Takes a key while open. */
void prompt_key(struct prompt *p, int key);
/* Draws on row y; *cursor_x is where the cursor belongs. */
void prompt_draw(const struct prompt *p, const struct area *a, int y, int *cursor_x);
/* The text as UTF-8, in out[PROMPT_MAX * 4 + 1]. */
char *prompt_text(const struct prompt *p, char *out);

#endif
