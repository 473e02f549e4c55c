/* SPDX-License-Identifier: MIT
 *
 * object.c - reads loaded objects: which of them defines a name, and which slots hold the addresses
 * of other objects' functions.
 *
 * dlsym would not do: the program can have one of its own, older C libraries have it in a library
 * that few programs load, and its failure leaves a message, which the program's malloc and free
 * handle. So a name is looked up here as dlsym does it, but for objects that came by a dlopen,
 * which are in the loader's list as all others. A symbol of value 0 counts as absent, as in
 * hooks/jemalloc_names.c.
 */
#include "modules/object.h"
#include "base/libc.h"
#include "base/types.h"
#include "modules/packed.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#define IS_ADDRESS(type)                                                                           \
	((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#elif defined(__aarch64__)
#define IS_ADDRESS(type)                                                                           \
	((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#else
#define IS_ADDRESS(type)                                                                           \
	((type) == R_ARM_JUMP_SLOT || (type) == R_ARM_GLOB_DAT || (type) == R_ARM_ABS32)
#endif

#if UINTPTR_MAX > UINT32_MAX
#define INFO_SYMBOL(info) ((uint32_t)ELF64_R_SYM(info))
#define INFO_TYPE(info) ELF64_R_TYPE(info)
#else
#define INFO_SYMBOL(info) ((uint32_t)ELF32_R_SYM(info))
#define INFO_TYPE(info) ELF32_R_TYPE(info)
#endif

/* Of Android's linker; elf.h lacks them. */
#define ANDROID_REL 0x6000000f
#define ANDROID_RELSZ 0x60000010
#define ANDROID_RELA 0x60000011
#define ANDROID_RELASZ 0x60000012

/* A last page that is not full: others leave it writable, Android's linker does not. */
#ifdef __BIONIC__
#define RELRO_SLACK(page) ((page)-1)
#else
#define RELRO_SLACK(page) 0
#endif

#define HIDDEN_VERSION 0x8000u /* in DT_VERSYM */
#define FIRST_VERSION 2u       /* the numbers before it are no versions */

/* What is asked of all objects. */
struct question {
	const char *name;
	uint32_t hash;
};

/* glibc stores addresses in the dynamic section, other loaders keep the file's values. */
static void *at(const struct object *o, uintptr_t value)
{
	return (void *)(value < o->bias ? value + o->bias : value);
}

static void read_dynamic(struct object *o, const ElfW(Dyn) * d)
{
	uintptr_t soname = 0;

	for (; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SONAME: soname = d->d_un.d_val; break;
		case DT_VERSYM: o->version = at(o, d->d_un.d_ptr); break;
		case DT_SYMTAB: o->symbol = at(o, d->d_un.d_ptr); break;
		case DT_STRTAB: o->string = at(o, d->d_un.d_ptr); break;
		case DT_GNU_HASH: o->hash = at(o, d->d_un.d_ptr); break;
		case DT_HASH: o->old_hash = at(o, d->d_un.d_ptr); break;
		case DT_RELA: o->table[TABLE_RELA] = at(o, d->d_un.d_ptr); break;
		case DT_RELASZ: o->bytes[TABLE_RELA] = d->d_un.d_val; break;
		case DT_REL: o->table[TABLE_REL] = at(o, d->d_un.d_ptr); break;
		case DT_RELSZ: o->bytes[TABLE_REL] = d->d_un.d_val; break;
		case DT_JMPREL: o->table[TABLE_CALLS] = at(o, d->d_un.d_ptr); break;
		case DT_PLTRELSZ: o->bytes[TABLE_CALLS] = d->d_un.d_val; break;
		case DT_PLTREL: o->calls_rela = d->d_un.d_val == DT_RELA; break;
		case ANDROID_REL:
		case ANDROID_RELA:
			o->table[TABLE_PACKED] = (void *)(o->bias + d->d_un.d_ptr);
			break;
		case ANDROID_RELSZ:
		case ANDROID_RELASZ: o->bytes[TABLE_PACKED] = d->d_un.d_val; break;
		}
	}
	if (soname && o->string)
		o->soname = o->string + soname;
}

bool mt_object_read_dynamic(struct object *o, uintptr_t bias, const ElfW(Dyn) * dynamic)
{
	*o = (struct object){ .bias = bias };
	read_dynamic(o, dynamic);
	return o->symbol && o->string;
}

bool mt_object_read_headers(struct object *o, uintptr_t bias, const ElfW(Phdr) * header,
			    size_t headers)
{
	uintptr_t page = getauxval(AT_PAGESZ);
	const ElfW(Dyn) *dynamic = NULL;

	*o = (struct object){ .bias = bias, .header = header, .headers = headers };
	for (size_t i = 0; i < headers; i++) {
		const ElfW(Phdr) *ph = &header[i];
		uintptr_t from = o->bias + ph->p_vaddr, to = from + ph->p_memsz;
		if (ph->p_type == PT_DYNAMIC) {
			dynamic = (const void *)from;
		} else if (ph->p_type == PT_GNU_RELRO) {
			o->fixed = from & ~(page - 1);
			o->fixed_end = (to + RELRO_SLACK(page)) & ~(page - 1);
		}
	}
	if (dynamic)
		read_dynamic(o, dynamic);
	return o->symbol && o->string;
}

bool mt_object_read(const struct dl_phdr_info *info, struct object *o)
{
	return mt_object_read_headers(o, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum);
}

bool mt_object_holds(const struct object *o, const void *p)
{
	for (size_t i = 0; i < o->headers; i++) {
		const ElfW(Phdr) *ph = &o->header[i];
		if (ph->p_type == PT_LOAD && (uintptr_t)p - o->bias - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

int mt_object_protection(const struct object *o, const void *p)
{
	int how = PROT_READ;

	for (size_t i = 0; i < o->headers; i++) {
		const ElfW(Phdr) *ph = &o->header[i];
		if (ph->p_type == PT_LOAD && (uintptr_t)p - o->bias - ph->p_vaddr < ph->p_memsz)
			how |= (ph->p_flags & PF_X ? PROT_EXEC : 0) |
			       (ph->p_flags & PF_W ? PROT_WRITE : 0);
	}
	return how;
}

static bool is_defined(const struct object *o, const ElfW(Sym) * s, const char *name)
{
	return s->st_value && s->st_shndx != SHN_UNDEF && !strcmp(o->string + s->st_name, name);
}

/*
 * The first symbol from `from` on that is defined by that name; NULL. The table: counts, a Bloom
 * filter, the first symbol of each bucket, and the hashes of all that are defined.
 */
static ElfW(Sym) * find(const struct object *o, const struct question *q, uint32_t from)
{
	uint32_t buckets = o->hash[0], first = o->hash[1], words = o->hash[2], shift = o->hash[3];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(o->hash + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + words), *chain = bucket + buckets;
	const unsigned bits = sizeof(*bloom) * 8;
	ElfW(Addr) word = words ? bloom[q->hash / bits % words] : 0;

	if (!buckets || !(word >> q->hash % bits & word >> (q->hash >> shift) % bits & 1))
		return NULL;
	uint32_t i = bucket[q->hash % buckets];
	if (i < first)
		return NULL;
	for (;; i++) {
		uint32_t h = chain[i - first];
		if (i >= from && (h | 1) == (q->hash | 1) && is_defined(o, &o->symbol[i], q->name))
			return &o->symbol[i];
		if (h & 1)
			return NULL;
	}
}

/* Where there is only System V's table: its second word is how many symbols there are. */
static ElfW(Sym) * find_old(const struct object *o, const struct question *q, uint32_t from)
{
	for (uint32_t i = from; o->old_hash && i < o->old_hash[1]; i++)
		if (is_defined(o, &o->symbol[i], q->name))
			return &o->symbol[i];
	return NULL;
}

/* The number of symbols, from the table; with DT_GNU_HASH, from the end of its longest chain: that
 * of the last bucket in use. */
const ElfW(Sym) * mt_object_symbols_end(const struct object *o)
{
	if (!o->hash)
		return o->symbol + (o->old_hash ? o->old_hash[1] : 0);
	uint32_t buckets = o->hash[0], first = o->hash[1], words = o->hash[2], last = 0;
	const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(o->hash + 4) + words),
		       *chain = bucket + buckets;

	for (uint32_t i = 0; i < buckets; i++)
		last = bucket[i] > last ? bucket[i] : last;
	if (last < first)
		return o->symbol + first;
	while (!(chain[last - first] & 1))
		last++;
	return o->symbol + last + 1;
}

static ElfW(Sym) * find_any(const struct object *o, const struct question *q, uint32_t from)
{
	return o->hash ? find(o, q, from) : find_old(o, q, from);
}

/* Not the default one of its name: only for programs that were linked to an older library. */
static bool is_old_version(const struct object *o, const ElfW(Sym) * s)
{
	unsigned version = o->version ? o->version[s - o->symbol] : 0;

	return version & HIDDEN_VERSION && (version & ~HIDDEN_VERSION) >= FIRST_VERSION;
}

/* What a lookup without a version finds, as dlsym's. NULL: none. */
static ElfW(Sym) * find_default(const struct object *o, const struct question *q)
{
	ElfW(Sym) *s = find_any(o, q, 0);

	while (s && is_old_version(o, s))
		s = find_any(o, q, (uint32_t)(s - o->symbol) + 1);
	return s;
}

/* An indirect function says itself where it is, as the loader asks it. */
static void *value_of(const struct object *o, const ElfW(Sym) * s)
{
	uintptr_t at = o->bias + s->st_value;

	if ((s->st_info & 15) != STT_GNU_IFUNC)
		return (void *)at;
#if defined(__aarch64__)
	struct {
		unsigned long size, first, second;
	} words = { sizeof(words), getauxval(AT_HWCAP), getauxval(AT_HWCAP2) };
	uint64_t first = words.first | (uint64_t)1 << 62; /* there is a second argument */
	return ((void *(*)(uint64_t, const void *))at)(first, &words);
#elif defined(__arm__)
	return ((void *(*)(unsigned long))at)(getauxval(AT_HWCAP));
#else
	return ((void *(*)(void))at)();
#endif
}

static struct question ask_for(const char *name)
{
	struct question q = { name, 5381 };

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		q.hash = q.hash * 33 + *c;
	return q;
}

void *mt_object_symbol(const struct object *o, const char *name)
{
	struct question q = ask_for(name);
	const ElfW(Sym) *s = find_default(o, &q);

	if (!s)
		s = find_any(o, &q, 0);
	return s ? value_of(o, s) : NULL;
}

/* A walk over the loader's list, in which the agent is somewhere. */
struct search {
	struct question q;
	bool behind; /* what comes behind the agent; else what comes before it */
	bool passed; /* the agent */
	void *f;
};

static int search(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *w = arg;
	struct object o;

	(void)size;
	if (!mt_object_read(info, &o))
		return 0;
	if (mt_object_holds(&o, (const void *)(uintptr_t)mt_object_read)) {
		w->passed = true;
		return !w->behind;
	}
	const ElfW(Sym) *s = w->passed == w->behind ? find_default(&o, &w->q) : NULL;
	if (s)
		w->f = value_of(&o, s);
	return s != NULL;
}

void *mt_object_next(const char *name)
{
	struct search w = { .q = ask_for(name), .behind = true };

	dl_iterate_phdr(search, &w);
	return w.f;
}

void *mt_object_front(const char *name)
{
	struct search w = { .q = ask_for(name) };

	dl_iterate_phdr(search, &w);
	return w.f;
}

struct whereabouts {
	const void *address;
	struct object *o;
	const char *name;
};

static int is_there(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct whereabouts *w = arg;

	(void)size;
	mt_object_read(info, w->o);
	if (!mt_object_holds(w->o, w->address))
		return 0;
	w->name = info->dlpi_name ? info->dlpi_name : "";
	return 1;
}

const char *mt_object_of(const void *address, struct object *o)
{
	struct whereabouts w = { address, o, NULL };

	dl_iterate_phdr(is_there, &w);
	return w.name;
}

struct definition {
	struct question q;
	void *f;
};

bool mt_object_is_agent(const struct object *o)
{
	return mt_object_symbol(o, "memtop_attach") != NULL;
}

/* The address of an indirect function would not do: rebinding compares it with slots and symbols.
 * Nor would the hook of another build of the agent, which an earlier attach left. */
static int define(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct definition *d = arg;
	struct object o;

	(void)size;
	if (!mt_object_read(info, &o) ||
	    mt_object_holds(&o, (const void *)(uintptr_t)mt_object_read))
		return 0;
	const ElfW(Sym) *s = find_default(&o, &d->q);
	if (!s || (s->st_info & 15) == STT_GNU_IFUNC || mt_object_is_agent(&o))
		return 0;
	d->f = (void *)(o.bias + s->st_value);
	return 1;
}

void *mt_object_definition(const char *name)
{
	struct definition d = { ask_for(name), NULL };

	dl_iterate_phdr(define, &d);
	return d.f;
}

struct order {
	unsigned seen;
	bool us;
};

/* libc and the loader come behind all linked or preloaded libraries, and before those of a later
 * dlopen. Android's loader may come anywhere. The program itself is neither, even with such
 * functions of its own or stand-ins for them. */
static int who_is_first(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct order *order = arg;
#ifdef __BIONIC__
	uintptr_t loader = 0;
#else
	uintptr_t loader = getauxval(AT_BASE);
#endif
	struct object o;

	(void)size;
	mt_object_read(info, &o);
	order->us = mt_object_holds(&o, (const void *)(uintptr_t)mt_object_read);
	return order->us ||
	       (order->seen++ && ((loader && mt_object_holds(&o, (const void *)loader)) ||
				  mt_object_holds(&o, mt_libc_own("dl_iterate_phdr"))));
}

bool mt_object_interposes(void)
{
	struct order order = { 0, false };

	dl_iterate_phdr(who_is_first, &order);
	return order.us;
}

void mt_object_each_symbol(const struct object *o, const char *name,
			   void (*visit)(void *arg, ElfW(Sym) * s), void *arg)
{
	struct question q = ask_for(name);

	for (ElfW(Sym) *s = find_any(o, &q, 0); s;
	     s = find_any(o, &q, (uint32_t)(s - o->symbol) + 1))
		visit(arg, s);
}

struct walk {
	const struct object *o;
	void (*visit)(void *arg, const char *name, void **slot);
	void *arg;
};

/* An address with an addend is not the function's. Text segments are not searched. */
static bool slot_at(void *arg, uintptr_t offset, uintptr_t info, intptr_t addend)
{
	const struct walk *w = arg;
	uint32_t index = INFO_SYMBOL(info);
	void **slot = (void **)(w->o->bias + offset);

	if (index && !addend && IS_ADDRESS(INFO_TYPE(info)) &&
	    mt_object_protection(w->o, slot) & PROT_WRITE)
		w->visit(w->arg, w->o->string + w->o->symbol[index].st_name, slot);
	return true;
}

/*
 * DT_RELR is left out on purpose: its entries are relative ones, of the object's own bias, and name
 * no symbol.
 */
void mt_object_each_slot(const struct object *o,
			 void (*visit)(void *arg, const char *name, void **slot), void *arg)
{
	struct walk w = { o, visit, arg };

	for (enum table k = TABLE_RELA; k <= TABLE_CALLS; k++) {
		bool rela = k == TABLE_RELA || (k == TABLE_CALLS && o->calls_rela);
		size_t each = rela ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
		const char *from = o->table[k],
			   *end = from ? from + o->bytes[k] / each * each : from;
		for (const char *at = from; at != end; at += each) {
			const ElfW(Rel) *r = (const void *)at;
			slot_at(&w, r->r_offset, r->r_info,
				rela ? ((const ElfW(Rela) *)(const void *)at)->r_addend : 0);
		}
	}
	if (o->table[TABLE_PACKED])
		mt_packed_each(o->table[TABLE_PACKED], o->bytes[TABLE_PACKED], slot_at, &w);
}
