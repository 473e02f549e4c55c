#include "query.h"
struct query { int x; };
struct query *query_new(struct model *m, struct symbols *s, struct owners *o) { (void)m;(void)s;(void)o; return xcalloc(1, sizeof(struct query)); }
void query_free(struct query *q) { (void)q; }
void query_set_inverted(struct query *q, bool on) { (void)q;(void)on; }
bool query_inverted(const struct query *q) { (void)q; return false; }
void query_set_sort(struct query *q, enum query_column by, bool reverse) { (void)q;(void)by;(void)reverse; }
int query_set_filter(struct query *q, const char *text, struct err *err) { (void)q;(void)text;(void)err; return 0; }
int query_zoom(struct query *q, row_id id) { (void)q;(void)id; return 0; }
int query_zoom_owner(struct query *q, uint32_t module) { (void)q;(void)module; return 0; }
size_t query_rows(struct query *q, bool resort, const struct row **rows) { (void)q;(void)resort; *rows = NULL; return 0; }
size_t query_index(const struct query *q, row_id id) { (void)q;(void)id; return SIZE_MAX; }
int query_open(struct query *q, row_id id, bool open) { (void)q;(void)id;(void)open; return 0; }
size_t query_open_below(struct query *q, row_id id, bool open, size_t limit) { (void)q;(void)id;(void)open;(void)limit; return 0; }
row_id query_open_heaviest(struct query *q, row_id id) { (void)q; return id; }
void query_unfold(struct query *q, row_id id) { (void)q;(void)id; }
row_id query_open_node(struct query *q, uint32_t node) { (void)q;(void)node; return 0; }
size_t query_search(struct query *q, const char *text, size_t *pending) { (void)q;(void)text; *pending = 0; return 0; }
row_id query_search_next(struct query *q, row_id from, bool backwards) { (void)q;(void)backwards; return from; }
size_t query_sites(struct query *q, enum query_column by, bool reverse, bool resort, const struct site **sites) { (void)q;(void)by;(void)reverse;(void)resort; *sites = NULL; return 0; }
void query_site_expect(struct query *q, uint32_t site, bool on) { (void)q;(void)site;(void)on; }
void query_verdict(struct query *q, struct verdict *v) { (void)q; v->kind = V_EMPTY; v->text[0] = 0; v->site = 0; }
size_t query_intervals(struct query *q, uint32_t from, uint32_t to, const struct interval_row **rows) { (void)q;(void)from;(void)to; *rows = NULL; return 0; }
size_t query_stack(struct query *q, uint32_t leaf, struct frame_out *out, size_t max) { (void)q;(void)leaf;(void)out;(void)max; return 0; }
