/* SPDX-License-Identifier: MIT
 *
 * conf.c - MEMTOP_OPTIONS: options separated by spaces or commas. Double quotes group, a backslash
 * quotes the next character.
 *
 * One table gives every option's place, kind and bounds; parsing, printing and changes at run time
 * all walk it. An unknown or malformed option prints one line on stderr, and the program runs
 * unprofiled (mt_conf_parse() returns false): a misspelt option must not pass for one in force.
 */
#include "base/conf.h"
#include "base/msg.h"

#include <memtop/options.h>
#include <string.h>

struct option {
	struct mtw_option is;
	size_t offset; /* in struct conf */
};

#if defined(__arm__)
#define DEFAULT_ENGINE "ehabi"
#else
#define DEFAULT_ENGINE "cfi"
#endif
#define DEFAULTS                                                                                   \
	{                                                                                          \
		.listen = "@memtop.%p", .unwind = DEFAULT_ENGINE, .xdepth = 256,                   \
		.mark_memory = 32u << 20, .tick_ns = 100u * 1000 * 1000,                           \
	}

struct conf mt_conf = DEFAULTS;

void mt_conf_reset(void)
{
	static const struct conf defaults = DEFAULTS;

	memcpy(&mt_conf, &defaults, sizeof(mt_conf));
}

#define ROW(name, member, ...) { { #name, __VA_ARGS__ }, offsetof(struct conf, member) },
static const struct option options[] = { MTW_OPTIONS(ROW) };
#define FITS(name, member, kind, low, high, ...)                                                   \
	_Static_assert(((kind) != MTW_TEXT && (kind) != MTW_PATTERN) ||                            \
			       (high) == sizeof(mt_conf.member),                                   \
		       #name);
MTW_OPTIONS(FITS)
#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

static void *place(const struct option *o)
{
	return (char *)&mt_conf + o->offset;
}

/* NULL when stored, else what is wrong with the value. */
static const char *set(const struct option *o, const char *value)
{
	static struct regex unused; /* start-up, or the server: one at a time */
	uint64_t v = 0;
	const char *wrong = mtw_option_wrong(&o->is, value, &v, &unused);

	if (wrong)
		return wrong;
	switch (o->is.kind) {
	case MTW_TEXT:
	case MTW_PATTERN: memcpy(place(o), value, strlen(value) + 1); break;
	case MTW_SWITCH: *(bool *)place(o) = true; break;
	case MTW_DEPTH:
		atomic_store_explicit((_Atomic uint32_t *)place(o), (uint32_t)v,
				      memory_order_relaxed);
		break;
	case MTW_MILLISECONDS:
		v *= 1000 * 1000;
		/* fall through */
	default: *(uint64_t *)place(o) = v;
	}
	return NULL;
}

static const struct option *find(const char *name, size_t len)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strlen(options[i].is.name) == len && !memcmp(options[i].is.name, name, len))
			return &options[i];
	return NULL;
}

/* told: by memtop itself, which may be newer; what is not known is skipped. */
static bool set_word(const char *word, bool told)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const struct option *o = find(word, len);
	const char *wrong = NULL;

	if (o)
		wrong = equals ? set(o, equals + 1) : "is missing";
	if (told || (o && !wrong))
		return true;
	if (!o)
		mt_msg("MEMTOP_OPTIONS: no option is called \"%s\"; running unprofiled", word);
	else
		mt_msg("MEMTOP_OPTIONS: the value in \"%s\" %s; running unprofiled", word, wrong);
	return false;
}

static bool parse(const char *text, bool told)
{
	char word[MTW_OPTION_WORD_MAX];
	int got;

	while ((got = mtw_option_word(&text, word, sizeof(word))) > 0)
		if (!set_word(word, told))
			return false;
	if (got < 0 && !told)
		mt_msg("MEMTOP_OPTIONS: a quote is not closed, or a word is too long; "
		       "running unprofiled");
	return got == 0;
}

void mt_conf_told(const char *text)
{
	parse(text, true);
}

bool mt_conf_parse(const char *text)
{
	return parse(text, false);
}

static size_t print_text(char *buf, size_t size, const struct option *o)
{
	const char *value = place(o);
	size_t n = mt_format(buf, size, "%s=", o->is.name);

	for (; *value && n + 2 < size; value++) {
		if (strchr(" ,\t\n\"\\", *value))
			buf[n++] = '\\';
		buf[n++] = *value;
	}
	if (n < size)
		buf[n] = '\0';
	return n;
}

static size_t print_one(char *buf, size_t size, const struct option *o)
{
	switch (o->is.kind) {
	case MTW_TEXT:
	case MTW_PATTERN: return *(const char *)place(o) ? print_text(buf, size, o) : 0;
	case MTW_SWITCH:
		return *(bool *)place(o) ? mt_format(buf, size, "%s=%s", o->is.name, o->is.choice)
					 : 0;
	case MTW_DEPTH:
		return mt_format(buf, size, "%s=%u", o->is.name,
				 atomic_load_explicit(&mt_conf.xdepth, memory_order_relaxed));
	case MTW_MILLISECONDS:
		return mt_format(buf, size, "%s=%llu", o->is.name,
				 (unsigned long long)(*(uint64_t *)place(o) / 1000000));
	default:
		/* below its bound: not set, and no value that could be */
		if (*(uint64_t *)place(o) < o->is.low)
			return 0;
		return mt_format(buf, size, "%s=%llu", o->is.name,
				 (unsigned long long)*(uint64_t *)place(o));
	}
}

size_t mt_conf_print(char *buf, size_t size)
{
	size_t n = 0;

	if (size)
		buf[0] = '\0';
	for (size_t i = 0; i < OPTION_COUNT && n + 2 < size; i++) {
		size_t gap = n ? 1 : 0;
		size_t len = print_one(buf + n + gap, size - n - gap, &options[i]);
		if (!len) {
			buf[n] = '\0';
			continue;
		}
		if (gap)
			buf[n] = ' ';
		n += gap + len;
		if (n >= size)
			n = size - 1;
	}
	return n;
}

const char *mt_conf_set(const char *name, const char *value, const char *(*apply)(void))
{
	static struct conf kept; /* the server's, or a test's */
	const struct option *o = find(name, strlen(name));
	const char *wrong;

	if (!o)
		return "is no option";
	if (!o->is.run_time)
		return "cannot be set while the program runs";
	memcpy(&kept, &mt_conf, sizeof(kept));
	wrong = set(o, value);
	if (!wrong && o->is.kind != MTW_DEPTH && (wrong = apply()))
		memcpy(place(o), (char *)&kept + o->offset,
		       o->is.kind == MTW_PATTERN ? o->is.high : sizeof(uint64_t));
	return wrong;
}
