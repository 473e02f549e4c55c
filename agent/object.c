/* SPDX-License-Identifier: MIT
 *
 * object.c - reads loaded objects, and tells whether any of them defines a name.
 *
 * Why not ask dlsym? Because a failure leaves a message behind: made and freed by the program's own malloc
 * and free, where it has some, which may just be looking up theirs. So what does not exist is not asked for.
 * The hash table is the loader's own (DT_GNU_HASH); an object without one may define anything. A symbol of
 * value 0 does not exist, as unseen.c has it.
 */
#include "object.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

/* What is asked of all objects. */
struct question {
	const char *name;
	uint32_t hash;
};

/* glibc leaves addresses in the dynamic section, others what the file says. */
static void *at(const struct object *o, uintptr_t value)
{
	return (void *)(value < o->bias ? value + o->bias : value);
}

static void read_dynamic(struct object *o, const ElfW(Dyn) *d)
{
	for (; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB: o->symbol = at(o, d->d_un.d_ptr); break;
		case DT_STRTAB: o->string = at(o, d->d_un.d_ptr); break;
		case DT_GNU_HASH: o->hash = at(o, d->d_un.d_ptr); break;
		case DT_RELA: o->table[0] = at(o, d->d_un.d_ptr); break;
		case DT_RELASZ: o->bytes[0] = d->d_un.d_val; break;
		case DT_JMPREL: o->table[1] = at(o, d->d_un.d_ptr); break;
		case DT_PLTRELSZ: o->bytes[1] = d->d_un.d_val; break;
		}
	}
}

bool mt_object_read(const struct dl_phdr_info *info, struct object *o)
{
	uintptr_t page = getauxval(AT_PAGESZ);
	const ElfW(Dyn) *dynamic = NULL;

	*o = (struct object){ .bias = info->dlpi_addr, .start = UINTPTR_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t from = o->bias + ph->p_vaddr, to = from + ph->p_memsz;
		if (ph->p_type == PT_LOAD) {
			o->start = from < o->start ? from : o->start;
			o->end = to > o->end ? to : o->end;
		} else if (ph->p_type == PT_DYNAMIC) {
			dynamic = (const void *)from;
		} else if (ph->p_type == PT_GNU_RELRO) {
			o->fixed = from & ~(page - 1);
			o->fixed_end = to & ~(page - 1);
		}
	}
	if (dynamic)
		read_dynamic(o, dynamic);
	return o->symbol && o->string;
}

bool mt_object_holds(const struct object *o, const void *p)
{
	return (uintptr_t)p >= o->start && (uintptr_t)p < o->end;
}

/* The table: counts, a Bloom filter, the first symbol of each bucket, and the hashes of all that are defined. */
static bool defines(const struct object *o, const struct question *q)
{
	uint32_t buckets = o->hash[0], first = o->hash[1], words = o->hash[2], shift = o->hash[3];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(o->hash + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + words), *chain = bucket + buckets;
	const unsigned bits = sizeof(*bloom) * 8;
	ElfW(Addr) word = words ? bloom[q->hash / bits % words] : 0;

	if (!buckets || !(word >> q->hash % bits & word >> (q->hash >> shift) % bits & 1))
		return false;
	uint32_t i = bucket[q->hash % buckets];
	if (i < first)
		return false;
	for (;; i++) {
		uint32_t h = chain[i - first];
		const ElfW(Sym) *s = &o->symbol[i];
		if ((h | 1) == (q->hash | 1) && s->st_value && s->st_shndx != SHN_UNDEF &&
		    !strcmp(o->string + s->st_name, q->name))
			return true;
		if (h & 1)
			return false;
	}
}

static struct question ask_for(const char *name)
{
	struct question q = { name, 5381 };

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		q.hash = q.hash * 33 + *c;
	return q;
}

static int ask(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object o;

	(void)size;
	if (!mt_object_read(info, &o) || mt_object_holds(&o, (const void *)(uintptr_t)mt_object_read))
		return 0;
	return !o.hash || defines(&o, arg);
}

bool mt_object_any_defines(const char *name)
{
	struct question q = ask_for(name);

	return dl_iterate_phdr(ask, &q) != 0;
}

/* 1: the first that defines it is another's, -1: it is ours. */
static int ask_first(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object o;

	(void)size;
	if (!mt_object_read(info, &o) || !o.hash || !defines(&o, arg))
		return 0;
	return mt_object_holds(&o, (const void *)(uintptr_t)mt_object_read) ? -1 : 1;
}

bool mt_object_before_us(const char *name)
{
	struct question q = ask_for(name);

	return dl_iterate_phdr(ask_first, &q) > 0;
}
