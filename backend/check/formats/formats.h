/* SPDX-License-Identifier: MIT
 *
 * formats.h - the writers of a check's result, and the words that they share. No state.
 */
#ifndef CHECK_FORMATS_FORMATS_H
#define CHECK_FORMATS_FORMATS_H

#include "check/check.h"
#include "report/report.h"

/* check/formats/words.c. */
#define VERDICT_TEXT 1024
/* "1.2M (1,228,800 bytes) in 100 blocks alive at exit, limit 64.0K" */
const char *words_verdict(const struct check *c, const struct check_verdict *v,
			  char buf[VERDICT_TEXT]);
/* "97.8K in 100 blocks, leaky" */
const char *words_stack(const struct check_verdict *v, const struct check_stack *s,
			char buf[VERDICT_TEXT]);
/* "parse_word(int)  leaky.cc:8  leaky" */
const char *words_frame(const struct check_frame *f, char buf[VERDICT_TEXT]);
/* "leaky [4121], exited with status 0" */
const char *words_process(const struct check_process *p, char buf[VERDICT_TEXT]);
/* "2 findings, 3 limits kept" */
const char *words_summary(const struct check *c, char buf[VERDICT_TEXT]);
/* The frames to print: from the call site outwards, at most FRAMES_SHOWN. */
#define FRAMES_SHOWN 10
size_t words_first(const struct check_stack *s);

int check_text(const struct check *c, FILE *out, struct err *err);
int check_junit(const struct check *c, FILE *out, struct err *err);
int check_json(const struct check *c, FILE *out, struct err *err);
int check_github(const struct check *c, FILE *out, struct err *err);

#endif
