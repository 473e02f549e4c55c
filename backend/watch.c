/* SPDX-License-Identifier: MIT */
#include "watch.h"
int target_parse(const char *word, struct target *t, struct err *err) { (void)t; return err_set(err, 2, "%s", word); }
int target_parse_pid(const char *word, struct target *t, struct err *err) { (void)t; return err_set(err, 2, "%s", word); }
struct watch *watch_open(struct loop *loop, const struct target *t, const struct watch_options *o, struct err *err) { (void)loop;(void)t;(void)o; err_set(err, 3, "not yet"); return NULL; }
void watch_close(struct watch *w) { (void)w; }
void watch_on_change(struct watch *w, void (*fn)(void *arg, unsigned bits), void *arg) { (void)w;(void)fn;(void)arg; }
struct model *watch_model(struct watch *w) { (void)w; return NULL; }
struct symbols *watch_symbols(struct watch *w) { (void)w; return NULL; }
const struct target *watch_target(const struct watch *w) { (void)w; return NULL; }
bool watch_live(const struct watch *w) { (void)w; return 0; }
uint64_t watch_stale_ns(const struct watch *w) { (void)w; return 0; }
const char *watch_problem(const struct watch *w) { (void)w; return NULL; }
const char *watch_notice(const struct watch *w) { (void)w; return NULL; }
int watch_loading(const struct watch *w) { (void)w; return 0; }
size_t watch_warnings(const struct watch *w, const char *const **s) { (void)w;(void)s; return 0; }
int watch_mark(struct watch *w, const char *name) { (void)w;(void)name; return -1; }
int watch_drop_mark(struct watch *w, uint32_t id) { (void)w;(void)id; return -1; }
int watch_rename_mark(struct watch *w, uint32_t id, const char *name) { (void)w;(void)id;(void)name; return -1; }
int watch_set_option(struct watch *w, const char *name, const char *value) { (void)w;(void)name;(void)value; return -1; }
int watch_scan(struct watch *w, int kind, const uint32_t *slots, size_t count) { (void)w;(void)kind;(void)slots;(void)count; return -1; }
int watch_save(struct watch *w, const char *path, struct err *err) { (void)w;(void)path;(void)err; return -1; }
const char *watch_spool_path(const struct watch *w) { (void)w; return NULL; }
int watch_wait_complete(struct watch *w, unsigned t, struct err *err) { (void)w;(void)t;(void)err; return -1; }
void watch_child_ended(struct watch *w, int s) { (void)w;(void)s; }
int watch_end_record(struct watch *w, struct err *err) { (void)w;(void)err; return -1; }
