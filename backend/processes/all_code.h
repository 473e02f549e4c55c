/* SPDX-License-Identifier: MIT
 *
 * all_code.h - the code of several processes as one: for processes/all.c.
 *
 * Two locations are the same code when their files have the same build-id (without one, the same
 * path) and the offsets are equal. Generated code belongs to its process: equal pcs of two
 * processes are two locations.
 */
#ifndef PROCESSES_ALL_CODE_H
#define PROCESSES_ALL_CODE_H

#include "base/map.h"
#include "model/model.h"
#include "symbols/symbols.h"
#include "wire/frames.h"

struct all_code {
	struct frames *out; /* takes MODULE, S_SYMBOL and S_GENERATED. Borrowed */
	const char *exe;    /* the main program's file; borrowed */
	struct map modules; /* a file's hash -> number + 1 */
	struct map numbers; /* a location's hash -> number + 1 */
	struct map owners;  /* a generated pc -> the process that has it, + 1 */
	uint32_t module_count;
	struct location *locations; /* by number: a module of all, or what it is instead */
	uint8_t *named;             /* by number: source of the name that was written, + 1 */
	uint32_t count;
	size_t room, named_room;
};

/* One process' modules and locations, as numbers of all. Owned; all_code_forget() */
struct all_names {
	uint32_t member; /* the process */
	uint32_t *module, *location;
	uint32_t modules, locations;
};

void all_code_release(struct all_code *c);
/* Takes what a process' model has beyond what `of` knows. */
void all_code_take(struct all_code *c, struct all_names *of, const struct model *m);
/* ... and the names that it knows. Asks for none. */
void all_code_names(struct all_code *c, const struct all_names *of, const struct symbols *s);
void all_code_forget(struct all_names *of);
/* The location of what has no code; its name stands for it. */
uint32_t all_code_made(struct all_code *c, const char *module, const char *name);

#endif
