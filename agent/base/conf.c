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
#include "base/regex.h"

#include <memtop/wire.h>
#include <string.h>

#define WORD_MAX 512
#define DEPTH_MAX 4096

enum kind { TEXT, BYTES, MILLISECONDS, DEPTH, SWITCH, NUMBER, PATTERN };

struct option {
	const char *name;
	enum kind kind;
	size_t offset;      /* in struct conf */
	uint64_t low, high; /* TEXT, PATTERN: high is the size of the array */
	bool run_time;      /* may be changed by a viewer */
	const char *choice; /* TEXT: the words allowed; SWITCH: the word that means true */
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

/* as server/signals.c knows them */
#define SIGNALS "SIGUSR1 SIGUSR2 SIGHUP SIGQUIT SIGURG SIGIO SIGPROF SIGPWR SIGWINCH"
#define AT(member) offsetof(struct conf, member)

static const struct option options[] = {
	{ "listen", TEXT, AT(listen), 1, sizeof(mt_conf.listen), false, NULL },
	{ "unwind", TEXT, AT(unwind), 1, sizeof(mt_conf.unwind), false,
	  "auto cfi fp ehabi instrument libunwind caller" },
	{ "depth", DEPTH, AT(xdepth), 1, DEPTH_MAX, true, NULL },
	{ "merge", NUMBER, AT(merge), 0, DEPTH_MAX, true, NULL },
	{ "min_size", BYTES, AT(min_size), 0, (uint64_t)1 << 47, true, NULL },
	{ "max_size", BYTES, AT(max_size), 0, (uint64_t)1 << 47, true, NULL },
	{ "sample", BYTES, AT(sample), 0, (uint64_t)1 << 40, true, NULL },
	{ "libs", PATTERN, AT(libs), 0, sizeof(mt_conf.libs), true, NULL },
	{ "exclude", PATTERN, AT(exclude), 0, sizeof(mt_conf.exclude), true, NULL },
	{ "max_memory", BYTES, AT(max_memory), 1u << 20, UINT64_MAX, false, NULL },
	{ "mark_memory", BYTES, AT(mark_memory), 0, UINT64_MAX, false, NULL },
	{ "tick_ms", MILLISECONDS, AT(tick_ns), 10, 60000, false, NULL },
	{ "wait", MILLISECONDS, AT(wait_ns), 0, 600000, false, NULL },
	{ "wait_for", NUMBER, AT(wait_for), 0, INT32_MAX, false, NULL },
	{ "follow", SWITCH, AT(follow_exec), 0, 0, false, "exec" },
	{ "follow_static", SWITCH, AT(follow_static), 0, 0, false, "yes" },
	{ "fold_recursion", SWITCH, AT(fold_recursion), 0, 0, false, "on" },
	{ "token_file", TEXT, AT(token_file), 1, sizeof(mt_conf.token_file), false, NULL },
	{ "window_signal", TEXT, AT(window_signal), 1, sizeof(mt_conf.window_signal), false,
	  SIGNALS },
	{ "dump_signal", TEXT, AT(dump_signal), 1, sizeof(mt_conf.dump_signal), false, SIGNALS },
	{ "dump_at_exit", SWITCH, AT(dump_at_exit), 0, 0, false, "yes" },
	{ "dump_on_fail", SWITCH, AT(dump_on_fail), 0, 0, false, "yes" },
	{ "dump_on_growth", BYTES, AT(dump_on_growth), 0, (uint64_t)1 << 47, false, NULL },
	{ "dump_on_rss", BYTES, AT(dump_on_rss), 0, (uint64_t)1 << 47, false, NULL },
	{ "dump_to", TEXT, AT(dump_to), 1, sizeof(mt_conf.dump_to), false, NULL },
};
#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

static void *place(const struct option *o)
{
	return (char *)&mt_conf + o->offset;
}

static bool digits(const char **at, uint64_t *v)
{
	const char *from = *at;

	for (*v = 0; **at >= '0' && **at <= '9'; ++*at)
		if (__builtin_mul_overflow(*v, 10, v) || __builtin_add_overflow(*v, **at - '0', v))
			return false;
	return *at > from;
}

#define FRACTION_DIGITS 9 /* times a G, they fit */

/* Decimal. Where bytes are meant, with K, M, G (1024 each), also of a fraction: 1.5M. The whole
 * text must be used. */
static bool parse_number(const char *text, bool bytes, uint64_t *out)
{
	uint64_t part = 0, whole_part = 1;
	const char *at = text;

	if (!digits(&at, out))
		return false;
	if (!bytes || !*at)
		return !*at;
	if (*at == '.') {
		const char *from = ++at;
		if (!digits(&at, &part) || at - from > FRACTION_DIGITS)
			return false;
		for (; from < at; from++)
			whole_part *= 10;
	}
	const char *unit = *at ? strchr("KMGkmg", *at) : NULL;
	if (!unit || at[1])
		return false;
	unsigned shift = 10 * (unsigned)((unit - "KMGkmg") % 3 + 1);
	if (*out > UINT64_MAX >> shift)
		return false;
	*out = (*out << shift) + (part << shift) / whole_part;
	return true;
}

static bool word_in(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at;) {
		size_t n = strcspn(at, " ");
		if (n == len && !memcmp(at, word, n))
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

/* NULL when stored, else what is wrong with the value. */
static const char *set_text(const struct option *o, const char *value)
{
	size_t len = strlen(value);

	if (len < o->low)
		return "is empty";
	if (len >= o->high)
		return "is too long";
	if (o->choice && !word_in(o->choice, value))
		return "is none of its values";
	if (o->kind == PATTERN) {
		static struct regex unused; /* start-up, or the server: one at a time */
		const char *wrong = mt_regex_compile(&unused, value);
		if (wrong)
			return wrong;
	}
	memcpy(place(o), value, len + 1);
	return NULL;
}

static const char *set(const struct option *o, const char *value)
{
	uint64_t v = 0;

	if (o->kind == TEXT || o->kind == PATTERN)
		return set_text(o, value);
	if (o->kind == SWITCH) {
		if (strcmp(value, o->choice))
			return "is none of its values";
		*(bool *)place(o) = true;
		return NULL;
	}
	if (!parse_number(value, o->kind == BYTES, &v))
		return "is not a number";
	if (v < o->low || v > o->high)
		return "is out of range";
	switch (o->kind) {
	case DEPTH:
		atomic_store_explicit((_Atomic uint32_t *)place(o), (uint32_t)v,
				      memory_order_relaxed);
		break;
	case MILLISECONDS:
		v *= 1000 * 1000;
		/* fall through */
	default: *(uint64_t *)place(o) = v;
	}
	return NULL;
}

static const struct option *find(const char *name, size_t len)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strlen(options[i].name) == len && !memcmp(options[i].name, name, len))
			return &options[i];
	return NULL;
}

/* One word of *text, unquoted, into buf. 1 = there is one, 0 = end, -1 = malformed. */
static int next_word(const char **text, char *buf, size_t size)
{
	const char *at = *text;
	size_t n = 0;
	bool quoted = false;

	at += strspn(at, " ,\t\n");
	if (!*at)
		return 0;
	for (; *at && (quoted || !strchr(" ,\t\n", *at)); at++) {
		if (*at == '"') {
			quoted = !quoted;
			continue;
		}
		if (*at == '\\' && !*++at)
			return -1;
		if (n + 1 >= size)
			return -1;
		buf[n++] = *at;
	}
	buf[n] = '\0';
	*text = at;
	return quoted ? -1 : 1;
}

static bool set_word(const char *word)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const struct option *o = find(word, len);
	const char *wrong = NULL;

	if (!o) {
		mt_msg("MEMTOP_OPTIONS: no option is called \"%s\"; running unprofiled", word);
		return false;
	}
	wrong = equals ? set(o, equals + 1) : "is missing";
	if (wrong) {
		mt_msg("MEMTOP_OPTIONS: the value in \"%s\" %s; running unprofiled", word, wrong);
		return false;
	}
	return true;
}

bool mt_conf_parse(const char *text)
{
	char word[WORD_MAX];
	int got;

	while ((got = next_word(&text, word, sizeof(word))) > 0)
		if (!set_word(word))
			return false;
	if (got < 0)
		mt_msg("MEMTOP_OPTIONS: a quote is not closed, or a word is too long; "
		       "running unprofiled");
	return got == 0;
}

static size_t print_text(char *buf, size_t size, const struct option *o)
{
	const char *value = place(o);
	size_t n = mt_format(buf, size, "%s=", o->name);

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
	switch (o->kind) {
	case TEXT:
	case PATTERN: return *(const char *)place(o) ? print_text(buf, size, o) : 0;
	case SWITCH:
		return *(bool *)place(o) ? mt_format(buf, size, "%s=%s", o->name, o->choice) : 0;
	case DEPTH:
		return mt_format(buf, size, "%s=%u", o->name,
				 atomic_load_explicit(&mt_conf.xdepth, memory_order_relaxed));
	case MILLISECONDS:
		return mt_format(buf, size, "%s=%llu", o->name,
				 (unsigned long long)(*(uint64_t *)place(o) / 1000000));
	default:
		/* below its bound: not set, and no value that could be */
		if (*(uint64_t *)place(o) < o->low)
			return 0;
		return mt_format(buf, size, "%s=%llu", o->name,
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
	if (!o->run_time)
		return "cannot be set while the program runs";
	memcpy(&kept, &mt_conf, sizeof(kept));
	wrong = set(o, value);
	if (!wrong && o->kind != DEPTH && (wrong = apply()))
		memcpy(place(o), (char *)&kept + o->offset,
		       o->kind == PATTERN ? o->high : sizeof(uint64_t));
	return wrong;
}
