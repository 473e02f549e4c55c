/* SPDX-License-Identifier: MIT
 *
 * space.c - dlopen as in apps: it loads libraries into a separate linker namespace, isolated to the
 * folder $SPACE, with libc and libdl of the default one. With $SPACE_JNI it calls a library's
 * JNI_OnLoad, as System.load() does. Preloaded. Functions missing in android/dlext.h are looked up
 * by name, because apps may not link to them.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define USE_NAMESPACE 0x200
#define ISOLATED 1

struct extended { /* android_dlextinfo */
	uint64_t flags;
	void *address;
	size_t size;
	int relro, file;
	int64_t offset;
	void *space;
};

static void *(*opener(void))(const char *, int)
{
	return (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
}

/* In libdl.so; later in a library of the platform's. */
static void *find(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name),
	     *platform = found ? NULL : opener()("libdl_android.so", RTLD_NOW);

	return platform ? dlsym(platform, name) : found;
}

static void *make_space(const char *folder)
{
	void *(*create)(const char *, const char *, const char *, uint64_t, const char *, void *) =
		(void *(*)(const char *, const char *, const char *, uint64_t, const char *,
			   void *))find("android_create_namespace");
	_Bool (*link_to)(void *, void *, const char *) =
		(_Bool(*)(void *, void *, const char *))find("android_link_namespaces");
	void *space =
		create && link_to ? create("app", NULL, folder, ISOLATED, folder, NULL) : NULL;

	return space && link_to(space, NULL, "libc.so:libdl.so") ? space : NULL;
}

__attribute__((visibility("default"))) void *dlopen(const char *path, int flags)
{
	static struct extended into = { .flags = USE_NAMESPACE };
	const char *folder = getenv("SPACE");
	void *(*open_into)(const char *, int, const struct extended *) =
		(void *(*)(const char *, int, const struct extended *))find("android_dlopen_ext");

	if (!folder)
		return opener()(path, flags);
	if (!into.space && !(into.space = make_space(folder)))
		abort();
	void *handle = open_into(path, flags, &into);
	int (*on_load)(void *, void *) =
		handle && getenv("SPACE_JNI") ? (int (*)(void *, void *))dlsym(handle, "JNI_OnLoad")
					      : NULL;
	if (on_load && on_load(NULL, NULL) < 0x10001)
		abort();
	return handle;
}
