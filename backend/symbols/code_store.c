/* SPDX-License-Identifier: MIT
 *
 * code_store.c - the opened files of modules: each is read once, however many processes have it.
 *
 * A build-id names one content, so a file that is open under that id serves every module with it.
 * Two files can share an id and differ in what they name: one of them was stripped. So another
 * path is served only by a file with DWARF, which has everything; else the module's own file is
 * looked for. Without a build-id, and to join two paths of one file (/lib, /usr/lib), the file
 * itself decides: device, inode, size and time of its last change.
 *
 * A file that no process needs stays open for the next one (a build starts the same compiler a
 * thousand times), up to IDLE_FILES and IDLE_BYTES: beyond them the longest unused one is closed.
 * The data of a file that was not asked for some time is freed; it is read again when needed.
 */
#include "symbols/code_file.h"

#include <stdlib.h>
#include <string.h>

#define IDLE_FILES 32u
#define READ_NS 1000000u /* an answer that took as long read a part of the file */
#define READ_TIMES 10u
#define IDLE_BYTES (256ull << 20) /* of the files, with their debug files */

struct code_stored {
	struct code_stored *next;
	struct code_file *file;
	char *path; /* owned; as the first module named it */
	uint8_t build_id[64];
	size_t build_id_len;
	unsigned users;
	uint64_t used_ns; /* when it was last asked, or given back */
	uint64_t read_ns; /* its data was read in, since it last rested */
	bool rests;       /* its data is freed */
};

struct code_store {
	struct code_places places; /* owned, immutable */
	struct code_stored *files;
};

struct code_store *code_store_new(const struct code_places *places)
{
	struct code_store *s = xcalloc(1, sizeof *s);
	const char **dirs = xcalloc(places->dir_count, sizeof *dirs);

	for (size_t i = 0; i < places->dir_count; i++)
		dirs[i] = xstrdup(places->dirs[i]);
	s->places = (struct code_places){ places->sysroot ? xstrdup(places->sysroot) : NULL, dirs,
					  places->dir_count };
	return s;
}

const struct code_places *code_store_places(const struct code_store *s)
{
	return &s->places;
}

bool code_store_searches(const struct code_store *s, const struct code_places *places)
{
	const char *a = s->places.sysroot, *b = places->sysroot;

	if (s->places.dir_count != places->dir_count || (a && b ? strcmp(a, b) != 0 : a != b))
		return false;
	for (size_t i = 0; i < places->dir_count; i++)
		if (strcmp(s->places.dirs[i], places->dirs[i]))
			return false;
	return true;
}

static void close_file(struct code_store *s, struct code_stored *f)
{
	struct code_stored **at = &s->files;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	code_file_close(f->file);
	free(f->path);
	free(f);
}

void code_store_free(struct code_store *s)
{
	while (s->files)
		close_file(s, s->files);
	for (size_t i = 0; i < s->places.dir_count; i++)
		free((char *)s->places.dirs[i]);
	free((void *)s->places.dirs);
	free((char *)s->places.sysroot);
	free(s);
}

static bool has_id(const struct code_stored *f, const struct code_where *w)
{
	return w->build_id_len && f->build_id_len == w->build_id_len &&
	       !memcmp(f->build_id, w->build_id, w->build_id_len);
}

/* A file that is certainly the module's, without looking for it. */
static struct code_stored *find(const struct code_store *s, const struct code_where *w)
{
	struct code_stat is;

	for (struct code_stored *f = s->files; f; f = f->next)
		if (has_id(f, w) && code_file_stat(f->file, &is) &&
		    (!strcmp(f->path, w->path) || code_file_has_dwarf(f->file)))
			return f;
	return NULL;
}

/* The stored file that `file` is, opened by another path or process. */
static struct code_stored *find_same(const struct code_store *s, const struct code_file *file,
				     const struct code_where *w)
{
	struct code_stat is, its;

	if (!code_file_stat(file, &is) || !is.ino)
		return NULL;
	for (struct code_stored *f = s->files; f; f = f->next)
		if ((has_id(f, w) || (!f->build_id_len && !w->build_id_len)) &&
		    code_file_stat(f->file, &its) && !memcmp(&is, &its, sizeof is))
			return f;
	return NULL;
}

static struct code_stored *open_file(struct code_store *s, const struct code_where *w,
				     char **problem)
{
	struct code_file *file = code_file_open(w, &s->places, problem);
	struct code_stored *f = find_same(s, file, w);

	if (f) {
		code_file_close(file);
		return f;
	}
	f = xcalloc(1, sizeof *f);
	f->file = file;
	f->path = xstrdup(w->path);
	f->build_id_len =
		w->build_id_len < sizeof f->build_id ? w->build_id_len : sizeof f->build_id;
	if (f->build_id_len)
		memcpy(f->build_id, w->build_id, f->build_id_len);
	f->next = s->files;
	return s->files = f;
}

struct code_stored *code_store_take(struct code_store *s, const struct code_where *w,
				    char **problem)
{
	struct code_stored *f = find(s, w);

	*problem = NULL;
	if (!f)
		f = open_file(s, w, problem);
	f->users++;
	return f;
}

struct code_file *code_store_use(struct code_stored *f)
{
	f->used_ns = now_ns();
	f->rests = false;
	return f->file;
}

void code_store_took(struct code_stored *f, uint64_t ns)
{
	if (ns >= READ_NS)
		f->read_ns += ns;
}

static uint64_t rests_after(const struct code_stored *f, uint64_t most)
{
	uint64_t ns = READ_TIMES * f->read_ns;

	ns = ns > CODE_REST_LEAST_NS ? ns : CODE_REST_LEAST_NS;
	return ns < most ? ns : most;
}

/* The longest unused file without users; NULL: they are within their bounds. */
static struct code_stored *superfluous(const struct code_store *s)
{
	struct code_stored *oldest = NULL;
	uint64_t bytes = 0;
	unsigned count = 0;

	for (struct code_stored *f = s->files; f; f = f->next) {
		if (f->users)
			continue;
		count++;
		bytes += code_file_bytes(f->file);
		if (!oldest || f->used_ns < oldest->used_ns)
			oldest = f;
	}
	return count > IDLE_FILES || bytes > IDLE_BYTES ? oldest : NULL;
}

void code_store_give_back(struct code_store *s, struct code_stored *f)
{
	struct code_stat is;

	if (--f->users)
		return;
	f->used_ns = now_ns();
	if (!code_file_stat(f->file, &is)) /* a later process may find it */
		close_file(s, f);
	while ((f = superfluous(s)))
		close_file(s, f);
}

uint64_t code_store_rest(struct code_store *s, uint64_t unused_ns, bool *freed)
{
	uint64_t now = now_ns(), next = 0;

	*freed = false;
	for (struct code_stored *f = s->files; f; f = f->next) {
		uint64_t at = f->used_ns + rests_after(f, unused_ns);
		if (f->rests || !f->used_ns)
			continue;
		if (at <= now) {
			code_file_rest(f->file);
			*freed = f->rests = true;
			f->read_ns = 0;
		} else if (!next || at < next) {
			next = at;
		}
	}
	return next;
}
