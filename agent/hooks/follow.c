/* SPDX-License-Identifier: MIT
 *
 * follow.c - how the agent gets into the programs that the target executes.
 *
 * Before main the agent removes its own entries from `environ`, so the program sees its environment
 * as without the agent. Programs that it executes get the entries back, also in an environment that
 * the caller made: the agent's LD_PRELOAD entry in front of the caller's, and the MEMTOP_
 * variables. All of it lies on the stack: an exec may be called between vfork and exec, and a
 * failed one must leave nothing behind.
 *
 * The agent follows
 *   with a board (`memtop run`, `memtop record`), and with follow=exec: every child, whatever it
 *   executes;
 *   otherwise: only the watched process itself, when it becomes another program (start scripts,
 *   env, sh -c 'exec ...'). That is the process in which the agent was started, and every forked
 *   child that is already a session of its own.
 *
 * It does not follow into a program that cannot load the agent (follow/executable.c), nor where the
 * agent's file or the board cannot be opened: in another root, as another user, in a container. Nor
 * where the agent's entries make arguments and environment too long: the kernel has refused them
 * (E2BIG), or would refuse them to a shell of libc's. Such a program gets its caller's environment,
 * and its record gets the reason. Nor does it follow a program that names an agent itself: a memtop
 * inside this one has its own board, options and viewer.
 *
 * A static program has no agent that would test what it executes: a program with a sanitizer would
 * not start with this agent, and another root's loader would complain. So it gets no entries, and
 * its children are not followed, except for a launcher (tini, gosu): one of its arguments names the
 * program that it executes, which is tested here. follow_static=yes gives them to all.
 *
 * Under a seccomp filter that the program has set, the tests themselves may kill the process: then
 * no child is followed.
 *
 * The caller's environment may be freed memory: a thread that reads `environ` while another one
 * adds a variable holds the array that setenv() has just freed. The kernel refuses such a call
 * (EFAULT) where a plain read would fault. So each page of the array and its strings is probed
 * before it is read, no value that sizes the copy is read twice, and unreadable arguments go to the
 * kernel unchanged.
 */
#include "hooks/follow.h"
#include "base/conf.h"
#include "base/libc.h"
#include "base/msg.h"
#include "base/prim_linux.h"
#include "base/state.h"
#include "base/syscalls.h"
#include "server/start.h"

#include <memtop/elf.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD="
#define PRELOAD_LEN (sizeof(PRELOAD) - 1)
#define OPTIONS "MEMTOP_OPTIONS="
#define OPTIONS_LEN (sizeof(OPTIONS) - 1)
#define BOARD_ENTRY BOARD_VARIABLE "="
#define BOARD_ENTRY_LEN (sizeof(BOARD_ENTRY) - 1)
#define NO_WAIT " wait=0" /* a later word of the options wins */
#define FILE_BYTES 512
#define LEAST_ARGUMENTS (128u << 10)
#define MOST_ARGUMENTS (6u << 20)
#define SHELL_BYTES 4096u /* its other arguments, and what the agent came with */
#define PROBE_BYTES 4096u /* no machine has smaller pages */

char **mt_follow_copy;

static char other_agent[FILE_BYTES]; /* for programs of the other C library; "" = none */
static bool waits;                   /* the options that we came with say so */
/* The exec that a wrapper of somebody passes on, in that process: a child of vfork shares this. 0 =
 * none. */
static struct {
	int pid;
	struct claim claim;
} outer;

static bool may_read(struct follow *f, const void *at)
{
	uintptr_t page = (uintptr_t)at / PROBE_BYTES, *known = &f->page[page % FOLLOW_PAGES];

	if (*known == page && page)
		return true;
	if (!mt_prim_readable((uintptr_t)at, 1))
		return f->readable = false;
	*known = page;
	return true;
}

/* Entry i; NULL: the end, or it cannot be read. */
static char *entry_of(struct follow *f, char *const *envp, size_t i)
{
	if (!envp || !may_read(f, &envp[i]))
		return NULL;
	return __atomic_load_n(&envp[i], __ATOMIC_RELAXED);
}

/* Up to the end of `with`, or up to its '='. */
static bool begins(struct follow *f, const char *var, const char *with)
{
	for (; *with; var++, with++) {
		if (!may_read(f, var) || *var != *with)
			return false;
		if (*with == '=')
			return true;
	}
	return true;
}

static size_t text_bytes(struct follow *f, const char *text)
{
	size_t n = 0;

	while (may_read(f, text + n) && text[n])
		n++;
	return n;
}

/* A path that cannot be read is the kernel's to refuse. */
static bool may_read_path(struct follow *f, const char *path)
{
	memset(f->page, 0, sizeof(f->page));
	f->readable = true;
	text_bytes(f, path);
	return f->readable;
}

/* As strstr(); the text may have lost its end since it was measured. */
static bool user_has(const struct follow *f, const char *file)
{
	size_t len = strlen(file);

	for (size_t i = 0; f->user && i + len <= f->user_bytes; i++)
		if (!memcmp(f->user + i, file, len))
			return true;
	return false;
}

/* False: it cannot be read. */
static bool survey(struct follow *f, char *const *envp)
{
	char *entry;

	f->entries = f->user_bytes = 0;
	f->user = NULL;
	f->configured = false;
	f->readable = true;
	memset(f->page, 0, sizeof(f->page));
	for (; (entry = entry_of(f, envp, f->entries)); f->entries++) {
		if (!f->user && begins(f, entry, PRELOAD))
			f->user = entry + PRELOAD_LEN;
		f->configured |= begins(f, entry, "MEMTOP_");
	}
	if (f->user)
		f->user_bytes = text_bytes(f, f->user);
	return f->readable;
}

/* DIR/libmemtop-agent.so and DIR/musl/libmemtop-agent.so. */
void mt_follow_init(void)
{
	const char *mine = mt_state_preload(), *slash = strrchr(mine, '/');
	size_t len = slash ? (size_t)(slash - mine) : 0;

	waits = mt_conf.wait_ns != 0;
	if (!slash)
		return;
#if defined(__GLIBC__)
	mt_format(other_agent, sizeof(other_agent), "%.*s/musl%s", (int)len, mine, slash);
#elif !defined(__BIONIC__)
	if (len > 5 && !memcmp(slash - 5, "/musl", 5))
		mt_format(other_agent, sizeof(other_agent), "%.*s%s", (int)(len - 5), mine, slash);
#endif
	(void)len;
}

static bool follows_children(void)
{
	return mt_board_is() || mt_conf.follow_exec;
}

/* An agent that was attached or linked in does not come along; its server must know that this was
 * no exit. */
static bool can_follow(int state)
{
	return (state == AGENT_ON || state == AGENT_DORMANT) && *mt_state_preload() &&
	       !mt_state_attached();
}

static bool may_open(const char *file)
{
	return !strchr(file, '/') ||
	       !mt_prim_call(SYS_faccessat, AT_FDCWD, (long)file, 4 /* R_OK */, 0, 0, 0);
}

/* A launcher's arguments, and the last one that was judged. */
struct words {
	struct follow *f;
	char *const *argv;
	struct executable x;
};

static const char *word_of(void *of, size_t i)
{
	struct words *w = of;
	const char *word = entry_of(w->f, w->argv, i);

	return word && (text_bytes(w->f, word), w->f->readable) ? word : NULL;
}

static bool starts(void *of, const char *word)
{
	struct words *w = of;

	mt_executable_search(&w->x, word);
	return w->x.runs && w->x.why != BOARD_STATIC; /* else perhaps one more launcher */
}

/* A static program: does it get the entries for what it executes? */
static bool launches(struct follow *f, char *const *argv)
{
	struct words w = { .f = f, .argv = argv };

	if (mt_conf.follow_static)
		return may_open(f->preload);
	if (!elf_launched(word_of, starts, &w))
		return false;
	if (w.x.other_libc)
		f->preload = other_agent;
	return !w.x.why && !w.x.linked && *f->preload && may_open(f->preload);
}

static void choose_agent(struct follow *f, char *const *argv)
{
	const struct executable *x = &f->file;

	f->why = x->why;
	f->preload = x->linked ? "" : x->other_libc ? other_agent : mt_state_preload();
	f->through = f->why == BOARD_STATIC && launches(f, argv) && !mt_board_reach(false);
	if (f->why || x->linked)
		return;
	if (x->other_libc && !*other_agent)
		f->why = BOARD_LIBC;
	else if (!may_open(f->preload))
		f->why = x->other_libc ? BOARD_LIBC : BOARD_NO_AGENT;
	else
		f->why = mt_board_reach(f->told);
}

static void begin(struct follow *f)
{
	memset(f, 0, offsetof(struct follow, file));
	f->claim = NO_CLAIM;
	f->file.path[0] = '\0';
	f->file.runs = false;
}

/* The program names an agent itself, with options of its own: a memtop inside this one. This
 * agent's variables are not in its environment. */
static bool has_another(const struct follow *f, char *const *envp)
{
	const char *slash = strrchr(mt_state_preload(), '/'),
		   *mine = slash ? slash + 1 : mt_state_preload();

	return f->configured && !(envp && envp == mt_follow_copy) && user_has(f, mine);
}

static void look(struct follow *f, enum lookup how, int folder, const char *path, char *const *argv)
{
	int kept = errno;

	if (how == LOOKUP_SEARCH)
		mt_executable_search(&f->file, path);
	else
		mt_executable_look(&f->file, folder, path, how == LOOKUP_EMPTY);
	choose_agent(f, argv);
	errno = kept;
}

/* No test is allowed, so the executed program is unknown. The watched process continues in it, at
 * its own risk. */
static void blind(struct follow *f, const char *path)
{
	mt_format(f->file.path, sizeof(f->file.path), "%s", path);
	f->file.runs = true;
	f->why = f->told ? BOARD_FOLLOWED : BOARD_UNREADABLE;
	f->preload = mt_state_preload();
}

/* Who gave up rights may be under a filter that was set past prctl(). */
static bool may_ask(void)
{
	return !mt_state_filtered() &&
	       (!mt_state_gave_up() || !mt_prim_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0));
}

bool mt_follow_exec(struct follow *f, enum lookup how, int folder, const char *path,
		    char *const *argv, char *const *envp)
{
	begin(f);
	int state = atomic_load_explicit(&mt_state, memory_order_acquire);

	if (state == AGENT_OFF || state == AGENT_EARLY || !path)
		return false;
	/* its session has always asked */
	bool ask = may_ask(), watches = state == AGENT_ON && !mt_state_filtered();
	int pid = ask || watches ? mt_prim_getpid() : 0;
	f->own = pid && mt_state_is_pid(pid);
	f->child = !f->own || mt_state_is_fork();
	f->told = f->own && watches && pid == mt_pid;
	if (!can_follow(state) || !(follows_children() || f->told) || !may_read_path(f, path))
		return f->told;
	if (ask)
		look(f, how, folder, path, argv);
	else
		blind(f, path);
	if (!f->file.runs || !survey(f, envp))
		return f->told;
	f->other = has_another(f, envp);
	f->with = !f->why && !f->other;
	f->through = f->through && !f->other;
	f->pid = pid;
	f->inner = pid && outer.pid == pid;
	f->claim = f->inner ? outer.claim : mt_board_claim(f->file.path, pid);
	return true;
}

bool mt_follow_spawn(struct follow *f, enum lookup how, const char *path, bool sure,
		     char *const *argv, char *const *envp)
{
	int state = atomic_load_explicit(&mt_state, memory_order_acquire);

	begin(f);
	if (!path || !follows_children() || !can_follow(state) || !may_read_path(f, path))
		return false;
	f->child = true;
	bool ask = may_ask();
	if (ask)
		look(f, how, AT_FDCWD, path, argv);
	if (!f->file.runs && (!sure || !ask))
		blind(f, path);
	if (!f->file.runs || !survey(f, envp))
		return false;
	f->other = has_another(f, envp);
	f->with = !f->why && !f->other;
	f->through = f->through && !f->other;
	f->claim = mt_board_claim(f->file.path, 0);
	mt_board_executes(f->claim, BOARD_FOLLOWED, true, false);
	return true;
}

/* What the kernel leaves for arguments and environment: a quarter of the stack's limit, in bounds.
 * A shell of libc's cannot be tried again without the agent's entries: it may have run by then. */
static bool fits(struct follow *f, char *const *envp, const char *command)
{
	size_t bytes = SHELL_BYTES + mt_follow_bytes(f, envp) + text_bytes(f, command);
	uint64_t stack[2] = { 0, 0 };

	for (size_t i = 0; i < f->entries; i++)
		bytes += text_bytes(f, entry_of(f, envp, i)) + 1;
	if (bytes <= LEAST_ARGUMENTS)
		return true;
	mt_prim_call(SYS_prlimit64, 0, 3 /* RLIMIT_STACK */, 0, (long)stack, 0, 0);
	return bytes <= MOST_ARGUMENTS && bytes <= stack[0] / 4;
}

/* Its agent claims a record itself, because the first shell is unknown, and none may come at all.
 */
bool mt_follow_shell(struct follow *f, const char *command)
{
	static const char shell[] = "/bin/sh";

	begin(f);
	if (!follows_children() ||
	    !can_follow(atomic_load_explicit(&mt_state, memory_order_acquire)) || !may_ask())
		return false;
	f->child = true;
	look(f, LOOKUP_PATH, AT_FDCWD, shell, NULL);
	f->with = f->file.runs && !f->why && survey(f, ENVIRON) && !has_another(f, ENVIRON) &&
		  fits(f, ENVIRON, command);
	return f->with;
}

void mt_follow_go(struct follow *f)
{
	if (f->told)
		mt_server_exec_begins();
	mt_board_executes(f->claim, f->why, f->with, f->own);
}

void mt_follow_wrapped(struct follow *f, bool entered)
{
	if (!entered && f->with) {
		f->with = f->through = false;
		f->why = BOARD_WRAPPED;
	}
	mt_follow_go(f);
	outer.claim = f->claim;
	outer.pid = f->pid;
}

bool mt_follow_too_long(struct follow *f, int error)
{
	if (error != E2BIG || !(f->with || f->through))
		return false;
	f->with = f->through = false;
	f->why = f->why ? f->why : BOARD_NO_ROOM;
	return true;
}

int mt_follow_failed(struct follow *f, int rc)
{
	int kept = errno;

	if (f->inner)
		return rc;
	if (outer.pid == f->pid)
		outer.pid = 0;
	mt_board_failed(f->claim, f->own);
	if (f->told)
		mt_server_exec_failed();
	errno = kept;
	return rc;
}

int mt_follow_spawned(struct follow *f, int rc, const int *pid)
{
	if (rc)
		mt_board_failed(f->claim, false);
	else
		mt_board_spawned(f->claim, *pid, f->why, f->with);
	return rc;
}

static bool is_ours(struct follow *f, const char *var)
{
	const char *mine;

	for (unsigned i = 0; (mine = mt_state_saved(i)); i++)
		if (begins(f, var, mine))
			return true;
	return begins(f, var, BOARD_ENTRY);
}

static unsigned count_saved(void)
{
	unsigned n = 0;

	while (mt_state_saved(n))
		n++;
	return n;
}

static bool is_options(const char *saved)
{
	return !strncmp(saved, OPTIONS, OPTIONS_LEN);
}

size_t mt_follow_bytes(struct follow *f, char *const *envp)
{
	if (!survey(f, envp))
		return 0;
	size_t bytes = (f->entries + count_saved() + 3) * sizeof(char *);

	bytes += PRELOAD_LEN + strlen(f->preload) + 1 + f->user_bytes + 1 + BOARD_ENTRY_BYTES;
	for (unsigned i = 0; mt_state_saved(i); i++)
		if (is_options(mt_state_saved(i)))
			bytes += strlen(mt_state_saved(i)) + sizeof(NO_WAIT);
	return bytes;
}

/* The user's own entries behind ours; ours once. Returns the end of the text. */
static char *put_preload(const struct follow *f, char *at)
{
	const char *mine = f->preload;
	bool there = !*mine || user_has(f, mine);

	at = stpcpy(at, PRELOAD);
	if (!there)
		at = stpcpy(at, mine);
	if (f->user_bytes) {
		if (!there)
			*at++ = ':';
		memcpy(at, f->user, f->user_bytes);
		at += f->user_bytes;
	}
	*at = '\0';
	return at + 1;
}

/* One of the variables that we came with. NULL: it is not passed on as it was. */
static char *put_saved(const struct follow *f, const char *saved, char **text)
{
	char *at = *text;

	if (!strncmp(saved, BOARD_ENTRY, BOARD_ENTRY_LEN))
		return NULL;
	if (!waits || !f->child || !is_options(saved))
		return (char *)saved;
	*text = stpcpy(stpcpy(at, saved), NO_WAIT) + 1;
	return at;
}

char **mt_follow_fill(struct follow *f, char *const *envp, void *room)
{
	unsigned saved = count_saved();
	char **out = room, *text = (char *)(out + f->entries + saved + 3), *preload = text, *entry;

	text = put_preload(f, text);
	for (size_t i = 0; i < f->entries && (entry = entry_of(f, envp, i)); i++)
		if (begins(f, entry, PRELOAD))
			*out++ = preload;
		else if (!is_ours(f, entry))
			*out++ = entry;
	if (!f->readable)
		return (char **)envp;
	if (*f->preload && !f->user)
		*out++ = preload;
	for (unsigned i = 0; i < saved; i++) {
		*out = put_saved(f, mt_state_saved(i), &text);
		out += *out != NULL;
	}
	if (mt_board_is()) {
		*out++ = text;
		mt_board_entry(text, f->claim);
	}
	*out = NULL;
	return room;
}
