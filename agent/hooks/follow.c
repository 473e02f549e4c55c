/* SPDX-License-Identifier: MIT
 *
 * follow.c - how the agent goes along into what the program executes.
 *
 * The agent took its own entries out of `environ` before main: the program sees the environment that it would have
 * without us. What it executes gets them back, also in an environment that the caller made: our LD_PRELOAD entry
 * in front of the caller's own, and the MEMTOP_ variables. All of it lies on the stack: an exec may be made between
 * vfork and exec, and a failed one must leave nothing behind.
 *
 * Whom do we follow?
 *   with a board (`memtop run`, `memtop record`), and with follow=exec: every child, whatever it executes
 *   otherwise: only the watched process itself, when it becomes another program (start scripts, env, sh -c 'exec ...').
 *   That is the process that the agent was started in, and every forked child that is a session of its own by now.
 *
 * Not into a program that cannot take the agent in (follow/executable.c), nor where the agent's file cannot be opened: in
 * another root, by another user. Such a program gets the environment that the caller gave, and its record the reason.
 *
 * Nor where the program names an agent itself: a memtop inside of ours has its own board, options and viewer.
 *
 * Under a filter of system calls that the program has set nothing may be asked, for it may kill: then no child is
 * followed.
 */
#include "hooks/follow.h"
#include "base/syscalls.h"

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

static char other_agent[FILE_BYTES]; /* for programs of the other C library; "" = none */
static bool waits;                   /* the options that we came with say so */

static size_t count(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static bool begins(const char *var, const char *with, size_t len)
{
	return !strncmp(var, with, len);
}

static const char *find_preload(char *const *envp)
{
	for (; envp && *envp; envp++)
		if (begins(*envp, PRELOAD, PRELOAD_LEN))
			return *envp + PRELOAD_LEN;
	return NULL;
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

/* --- whether */

static bool follows_children(void)
{
	return mt_board_is() || mt_conf.follow_exec;
}

/* One that was attached or linked in does not come along; its server is to know that this was no exit. */
static bool can_follow(int state)
{
	return (state == AGENT_ON || state == AGENT_DORMANT) && *mt_state_preload() && !mt_state_attached();
}

static bool may_open(const char *file)
{
	return !strchr(file, '/') || !mt_prim_call(SYS_faccessat, AT_FDCWD, (long)file, 4 /* R_OK */, 0, 0, 0);
}

static void choose_agent(struct follow *f)
{
	const struct executable *x = &f->file;

	f->why = x->why;
	f->preload = x->linked ? "" : x->other_libc ? other_agent : mt_state_preload();
	if (f->why || x->linked)
		return;
	if (x->other_libc && !*other_agent)
		f->why = BOARD_LIBC;
	else if (!may_open(f->preload))
		f->why = x->other_libc ? BOARD_LIBC : BOARD_UNREADABLE;
}

static void begin(struct follow *f)
{
	memset(f, 0, offsetof(struct follow, file));
	f->claim = NO_CLAIM;
	f->file.path[0] = '\0';
	f->file.runs = false;
	if (mt_thread_forked())
		mt_init_forked();
}

/* The program names an agent itself, with options of its own: a memtop inside of ours. Ours are not in its environment. */
static bool has_another(char *const *envp)
{
	const char *list = find_preload(envp), *slash = strrchr(mt_state_preload(), '/');

	if (!list || mt_environ_is_copy(envp) || !strstr(list, slash ? slash + 1 : mt_state_preload()))
		return false;
	for (; *envp; envp++)
		if (begins(*envp, "MEMTOP_", 7))
			return true;
	return false;
}

static void look(struct follow *f, enum lookup how, int folder, const char *path)
{
	int kept = errno;

	if (how == LOOKUP_SEARCH)
		mt_executable_search(&f->file, path);
	else
		mt_executable_look(&f->file, folder, path, how == LOOKUP_EMPTY);
	choose_agent(f);
	errno = kept;
}

/* Nothing may be asked: what is executed is not known. The watched process goes on in it, at its own risk. */
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
	return !mt_state_filtered() && (!mt_state_gave_up() || !mt_prim_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0));
}

bool mt_follow_exec(struct follow *f, enum lookup how, int folder, const char *path, char *const *envp)
{
	begin(f);
	int state = atomic_load_explicit(&mt_state, memory_order_acquire);

	if (state == AGENT_OFF || state == AGENT_EARLY || !path)
		return false;
	bool ask = may_ask(), watches = state == AGENT_ON && !mt_state_filtered(); /* its session has always asked */
	int pid = ask || watches ? mt_prim_getpid() : 0;
	f->own = pid && mt_state_is_pid(pid);
	f->child = !f->own || mt_state_is_fork();
	f->told = f->own && watches && pid == mt_pid;
	if (!can_follow(state) || !(follows_children() || f->told))
		return f->told;
	if (ask)
		look(f, how, folder, path);
	else
		blind(f, path);
	if (!f->file.runs)
		return f->told;
	f->other = has_another(envp);
	f->with = !f->why && !f->other;
	f->claim = mt_board_claim(f->file.path, pid);
	return true;
}

bool mt_follow_spawn(struct follow *f, enum lookup how, const char *path, bool sure, char *const *envp)
{
	int state = atomic_load_explicit(&mt_state, memory_order_acquire);

	begin(f);
	if (!path || !follows_children() || !can_follow(state))
		return false;
	f->child = true;
	bool ask = may_ask();
	if (ask)
		look(f, how, AT_FDCWD, path);
	if (!f->file.runs && (!sure || !ask))
		blind(f, path);
	if (!f->file.runs)
		return false;
	f->other = has_another(envp);
	f->with = !f->why && !f->other;
	f->claim = mt_board_claim(f->file.path, 0);
	mt_board_executes(f->claim, BOARD_FOLLOWED, true, false);
	return true;
}

/* Its agent claims a record itself: nobody knows which shell comes first, or whether one comes at all. */
bool mt_follow_shell(struct follow *f)
{
	static const char shell[] = "/bin/sh";

	begin(f);
	if (!follows_children() || !can_follow(atomic_load_explicit(&mt_state, memory_order_acquire)) || !may_ask())
		return false;
	f->child = true;
	look(f, LOOKUP_PATH, AT_FDCWD, shell);
	f->with = f->file.runs && !f->why && !has_another(environ);
	return f->with;
}

/* --- the call */

void mt_follow_go(struct follow *f)
{
	if (f->told)
		mt_server_exec_begins();
	mt_board_executes(f->claim, f->why, f->with, f->own);
}

int mt_follow_failed(struct follow *f, int rc)
{
	int kept = errno;

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

/* --- the environment */

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return !strncmp(a, b, n + 1);
}

static bool is_ours(const char *var)
{
	const char *mine;

	for (unsigned i = 0; (mine = mt_state_saved(i)); i++)
		if (same_name(mine, var))
			return true;
	return begins(var, BOARD_ENTRY, BOARD_ENTRY_LEN);
}

static size_t text_bytes(const struct follow *f, char *const *envp)
{
	const char *user = find_preload(envp);
	size_t bytes = PRELOAD_LEN + strlen(f->preload) + (user ? strlen(user) + 1 : 0) + 1;

	for (unsigned i = 0; mt_state_saved(i); i++)
		if (begins(mt_state_saved(i), OPTIONS, OPTIONS_LEN))
			bytes += strlen(mt_state_saved(i)) + sizeof(NO_WAIT);
	return bytes + BOARD_ENTRY_BYTES;
}

size_t mt_follow_bytes(const struct follow *f, char *const *envp)
{
	unsigned saved = 0;

	while (mt_state_saved(saved))
		saved++;
	return (count(envp) + saved + 3) * sizeof(char *) + text_bytes(f, envp);
}

/* The user's own entries behind ours; ours once. Returns the end of the text. */
static char *put_preload(const struct follow *f, char *at, const char *user)
{
	const char *mine = f->preload;
	bool there = !*mine || (user && strstr(user, mine));

	at = stpcpy(at, PRELOAD);
	if (!there)
		at = stpcpy(at, mine);
	if (user && *user) {
		if (!there)
			*at++ = ':';
		at = stpcpy(at, user);
	}
	return at + 1;
}

/* One of the variables that we came with. NULL: it is not passed on as it was. */
static char *put_saved(const struct follow *f, const char *saved, char **text)
{
	char *at = *text;

	if (begins(saved, BOARD_ENTRY, BOARD_ENTRY_LEN))
		return NULL;
	if (!waits || !f->child || !begins(saved, OPTIONS, OPTIONS_LEN))
		return (char *)saved;
	*text = stpcpy(stpcpy(at, saved), NO_WAIT) + 1;
	return at;
}

char **mt_follow_fill(const struct follow *f, char *const *envp, void *room)
{
	const char *user = find_preload(envp);
	char **out = room, *text;
	unsigned saved = 0;

	while (mt_state_saved(saved))
		saved++;
	text = (char *)(out + count(envp) + saved + 3);
	char *preload = text;
	text = put_preload(f, text, user);
	for (; envp && *envp; envp++)
		if (begins(*envp, PRELOAD, PRELOAD_LEN))
			*out++ = preload;
		else if (!is_ours(*envp))
			*out++ = *envp;
	if (*f->preload && !user)
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
