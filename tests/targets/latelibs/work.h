/* SPDX-License-Identifier: MIT
 *
 * work.h - random allocations, counted per module: compiled into late.c and into each of its
 * libraries, so that each of them reaches malloc through its own references.
 */
#ifndef WORK_H
#define WORK_H

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#include <new>
#define EXPORTED extern "C"
#else
#define EXPORTED
#endif

enum { BLOCKS = 512 };

/* As memcheck counts: a realloc is a free and an allocation. Of one thread. */
struct tally {
	uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
	uint64_t before_blocks, before_bytes; /* frees of what was allocated before: usable sizes */
	uint64_t wrong;                       /* blocks whose contents changed */
};

enum kind { BY_MALLOC, BY_NEW, BY_NEW_ARRAY, BY_ALIGNED_NEW };

struct block {
	unsigned char *p;
	size_t n;
	enum kind kind;
	int before; /* allocated before the agent came */
};

struct worker {
	struct block block[BLOCKS];
	struct tally tally;
	uint64_t random;
};

typedef void work_fn(struct worker *w, int events);

static inline unsigned draw(struct worker *w, unsigned below)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(w->random >> 33) % below;
}

static inline void took(struct worker *w, struct block *b, void *p, size_t n, enum kind kind)
{
	b->p = (unsigned char *)p;
	b->n = n;
	b->kind = kind;
	b->before = 0;
	memset(p, (int)(n * 7 & 0xff), n);
	w->tally.alloc_blocks++;
	w->tally.alloc_bytes += n;
}

/* Counted; the caller frees it then. */
static inline void *gave(struct worker *w, struct block *b)
{
	for (size_t i = 0; i<b->n; i += b->n> 64 ? 61 : 1)
		w->tally.wrong += b->p[i] != (b->n * 7 & 0xff);
	if (b->before) {
		w->tally.before_blocks++;
		w->tally.before_bytes += malloc_usable_size(b->p);
	} else {
		w->tally.free_blocks++;
		w->tally.free_bytes += b->n;
	}
	void *p = b->p;
	b->p = NULL;
	return p;
}

static inline size_t draw_size(struct worker *w)
{
	return draw(w, 8) ? draw(w, 700) : 2048 + draw(w, 60000);
}

static inline void drop(struct worker *w, struct block *b)
{
#ifdef __cplusplus
	if (b->kind == BY_NEW)
		return ::operator delete(gave(w, b));
	if (b->kind == BY_NEW_ARRAY)
		return ::operator delete[](gave(w, b));
	if (b->kind == BY_ALIGNED_NEW)
		return ::operator delete(gave(w, b), std::align_val_t(64));
#else
	if (b->kind != BY_MALLOC)
		return; /* a module of C++ frees it */
#endif
	free(gave(w, b));
}

static inline void make(struct worker *w, struct block *b)
{
	size_t n = draw_size(w);
	void *p;

	switch (draw(w, 4)) {
#ifdef __cplusplus
	case 0: return took(w, b, ::operator new(n), n, BY_NEW);
	case 1: return took(w, b, ::operator new[](n), n, BY_NEW_ARRAY);
	case 2: return took(w, b, ::operator new(n, std::align_val_t(64)), n, BY_ALIGNED_NEW);
#else
	case 0: return took(w, b, calloc(1, n), n, BY_MALLOC);
	case 1:
		if (posix_memalign(&p, 64, n))
			abort();
		return took(w, b, p, n, BY_MALLOC);
	case 2:
		return took(w, b, strdup("a string of libc's"), 19, BY_MALLOC),
		       (void)memset(b->p, 19 * 7 & 0xff, 19);
#endif
	default: p = malloc(n); took(w, b, p, n, BY_MALLOC);
	}
}

static inline void resize(struct worker *w, struct block *b)
{
	size_t n = 1 + draw_size(w);

	if (b->kind != BY_MALLOC)
		return;
	void *old = gave(w, b);
	took(w, b, realloc(old, n), n, BY_MALLOC);
}

static inline void work(struct worker *w, int events)
{
	while (events--) {
		struct block *b = &w->block[draw(w, BLOCKS)];
		if (!b->p)
			make(w, b);
		else if (draw(w, 4))
			drop(w, b);
		else
			resize(w, b);
	}
}

static inline void drop_all(struct worker *w, int unused)
{
	(void)unused;
	for (int i = 0; i < BLOCKS; i++)
		if (w->block[i].p)
			drop(w, &w->block[i]);
}

#endif
