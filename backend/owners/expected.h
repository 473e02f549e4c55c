/* SPDX-License-Identifier: MIT
 *
 * expected.h - rules for call sites whose memory the user expects. Main thread only.
 *
 *   rule = MODULE!FUNCTION     "libtile.so.2!tile_cache_put", "lib*!ns::cache<*>::put*"
 *
 * `*` stands for any text, `\` before a byte for that byte. The newest rule that matches a call
 * site's key decides whether it is expected. A function in a rule may lack its parameters and
 * template arguments: "lib!ns::put" is for each lib!ns::put<T>(...). A key has the module's file
 * name and the full function name, without the suffixes that the compiler gives a copy
 * (.constprop.0, [clone .part.0]), so that it holds in other runs and builds. A place without a
 * name is MODULE!+0xOFFSET@BUILD-ID: the same offset in another build is another place.
 *
 * A file of rules (.supp) has one a line; `not RULE` revokes an earlier one; empty lines and lines
 * that begin with # are ignored.
 */
#ifndef OWNERS_EXPECTED_H
#define OWNERS_EXPECTED_H

#include "model/model.h"

#define EXPECTED_MAX 4096u /* rules: each is compared with every call site */
#define EXPECTED_KEY_MAX MTW_STRING_MAX

struct expected;
struct expected_rule {
	const char *text;
	bool on;
};

struct expected *expected_new(void);
void expected_free(struct expected *e);
/* 0, also when it changes nothing; -1: invalid, or EXPECTED_MAX rules exist. */
int expected_set(struct expected *e, const char *rule, bool on);
/* adds all rules of `from` as the newest */
void expected_take(struct expected *e, const struct expected *from);
bool expected_has(const struct expected *e, const char *key);
/* Sets used[i] where rule i, as expected_rules() counts them, matches the key. */
void expected_mark_used(const struct expected *e, const char *key, bool *used);
uint64_t expected_version(const struct expected *e); /* moves when a rule is added */
/* Oldest first; borrowed until a rule is added. */
size_t expected_rules(const struct expected *e, const struct expected_rule **rules);

/* The key of `function`, or of `offset` when `function` is NULL; at most EXPECTED_KEY_MAX - 1
 * bytes. Module NULL = in no module. */
void expected_key(char out[EXPECTED_KEY_MAX], const struct module *m, const char *function,
		  uint64_t offset);
/* The rule that matches this key alone. */
void expected_rule_of(char out[2 * EXPECTED_KEY_MAX], const char *key);

/* Adds a file's rules. Skips wrong lines: *wrong names the first and counts the others. -1 and
 * *err (2) when the file cannot be read. */
int expected_read(struct expected *e, const char *path, struct err *wrong, struct err *err);
/* -1 and *err (3) when a write fails. */
int expected_write(const struct expected *e, const char *path, struct err *err);

#endif
