/* SPDX-License-Identifier: MIT
 *
 * version.c - what the agent says of itself: its version, and the note in its file from which
 * memtop learns version, protocol and options (memtop/options.h). Compiled again when the build's
 * mark moves, and nothing else of the agent is.
 */
#include "base/version.h"

#include <memtop/options.h>
#include <memtop/wire.h>

const char mt_version[] = MEMTOP_VERSION;

_Static_assert(sizeof(mt_version) <= MTW_NAME_MAX, "the mark of this build is too long");

#define NAME(name, ...) " " #name
#define DIGITS(n) #n
#define NUMBER(n) DIGITS(n)
#define NOTE_TEXT                                                                                  \
	MEMTOP_VERSION " " NUMBER(MTW_VERSION_MIN) " " NUMBER(MTW_VERSION) MTW_OPTIONS(NAME)
__attribute__((section(".note.memtop"), used, aligned(4))) static const struct {
	uint32_t owner_len, text_len, type;
	char owner[8], text[sizeof(NOTE_TEXT)];
} note = { sizeof(MTW_NOTE_OWNER), sizeof(NOTE_TEXT), MTW_NOTE_AGENT, MTW_NOTE_OWNER, NOTE_TEXT };
