/* SPDX-License-Identifier: MIT
 *
 * text.h - formats figures and foreign text for the screen. The functions are pure except for two
 * switches: UTF-8 or ASCII, and the units of sizes. No curses. Main thread only.
 *
 * Foreign text (names from binaries, other viewers' marks) may hold any byte: all of it passes
 * through text_clip(), which drops control characters (base/sanitize.h) and counts columns as
 * terminals do.
 */
#ifndef TEXT_H
#define TEXT_H

#include "base/base.h"
#include "base/format.h"

#define TEXT_MAX 1024 /* bytes of a clipped line, with its end */

enum clip { CLIP_END, CLIP_MIDDLE, CLIP_START };

enum glyph {
	GLYPH_OPEN,
	GLYPH_CLOSED,
	GLYPH_GROWS,
	GLYPH_SLOWING,
	GLYPH_STEP,
	GLYPH_SAWTOOTH,
	GLYPH_FLAT,
	GLYPH_HLINE,
	GLYPH_VLINE,
	GLYPH_TOP_LEFT,
	GLYPH_TOP_RIGHT,
	GLYPH_LOW_LEFT,
	GLYPH_LOW_RIGHT,
	GLYPH_ELLIPSIS,
	GLYPH_DEEPER,
	GLYPH_DOT,
	GLYPH_DOWN,
	GLYPH_UP,
	GLYPH_AT_LEAST,
	GLYPH_UNKNOWN,
	GLYPH_HIT,
	GLYPH_COUNT,
};

void text_set_ascii(bool on);
bool text_ascii(void);
const char *text_glyph(enum glyph g);
/* Eighths of a cell, 0..8, growing from below. */
const char *text_eighth(unsigned n);

/* A bar of the columns that part is of whole, at most `width`, into out[TEXT_MAX]. Returns out. */
char *text_bar(char *out, double part, double whole, int width);

/* Columns that s takes after cleaning. */
int text_width(const char *s);
/*
 * Writes s, cleaned and cut to at most `width` columns, into out[TEXT_MAX]; an ellipsis marks the
 * cut. Returns the columns written.
 */
int text_clip(char *out, const char *s, int width, enum clip how);

/* Units of sizes: K M G as it fits; M always; bytes. */
enum units { UNITS_AUTO, UNITS_MIB, UNITS_BYTES, UNITS_COUNT };
void text_set_units(enum units u);
enum units text_units(void);
const char *text_units_word(enum units u); /* auto, mib, bytes */
bool text_units_named(const char *word, enum units *u);

/* Figures. Each writes into out[32] and returns it. Sizes in the units that are set: 0
 * 136 20.1K 96.1M 1.2G, 0.1M, 96,123,456; M is MiB. K M G whatever is set: format_bytes(); counts:
 * format_count(). */
char *text_bytes(char *out, uint64_t bytes);
char *text_bytes_signed(char *out, int64_t bytes); /* +14.4M -0.2K 0 */
char *text_short(char *out, double n);             /* 0.3 812 88.2k 2900k */
#define TEXT_BLOCKS 40
char *text_blocks(char out[TEXT_BLOCKS], uint64_t n); /* 1 block, 1,204 blocks */
char *text_short_signed(char *out, int64_t n);
char *text_clock(char *out, uint64_t ns);      /* 0:14:09 */
char *text_clock_ms(char *out, uint64_t ns);   /* 0:14:09.250 */
char *text_span(char *out, uint64_t ns);       /* 40 s, 5 min, 2.5 h */
char *text_ago(char *out, uint64_t ns);        /* "0.213 s", from ten seconds on text_span() */
char *text_span_short(char *out, uint64_t ns); /* the same, and 1.5 s, 20 ms, 350 us */

#endif
