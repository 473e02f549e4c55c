/* SPDX-License-Identifier: MIT
 *
 * args.c - the command line of every verb, from the tables in its struct verb.
 *
 * getopt_long is not used: it prints its own messages, accepts prefixes ("--out" for "--output")
 * that scripts come to rely on, and reorders a program's own arguments. The rules here are the
 * usual ones: -x VALUE, -xVALUE, --name VALUE, --name=VALUE, "--" ends the options.
 */
#include "cli/base/verbs.h"

#include "base/listing.h"
#include "owners/expected.h"
#include "session/spool.h"

#include <memtop/amount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct option_spec opt_help = { .letter = 'h', .name = "help", .help = "this page" };

const struct verb *args_verb(const struct verb *const *verbs, const char *name)
{
	const struct verb *live = NULL;

	for (; *verbs; verbs++) {
		if (!(*verbs)->name)
			live = *verbs;
		else if (!strcmp((*verbs)->name, name))
			return *verbs;
	}
	return live;
}

static const char *verb_name(const struct verb *v)
{
	return v->name ? v->name : "memtop";
}

/* What the user types to get the help page of v. */
static const char *help_command(const struct verb *v, char *buf, size_t size)
{
	snprintf(buf, size, v->name ? "memtop %s --help" : "memtop --help", v->name);
	return buf;
}

static int usage_error(const struct verb *v, struct err *err, const char *what, const char *why)
{
	char help[64];

	return err_set(err, STATUS_USAGE, "%s: %s; see %s", what, why,
		       help_command(v, help, sizeof help));
}

static const struct option_spec *find_letter(const struct verb *v, char letter)
{
	if (letter == 'h')
		return &opt_help;
	for (const struct option_spec *o = v->options; o->name; o++)
		if (o->letter && o->letter == letter)
			return o;
	return NULL;
}

static const struct option_spec *find_name(const struct verb *v, const char *name, size_t len)
{
	if (len == 4 && !memcmp(name, "help", 4))
		return &opt_help;
	for (const struct option_spec *o = v->options; o->name; o++)
		if (strlen(o->name) == len && !memcmp(o->name, name, len))
			return o;
	return NULL;
}

static const char *option_name(const struct option_spec *o, char *buf, size_t size)
{
	snprintf(buf, size, "--%s", o->name);
	return buf;
}

static int store(const struct verb *v, const struct option_spec *o, const char *value,
		 struct args *a, struct err *err)
{
	char *field = (char *)a + o->field;
	char name[64];

	if (o->value && !*value && o->field != offsetof(struct args, options))
		return usage_error(v, err, option_name(o, name, sizeof name), "its value is empty");
	if (o->list) {
		struct words *words = (struct words *)(void *)field;

		if (words->count == sizeof words->list / sizeof *words->list)
			return usage_error(v, err, option_name(o, name, sizeof name),
					   "given too often");
		words->list[words->count++] = value;
	} else if (o->value) {
		*(const char **)field = value;
	} else {
		*(bool *)field = true;
	}
	return 0;
}

/* One word of options, *at moved to its value when that is the next word. 1 = help. */
static int take_option(const struct verb *v, char **argv, int *at, struct args *a, struct err *err)
{
	const char *word = argv[*at];
	bool is_long = word[1] == '-';
	const char *name = word + (is_long ? 2 : 1), *value = NULL;
	size_t len = is_long ? strcspn(name, "=") : 1;
	const struct option_spec *o = is_long ? find_name(v, name, len) : find_letter(v, *name);

	if (!o)
		return usage_error(v, err, word, "unknown option");
	if (o == &opt_help)
		return 1;
	if (is_long && name[len] == '=')
		value = name + len + 1;
	else if (!is_long && name[1])
		value = name + 1;
	if (!o->value && value)
		return usage_error(v, err, word, "this option takes no value");
	if (o->value && !value) {
		value = argv[*at + 1];
		if (!value)
			return usage_error(v, err, word, "a value is missing");
		++*at;
	}
	return store(v, o, value, a, err);
}

static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

/* A bare number is left to target_parse(), which asks whether a port or a process is meant. */
static bool looks_like_target(const char *word)
{
	struct target t;

	return target_parse(word, &t, NULL) == 0 || is_number(word);
}

static int read_rules(struct args *a, struct err *err)
{
	if (!a->suppress)
		return 0;
	a->rules = expected_new();
	if (expected_read(a->rules, a->suppress, &a->rules_wrong, err))
		return -1;
	if (*a->rules_wrong.text)
		warn("%s", a->rules_wrong.text);
	return 0;
}

/* Names would just be missing, and nobody knew why. */
static int check_folders(const struct verb *v, const struct args *a, struct err *err)
{
	struct stat st;

	for (size_t i = 0; i < a->symbol_dirs.count; i++)
		if (stat(a->symbol_dirs.list[i], &st) || !S_ISDIR(st.st_mode))
			return usage_error(v, err, a->symbol_dirs.list[i],
					   "no such folder for --symbols");
	if (a->sysroot && (stat(a->sysroot, &st) || !S_ISDIR(st.st_mode)))
		return usage_error(v, err, a->sysroot, "no such folder for --sysroot");
	return 0;
}

/* The command line as far as it was read. */
struct reading {
	const struct verb *verb;
	struct args *a;
	size_t operands;
	bool options; /* the next word may be an option */
};

static bool is_option(const struct reading *r, const char *word)
{
	return r->options && word[0] == '-' && word[1];
}

/* A word that is no option: "--", or an operand. */
static void take_operand(struct reading *r, char *word)
{
	struct args *a = r->a;
	bool either = r->verb->takes == TAKES_EITHER;

	if (r->options && !strcmp(word, "--")) {
		r->options = false;
		a->dashes = true;
		a->dashes_at = r->operands;
		a->program = a->program || (r->operands == 0 && !a->pid && either);
		return;
	}
	if (r->operands == 0 && either && !a->program)
		a->program = !a->pid && !looks_like_target(word);
	a->operands[r->operands++] = word;
	r->options = r->options && !a->program;
	a->operand_count = r->operands;
}

static struct reading begin(const struct verb *v, int argc, struct args *a)
{
	*a = (struct args){ .operands = xcalloc((size_t)argc + 1, sizeof *a->operands),
			    .program = v->takes == TAKES_PROGRAM };
	return (struct reading){ v, a, 0, true };
}

static void put_help(const struct verb *v, FILE *out)
{
	const char *lead = "usage: ";

	for (const char *const *s = v->synopsis; *s; s++) {
		fprintf(out, "%smemtop %s\n", lead, *s);
		lead = "       ";
	}
	fprintf(out, "\n%s\n", v->summary);
	if (v->details)
		fprintf(out, "\n%s", v->details);
	fprintf(out, "\nOptions:\n");
	struct listing *t = args_listing();
	for (const struct option_spec *o = v->options; o->name; o++)
		args_option_help(o, t);
	args_option_help(&opt_help, t);
	listing_end(t, out);
}

int args_parse(const struct verb *v, int argc, char **argv, struct args *a, struct err *err)
{
	struct reading r = begin(v, argc, a);
	struct target t;

	for (int i = 0; i < argc; i++) {
		if (!is_option(&r, argv[i]) || !strcmp(argv[i], "--")) {
			take_operand(&r, argv[i]);
			continue;
		}
		int rc = take_option(v, argv, &i, a, err);

		if (rc > 0)
			put_help(v, stdout);
		/* The operand may be a program with its own options: says that instead. A number is
		 * none. */
		if (rc < 0 && r.operands && v->takes == TAKES_TARGET && !is_number(a->operands[0]))
			target_parse(a->operands[0], &t, err);
		if (rc)
			return rc;
	}
	/* With -p it is a mark's name, which may be empty. */
	if (r.operands && !*a->operands[0] && !a->pid)
		return usage_error(v, err, "\"\"", "an argument is empty");
	return check_folders(v, a, err) ? -1 : read_rules(a, err);
}

/* The option that argv[at - 1] gives no value to; NULL = none. */
static const struct option_spec *unfinished(const struct verb *v, const char *word)
{
	bool is_long = word[1] == '-';
	const struct option_spec *o = is_long    ? find_name(v, word + 2, strlen(word + 2))
				      : !word[2] ? find_letter(v, word[1])
						 : NULL;

	return o && o->value ? o : NULL;
}

/* The option of "--name=VAL", as far as it is typed; NULL = it is none. */
static const struct option_spec *valued(const struct verb *v, const char *word)
{
	size_t len = strcspn(word, "=");
	const struct option_spec *o =
		!strncmp(word, "--", 2) && word[len] ? find_name(v, word + 2, len - 2) : NULL;

	return o && o->value ? o : NULL;
}

enum typed args_typed(const struct verb *v, int argc, char **argv, int at, struct args *a,
		      const struct option_spec **of)
{
	struct reading r = begin(v, argc, a);
	enum typed typed = TYPED_ANY;
	struct err unused;

	*of = NULL;
	for (int i = 0; i < argc; i++) {
		bool option = is_option(&r, argv[i]) && strcmp(argv[i], "--") != 0;

		if (i == at) {
			typed = r.options && argv[i][0] == '-' ? TYPED_ANY
				: a->program                   ? TYPED_PROGRAM
				: r.options                    ? TYPED_ANY
							       : TYPED_OPERAND;
			*of = option ? valued(v, argv[i]) : NULL;
		} else if (option && i + 1 == at && unfinished(v, argv[i])) {
			*of = unfinished(v, argv[i]);
			i++;
		} else if (option) {
			take_option(v, argv, &i, a, &unused);
		} else {
			take_operand(&r, argv[i]);
		}
	}
	return typed;
}

struct listing *args_listing(void)
{
	static const struct listing_column columns[] = { { NULL, LISTING_LEFT, 24, 2 },
							 { NULL, LISTING_LEFT, 0, 1 } };

	return listing_new(columns, 2, 0);
}

void args_option_help(const struct option_spec *o, struct listing *t)
{
	listing_row(t);
	FILE *out = listing_cell(t);
	if (o->letter)
		fprintf(out, "-%c, --%s", o->letter, o->name);
	else
		fprintf(out, "    --%s", o->name);
	if (o->value)
		fprintf(out, " %s", o->value);
	listing_put(t, o->help);
}

int args_target(const struct verb *v, const struct args *a, struct target *t, struct err *err)
{
	size_t given = a->operand_count + (a->pid != NULL);

	if (given == 0)
		return usage_error(
			v, err, verb_name(v),
			"no target given: :PORT, HOST:PORT, @NAME, unix:PATH, -p PID or FILE.mtop");
	if (given > 1 && !a->pid && target_parse(a->operands[0], t, err))
		return -1;
	if (given > 1)
		return usage_error(v, err, a->operand_count > 1 ? a->operands[1] : a->operands[0],
				   "only one target can be given");
	return a->pid ? target_parse_pid(a->pid, t, err) : target_parse(a->operands[0], t, err);
}

unsigned args_keep(const struct args *a)
{
	uint64_t n;

	return a->keep && mtw_amount(a->keep, MTW_AMOUNT_COUNT, &n) && n <= KEEP_MAX ? (unsigned)n
										     : SPOOL_KEEP;
}

int args_of_view(const struct args *a, double *percent, struct err *err)
{
	uint64_t millionths = 0, n = 1;

	if (a->max_overhead && (!mtw_amount(a->max_overhead, MTW_AMOUNT_MICRO, &millionths) ||
				!millionths || millionths > 10000 * 1000000ull))
		return err_set(err, STATUS_USAGE,
			       "--max-overhead %s: not a percentage; write --max-overhead 5",
			       a->max_overhead);
	*percent = (double)millionths / 1e6;
	if (a->keep && (!mtw_amount(a->keep, MTW_AMOUNT_COUNT, &n) || !n || n > KEEP_MAX))
		return err_set(err, STATUS_USAGE,
			       "--keep %s: not a number of sessions up to %d; write --keep 20",
			       a->keep, KEEP_MAX);
	return 0;
}

int args_timeout(const struct args *a, int *ms, struct err *err)
{
	const char *text = a->timeout ? a->timeout : TIMEOUT_DEFAULT;
	uint64_t ns;

	if (!mtw_amount(text, MTW_AMOUNT_NS, &ns) || !ns || ns > TIMEOUT_MAX_S * 1000000000ull)
		return err_set(err, STATUS_USAGE,
			       "--timeout %s: not a number of seconds up to %d; write "
			       "--timeout " TIMEOUT_DEFAULT,
			       text, TIMEOUT_MAX_S);
	*ms = (int)((ns + 500000) / 1000000);
	return 0;
}

void args_symbols(const struct args *a, struct symbol_options *o)
{
	*o = (struct symbol_options){
		.sysroot = a->sysroot,
		.dirs = (const char **)(uintptr_t)a->symbol_dirs.list,
		.dir_count = a->symbol_dirs.count,
	};
}

int args_fail(const struct err *err, int fallback_status)
{
	warn("%s", err->text);
	return err->status ? err->status : fallback_status;
}
