/* SPDX-License-Identifier: MIT
 *
 * place.c - the agent's file: which one an app needs, pushed and copied into the app's folder.
 *
 * The file gets a new name each time: a Java machine loads one path only once, and after a detach
 * the agent must be loaded again.
 */
#include "attach/adb/app.h"
#include "base/build.h"
#include "base/sanitize.h"
#include "launch/agent_file.h"
#include "launch/launch.h"
#include "launch/progcheck.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLDEST_SDK 26

/* Finds the ABI of the app's native code; for most apps the device's. */
static void ask_abi(struct adb_app *app)
{
	char *script = xasprintf("dumpsys package %s | grep -m1 -o 'primaryCpuAbi=[a-z0-9_-]*'",
				 app->package);
	struct adb_answer r = { 0 };

	snprintf(app->abi, sizeof app->abi, "%s", app->phone.abi);
	if (*app->package && adb_shell(app->adb, script, ADB_SLOW_MS, &r, NULL) == 0 &&
	    r.status == 0) {
		r.out[strcspn(r.out, "\n")] = '\0';
		const char *abi = strchr(r.out, '=');
		if (abi && abi[1] && strcmp(abi + 1, "null"))
			sanitize_clean(app->abi, sizeof app->abi, abi + 1);
	}
	free(script);
	adb_answer_release(&r);
}

static int find_agent(const struct adb_app *app, const char *given, char *path, size_t size,
		      struct err *err)
{
	static const struct {
		const char *abi;
		unsigned machine, bits;
	} abis[] = {
		{ "arm64-v8a", EM_AARCH64, 64 },
		{ "x86_64", EM_X86_64, 64 },
		{ "armeabi-v7a", EM_ARM, 32 },
		{ "x86", EM_386, 32 },
	};
	struct elf_kind k;
	char name[96];

	snprintf(name, sizeof name, "android/%s/libmemtop-agent.so", app->abi);
	if (given)
		snprintf(path, size, "%s", given);
	else if (!strcmp(app->abi, "armeabi-v7a") || !strcmp(app->abi, "armeabi") ||
		 !strcmp(app->abi, "x86"))
		return err_set(err, 3,
			       "%s: a 32-bit process (%s), but the Android agents are 64-bit; "
			       "install a build of the app for arm64-v8a or x86_64",
			       app->name, app->abi);
	else if (!launch_installed(name, path, size))
		return err_set(
			err, 125,
			"%s: no agent for this app's machine beside memtop or in %s/lib/memtop; "
			"build it with make android (arm64-v8a, x86_64), or name one with --agent",
			name, build_prefix);
	int rc = progcheck_read(path, &k);
	if (rc)
		return err_set(err, 125, "%s: no agent there: %s; check --agent", path,
			       strerror(-rc));
	if (!k.elf.abi.bits || k.elf.type != ET_DYN)
		return err_set(err, 125,
			       "%s: not an agent: not a shared object; give the path of a "
			       "libmemtop-agent.so",
			       path);
	for (size_t i = 0; i < sizeof abis / sizeof *abis; i++)
		if (!strcmp(abis[i].abi, app->abi) &&
		    (abis[i].machine != k.elf.abi.machine || abis[i].bits != k.elf.abi.bits))
			return err_set(err, 125,
				       "%s: built for %s, but %s is a program for %s; name an "
				       "agent for that with --agent",
				       path, progcheck_machine(&k), app->name, app->abi);
	return 0;
}

int adb_app_agent(struct adb_app *app, const struct adb_request *q, char *agent, size_t size,
		  struct err *err)
{
	if (app->phone.sdk && app->phone.sdk < OLDEST_SDK)
		return err_set(err, 3,
			       "%s: Android %s (API %d) is too old for the agent; use a device "
			       "with Android 8.0 (API %d) or later",
			       app->adb->serial, app->phone.release, app->phone.sdk, OLDEST_SDK);
	ask_abi(app);
	snprintf(app->file, sizeof app->file, "memtop-%08x",
		 (unsigned)(unix_now_ns() >> 10) ^ (unsigned)getpid() << 20);
	return find_agent(app, q->agent, agent, size, err) ||
			       agent_file_check(agent, NULL, q->options, 2, err)
		       ? -1
		       : 0;
}

/* "/data/user/0/com.example.app", the line before the status. */
static int take_folder(const struct adb_app *app, const struct adb_answer *r, const char *ending,
		       char *path, size_t size, struct err *err)
{
	const char *at = r->out;

	while (*at && *at != '/')
		at += strcspn(at, "\n"), at += *at == '\n';
	size_t len = strcspn(at, "\n");
	if (!len || (size_t)snprintf(path, size, "%.*s/code_cache/%s%s", (int)len, at, app->file,
				     ending) >= size)
		return err_set(
			err, 3,
			"%s: its folder on the device is unknown; see adb shell run-as %s pwd",
			app->package, app->package);
	return 0;
}

/* Removes all write permission: apps for API 37 and later load no writable library. */
static int write_as_app(struct adb_app *app, const struct adb_copy *c, struct adb_answer *r,
			struct err *err)
{
	char *script = xasprintf("%s | run-as %s sh -c 'f=code_cache/%s%s; umask 077; cat >$f && "
				 "chmod 500 $f; " ADB_WHOLE "; pwd'",
				 c->from, app->package, app->file, c->ending, c->bytes);

	app->copied = true;
	int rc = adb_shell(app->adb, script, ADB_SLOW_MS, r, err);
	free(script);
	return rc;
}

/* Copies the folder's owner and SELinux label to the file, so that the app may map it. */
static int write_as_root(struct adb_app *app, const struct adb_copy *c, struct adb_answer *r,
			 struct err *err)
{
	char *script = xasprintf("d=/data/data/%s; c=$d/code_cache; f=$c/%s%s; %s >$f; " ADB_WHOLE
				 "; chmod 500 $f && chown $(stat -c %%u:%%g $c) $f && { chcon "
				 "$(stat -c %%C $c) $f 2>/dev/null; echo $d; }",
				 app->package, app->file, c->ending, c->from, c->bytes);

	app->as_root = true;
	int rc = adb_shell(app->adb, script, ADB_SLOW_MS, r, err);
	free(script);
	return rc;
}

int adb_app_write(struct adb_app *app, const struct adb_copy *c, char *path, size_t size,
		  struct err *err)
{
	struct adb_answer r;
	int rc = app->as_root ? 0 : write_as_app(app, c, &r, err);

	if (app->as_root || (rc == 0 && r.status && app->phone.root)) {
		if (!app->as_root)
			adb_answer_release(&r);
		rc = write_as_root(app, c, &r, err);
	}
	if (rc == 0 && r.status)
		rc = adb_explain(app->package, *r.said ? r.said : r.out, err);
	if (rc == 0)
		rc = take_folder(app, &r, c->ending, path, size, err);
	adb_answer_release(&r);
	return rc;
}

int adb_app_place(struct adb_app *app, const struct adb_request *q, char *path, size_t size,
		  struct err *err)
{
	char agent[PATH_MAX + 64], remote[128], from[160];
	struct stat st;

	if (!*app->package)
		return err_set(err, 3,
			       "%s: not an app, so it has no folder for the agent; name an app",
			       app->name);
	if (adb_app_agent(app, q, agent, sizeof agent, err))
		return -1;
	if (stat(agent, &st))
		return err_set(err, 125, "%s: no agent there: %s; check --agent", agent,
			       strerror(errno));
	snprintf(remote, sizeof remote, "%s%s%s", ADB_TEMPORARY, app->file, ADB_AGENT);
	app->pushed = true;
	if (adb_push(app->adb, agent, remote, err))
		return -1;
	snprintf(from, sizeof from, "cat %s", remote);
	return adb_app_write(app, &(struct adb_copy){ from, ADB_AGENT, (size_t)st.st_size }, path,
			     size, err);
}
