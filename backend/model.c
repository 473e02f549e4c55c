#include "model.h"
struct model { struct program p; struct totals t; };
struct model *model_new(void) { return xcalloc(1, sizeof(struct model)); }
void model_free(struct model *m) { (void)m; }
void model_clear(struct model *m) { (void)m; }
int model_apply(struct model *m, const struct event *e, struct err *err) { (void)m;(void)e;(void)err; return 0; }
const struct program *model_program(const struct model *m) { return &m->p; }
const struct totals *model_totals(const struct model *m) { return &m->t; }
uint32_t model_state(const struct model *m, int *status, bool *known) { (void)m; *status = 0; *known = 0; return 0; }
void model_set_state(struct model *m, uint32_t state, int status, bool known) { (void)m;(void)state;(void)status;(void)known; }
bool model_complete(const struct model *m) { (void)m; return 0; }
bool model_final(const struct model *m) { (void)m; return 0; }
uint64_t model_time(const struct model *m) { (void)m; return 0; }
uint64_t model_ticks(const struct model *m) { (void)m; return 0; }
uint32_t model_node_count(const struct model *m) { (void)m; return 0; }
const struct node *model_node(const struct model *m, uint32_t id) { (void)m;(void)id; return NULL; }
uint32_t model_slot_count(const struct model *m) { (void)m; return 0; }
const struct slot *model_slot(const struct model *m, uint32_t id) { (void)m;(void)id; return NULL; }
uint32_t model_module_count(const struct model *m) { (void)m; return 0; }
const struct module *model_module(const struct model *m, uint32_t id) { (void)m;(void)id; return NULL; }
uint32_t model_thread_count(const struct model *m) { (void)m; return 0; }
const struct thread *model_thread(const struct model *m, uint32_t index) { (void)m;(void)index; return NULL; }
uint32_t model_mark_limit(const struct model *m) { (void)m; return 0; }
const struct mark *model_mark(const struct model *m, uint32_t id) { (void)m;(void)id; return NULL; }
int model_mark_find(const struct model *m, const char *n) { (void)m;(void)n; return -1; }
uint32_t model_newest_mark(const struct model *m) { (void)m; return 0; }
void model_loss(const struct model *m, unsigned reason, uint64_t *events, uint64_t *bytes) { (void)m;(void)reason; *events = *bytes = 0; }
uint64_t model_truncated(const struct model *m, unsigned reason) { (void)m;(void)reason; return 0; }
size_t model_process(const struct model *m, uint64_t *a, uint64_t *b, uint32_t *c, uint32_t *d) { (void)m; *a=*b=0; *c=*d=0; return 0; }
const char *model_option(const struct model *m, const char *name) { (void)m;(void)name; return NULL; }
const struct scan_ages *model_ages(const struct model *m) { (void)m; return NULL; }
void model_rates(const struct model *m, struct rates *one, struct rates *ten) { (void)m; *one = *ten = (struct rates){0}; }
int model_set_base(struct model *m, uint32_t mark) { (void)m;(void)mark; return 0; }
uint32_t model_base(const struct model *m) { (void)m; return 0; }
int model_between(const struct model *m, uint32_t from, uint32_t to, void (*fn)(void *arg, uint32_t slot, const struct change *c), void *arg) { (void)m;(void)from;(void)to;(void)fn;(void)arg; return 0; }
size_t model_history(const struct model *m, const struct point **points) { (void)m; *points = NULL; return 0; }
bool model_check(const struct model *m, struct err *err) { (void)m;(void)err; return true; }
void model_on_notice(struct model *m, void (*fn)(void *arg, const char *text), void *arg) { (void)m;(void)fn;(void)arg; }
