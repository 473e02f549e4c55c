/* SPDX-License-Identifier: MIT
 *
 * name_parts.h - what a form of a name keeps. For names_fit() alone.
 */
#ifndef BASE_NAME_PARTS_H
#define BASE_NAME_PARTS_H

#include "base/name.h"

enum {
	NAME_ARGUMENTS = 1u << 0,  /* of templates, without namespaces: "vector<int>::push_back" */
	NAME_PARAMETERS = 1u << 1, /* the same of parameters: "f(string const&)" */
	NAME_VERSION = 1u << 2,    /* const, [abi:cxx11], clones: "f.cold" */
	NAME_NESTED = 1u << 3,     /* arguments of arguments, too */
	NAME_RAW = 1u << 4,        /* what is kept in brackets stays as it is */
};

/* free() it. */
char *name_form(const char *full, unsigned keep);
/* Behind the bracket that closes the one at p. Arrows and shifts are no brackets. */
const char *name_skip(const char *p, const char *end);

#endif
