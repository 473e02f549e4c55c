/* SPDX-License-Identifier: MIT
 *
 * processes.c - the lines of a process tree: made, sorted, summed.
 *
 * Ids are never reused. A line's parent usually has a lower id; only a target's own parent is found
 * later. A line in a cycle, as a corrupt file may have it, gets no parent. In a build that runs for
 * days the oldest lines that ended and never mattered are dropped; their figures stay in the sums.
 */
#include "processes/internal.h"

#include "base/loop.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define POLL_MS 50
#define SECOND_NS 1000000000ull
#define GROWTH_FROM 4 /* samples: less than three seconds cannot predict a minute */
#define LINES_MAX 100000u

struct line *processes_line(const struct processes *p, uint32_t id)
{
	return id && id <= p->count ? p->lines[id - 1] : NULL;
}

const struct process *processes_find(const struct processes *p, uint32_t id)
{
	struct line *l = processes_line(p, id);

	return l ? &l->p : NULL;
}

bool line_runs(const struct line *l)
{
	return l->p.state == PROCESS_STARTING || l->p.state == PROCESS_RUNNING ||
	       (l->p.state == PROCESS_UNFOLLOWED && !l->p.end_ns);
}

void line_say(char **slot, const char *text)
{
	char *copy = text && *text ? xstrdup(text) : NULL;

	free(*slot);
	*slot = copy;
}

static void line_free(struct line *l)
{
	if (!l)
		return;
	free(l->path);
	free(l->why);
	free(l->socket);
	free(l->samples);
	free(l);
}

/* --- what a line holds */

void line_stream(struct line *l, uint32_t stream)
{
	l->stream = stream;
	l->p.recorded = stream != STREAM_NONE;
}

void line_figures(struct line *l, const struct tally *sum, uint64_t peak_bytes)
{
	struct tally t = *sum;

	/* What a process wrote of itself: more freed than allocated would be a live of 2^64. */
	if (t.free_bytes > t.alloc_bytes)
		t.free_bytes = t.alloc_bytes;
	if (t.free_blocks > t.alloc_blocks)
		t.free_blocks = t.alloc_blocks;
	l->p.sum = t;
	l->p.live_bytes = live_bytes(&t);
	l->p.live_blocks = live_blocks(&t);
	l->p.peak_bytes = peak_bytes > l->p.live_bytes ? peak_bytes : l->p.live_bytes;
}

static void add_sample(struct line *l, uint64_t now)
{
	if (!l->samples)
		l->samples = xcalloc(SAMPLES, sizeof *l->samples);
	l->sample_at = (l->sample_at + 1) % SAMPLES;
	l->samples[l->sample_at] =
		(struct growth_sample){ now, l->p.live_bytes, l->p.sum.alloc_bytes };
	if (l->sample_count < SAMPLES)
		l->sample_count++;
}

static const struct growth_sample *sample_before(const struct line *l, unsigned steps)
{
	return &l->samples[(l->sample_at + SAMPLES - steps) % SAMPLES];
}

/* Each second, for a line with known figures: a relative's come with its watch. */
static void measure(struct line *l, uint64_t now)
{
	if (!l->stamp_ns && !l->p.exact)
		return;
	add_sample(l, now);
	if (l->sample_count < 2)
		return;
	const struct growth_sample *last = sample_before(l, 1),
				   *oldest = sample_before(l, l->sample_count - 1);
	double second = (double)(now - last->ns) / 1e9, all = (double)(now - oldest->ns) / 1e9;

	if (second > 0 && !l->p.watch)
		l->p.rate = l->p.sum.alloc_bytes > last->allocated
				    ? (double)(l->p.sum.alloc_bytes - last->allocated) / second
				    : 0;
	if (l->sample_count >= GROWTH_FROM)
		l->p.growth = ((double)l->p.live_bytes - (double)oldest->live) / all * 60;
}

static void rest(struct line *l)
{
	free(l->samples);
	l->samples = NULL;
	l->sample_count = 0;
	l->p.rate = l->p.growth = 0;
}

void processes_state(struct processes *p, struct line *l, enum process_state state)
{
	if (l->p.state == state)
		return;
	l->p.state = state;
	l->changed_ns = now_ns();
	p->changed = true;
	if (!line_runs(l))
		rest(l);
}

/* --- lines */

static uint64_t without(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* Does its parent's line count its inherited memory? */
static bool shares(const struct processes *p, const struct line *l, bool ended)
{
	struct line *parent = processes_line(p, l->p.parent);

	return l->p.forked && (ended || (parent && line_runs(parent)));
}

/* Its frees hit its parent's blocks, all of them, or its own as far as there are any. */
static void add_live(struct live_range *sum, uint64_t live, uint64_t inherited, uint64_t allocated)
{
	sum->least += without(live, inherited);
	sum->most += live < allocated ? live : allocated;
}

static void add_own(const struct processes *p, const struct line *l, struct processes_sum *sum)
{
	bool shared = shares(p, l, !sum->running);

	add_live(&sum->bytes, l->p.live_bytes, shared ? l->p.inherited_bytes : 0,
		 shared ? process_allocated(&l->p) : UINT64_MAX);
	add_live(&sum->blocks, l->p.live_blocks, shared ? l->inherited_blocks : 0,
		 shared ? process_allocated_blocks(&l->p) : UINT64_MAX);
}

uint64_t process_allocated_blocks(const struct process *p)
{
	return without(p->sum.alloc_blocks, p->before_blocks);
}

uint64_t process_allocated(const struct process *p)
{
	return without(p->sum.alloc_bytes, p->before_bytes);
}

bool processes_is_large(const struct processes *p, const struct line *l)
{
	uint64_t held = p->options.matter_bytes, churn = p->options.matter_alloc_bytes;

	return l->p.peak_bytes >= held + l->p.inherited_bytes ||
	       (churn && process_allocated(&l->p) >= churn);
}

static void add_sum(const struct line *l, struct processes_sum *sum)
{
	struct tally t = l->p.sum;

	t.alloc_blocks = process_allocated_blocks(&l->p);
	t.alloc_bytes = process_allocated(&l->p);
	tally_add(&sum->sum, &t);
	sum->lines += !l->hidden;
	sum->running += !l->hidden && line_runs(l);
	sum->unfollowed += l->p.state == PROCESS_UNFOLLOWED;
}

void processes_total(const struct processes *p, struct processes_sum *sum)
{
	*sum = p->dropped;
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i])
			add_sum(p->lines[i], sum);
	for (size_t i = 0; i < p->count; i++) {
		const struct line *l = p->lines[i];
		if (!l || (sum->running && !line_runs(l)) || l->p.state == PROCESS_EXECED)
			continue;
		add_own(p, l, sum);
	}
}

/* Drops the oldest line that ended and never mattered. */
static void make_room(struct processes *p)
{
	while (p->kept >= LINES_MAX && p->drop_at < p->count) {
		struct line **slot = &p->lines[p->drop_at++];
		if (!*slot || line_runs(*slot) || (*slot)->p.matters || (*slot)->p.watch ||
		    (*slot)->p.id == 1)
			continue;
		add_sum(*slot, &p->dropped);
		line_free(*slot);
		*slot = NULL;
		p->kept--;
	}
}

struct line *processes_add(struct processes *p, uint32_t parent, uint64_t begin_ns)
{
	struct line *l = xcalloc(1, sizeof *l), *above = processes_line(p, parent);

	make_room(p);
	GROW(p->lines, p->room, p->count + 1);
	p->lines[p->count++] = l;
	p->kept++;
	l->record = BOARD_NONE;
	l->stream = STREAM_NONE;
	l->changed_ns = now_ns();
	l->p.id = (uint32_t)p->count;
	l->p.parent = above ? parent : 0;
	l->p.path = "";
	l->p.begin_ns = begin_ns > p->origin_ns ? begin_ns - p->origin_ns : 0;
	p->ordered = false;
	p->changed = true;
	return l;
}

#define NOT_REACHED UINT_MAX

static void forget_depths(struct processes *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i])
			p->lines[i]->p.depth = NOT_REACHED;
}

/* Returns whether there were any. */
static bool cut_loops(struct processes *p)
{
	bool cut = false;

	for (size_t i = 0; i < p->count; i++) {
		if (!p->lines[i] || p->lines[i]->p.depth != NOT_REACHED)
			continue;
		p->lines[i]->p.parent = 0;
		cut = true;
	}
	return cut;
}

/* Orders parents first: below each, its children by id. No recursion: a tree may be as deep as
 * it has lines. */
static void order_from_roots(struct processes *p)
{
	uint32_t *child = xcalloc(p->count + 1, sizeof *child),
		 *next = xcalloc(p->count + 1, sizeof *next);
	uint32_t *stack = xcalloc(p->count + 1, sizeof *stack);
	size_t depth = 0;

	forget_depths(p);
	for (size_t id = p->count; id > 0; id--) {
		const struct line *l = p->lines[id - 1];
		uint32_t above = l && processes_line(p, l->p.parent) ? l->p.parent : 0;
		if (!l)
			continue;
		next[id] = child[above];
		child[above] = (uint32_t)id;
	}
	GROW(p->order, p->order_room, p->count + 1);
	p->order_count = 0;
	for (uint32_t id = child[0]; id || depth;) {
		if (!id) {
			id = stack[--depth];
			continue;
		}
		p->lines[id - 1]->p.depth = (unsigned)depth;
		if (!p->lines[id - 1]->hidden)
			p->order[p->order_count++] = id;
		stack[depth++] = next[id];
		id = child[id];
	}
	free(child);
	free(next);
	free(stack);
}

static void put_in_order(struct processes *p)
{
	order_from_roots(p);
	if (cut_loops(p))
		order_from_roots(p);
	p->ordered = true;
}

size_t processes_list(const struct processes *p, const struct process **list)
{
	struct processes *mine = (struct processes *)p; /* only its scratch list */

	if (!p->ordered)
		put_in_order(mine);
	GROW(mine->list, mine->list_room, p->order_count + 1);
	for (size_t i = 0; i < p->order_count; i++)
		mine->list[i] = p->lines[p->order[i] - 1]->p;
	*list = mine->list;
	return p->order_count;
}

size_t processes_count(const struct processes *p)
{
	const struct process *list;

	return processes_list(p, &list);
}

const struct process *processes_grows_more(const struct processes *p, uint32_t id)
{
	const struct line *shown = processes_line(p, id), *most = shown;

	for (size_t i = 0; shown && i < p->count; i++) {
		const struct line *l = p->lines[i];
		if (l && !l->hidden && line_runs(l) && l->p.growth > most->p.growth)
			most = l;
	}
	return shown && most != shown && most->p.growth > 0 ? &most->p : NULL;
}

uint64_t processes_time_ns(const struct processes *p)
{
	return p->file ? p->file_ns : now_ns() - p->origin_ns;
}

uint64_t processes_missed(const struct processes *p)
{
	return p->board ? shared_board_missed(p->board) : p->file_missed;
}

size_t processes_running(const struct processes *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->lines[i] && (p->lines[i]->p.state == PROCESS_RUNNING ||
				     p->lines[i]->p.state == PROCESS_STARTING);
	return n;
}

void processes_rule(const struct processes *p, char *text, size_t size)
{
	double mib = 1048576, churn = (double)p->options.matter_alloc_bytes / mib;
	int len = snprintf(text, size, "lived %.3g s%s held %.1fM",
			   (double)p->options.matter_ns / 1e9, churn ? "," : " or",
			   (double)p->options.matter_bytes / mib);

	if (churn && (size_t)len < size)
		snprintf(text + len, size - (size_t)len, " or allocated %.1fM", churn);
}

/* --- the clock */

static void on_second(struct processes *p, uint64_t now)
{
	p->second_ns = now;
	processes_look_alive(p);
	processes_look_near(p);
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] && p->lines[i]->p.state == PROCESS_RUNNING)
			measure(p->lines[i], now);
	processes_write(p);
	p->changed = true;
}

static void on_poll(void *arg)
{
	struct processes *p = arg;
	uint64_t now = now_ns();
	bool second = now - p->second_ns >= SECOND_NS;

	if (p->file || !p->first)
		return;
	if (p->board && (shared_board_moved(p->board) || second))
		processes_read_board(p, second);
	processes_care(p);
	if (second)
		on_second(p, now);
	if (p->changed && p->on_change)
		p->on_change(p->arg);
	p->changed = false;
}

struct processes *processes_new(struct loop *loop, const struct processes_options *o,
				struct err *err)
{
	struct processes *p = xcalloc(1, sizeof *p);

	p->loop = loop;
	p->options = *o;
	if (!o->matter_bytes)
		p->options.matter_bytes = PROCESSES_MATTER_BYTES;
	if (!o->matter_ns)
		p->options.matter_ns = PROCESSES_MATTER_NS;
	if (!o->matter_alloc_bytes)
		p->options.matter_alloc_bytes = PROCESSES_MATTER_ALLOC_BYTES;
	p->origin_ns = p->second_ns = now_ns();
	if (o->follow) {
		p->board = shared_board_new(&(struct board_rule){ p->options.matter_bytes,
								  p->options.matter_ns,
								  p->options.matter_alloc_bytes },
					    err);
		p->seats = xcalloc(BOARD_RECORDS, sizeof *p->seats);
	}
	if (o->follow && !p->board) {
		processes_free(p);
		return NULL;
	}
	p->timer = loop_timer(loop, POLL_MS, true, on_poll, p);
	return p;
}

const char *processes_board(const struct processes *p)
{
	return p->board ? shared_board_path(p->board) : "";
}

/* A file's watch shows one of its streams; without a table it is the only one. */
static void first_of_file(struct processes *p, struct watch *w)
{
	const struct target *t = watch_target(w);
	struct line *l = NULL;

	p->file = xstrdup(t->name);
	if (!p->kept && !processes_read(p, p->file))
		l = processes_one(p, w);
	for (size_t i = 0; i < p->count && p->tree; i++)
		if (p->lines[i] && p->lines[i]->stream == t->stream)
			l = p->lines[i];
	if (!l)
		l = processes_one(p, w);
	l->p.watch = w;
	l->given = true;
}

void processes_first(struct processes *p, pid_t pid, struct watch *w)
{
	struct line *l = processes_line(p, 1);
	uint64_t now = now_ns();

	p->first = w;
	p->first_pid = pid;
	if (watch_target(w)->kind == TARGET_FILE) {
		first_of_file(p, w);
		return;
	}
	if (!l) {
		p->origin_ns = now;
		l = processes_add(p, 0, now);
		p->first_now = 1;
		snprintf(l->p.name, sizeof l->p.name, "%.63s", watch_target(w)->text);
	}
	l->p.pid = (int)pid;
	l->p.state = PROCESS_RUNNING;
	l->p.matters = true;
	l->p.watch = w;
	if (!p->board)
		processes_care(p); /* what is known of it, at once */
}

/* The status belongs to the last program of its process. */
void processes_first_ended(struct processes *p, int wait_status)
{
	struct line *last = processes_line(p, 1);

	if (p->board)
		processes_read_board(p, true);
	for (size_t i = 0; i < p->count; i++)
		if (p->lines[i] && p->lines[i]->p.pid == (int)p->first_pid &&
		    p->lines[i]->p.state != PROCESS_EXECED)
			last = p->lines[i];
	p->first_ended = true;
	if (!last)
		return; /* it was never watched */
	last->p.status =
		WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
	last->p.status_known = true;
	if (!last->p.end_ns)
		last->p.end_ns = now_ns() - p->origin_ns;
	if (last->p.state != PROCESS_UNFOLLOWED)
		processes_state(p, last,
				WIFSIGNALED(wait_status) ? PROCESS_SIGNALLED : PROCESS_EXITED);
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	loop_remove(p->timer);
	for (size_t i = 0; i < p->count; i++) {
		if (p->lines[i] && p->lines[i]->p.watch != p->first)
			watch_close(p->lines[i]->p.watch);
		line_free(p->lines[i]);
	}
	shared_board_free(p->board);
	free(p->seats);
	free(p->file);
	free(p->lines);
	free(p->order);
	free(p->list);
	free(p);
}

void processes_on_change(struct processes *p, void (*fn)(void *arg), void *arg)
{
	p->on_change = fn;
	p->arg = arg;
}
