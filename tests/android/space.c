/* SPDX-License-Identifier: MIT
 *
 * space.c - dlopen as apps have it: what a program opens comes into a linker namespace of its own,
 * isolated to the folder that $SPACE names, with libc and libdl of the default one. With $SPACE_JNI
 * a library's JNI_OnLoad is called, as System.load() does. Preloaded. What android/dlext.h does not
 * tell is found by name: apps may not link to it.
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
