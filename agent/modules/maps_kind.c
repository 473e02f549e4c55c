/* SPDX-License-Identifier: MIT
 *
 * maps_kind.c - tells a loaded object's kind by its name: the C library, the C++ runtime, the
 * kernel's.
 */
#include "modules/maps_kind.h"

#include <memtop/wire.h>
#include <string.h>

static bool named(const char *base, const char *stem)
{
	size_t len = strlen(stem);

	return !strncmp(base, stem, len) && (base[len] == '.' || base[len] == '-' || !base[len]);
}

uint32_t mt_maps_kind(const char *path)
{
	static const char *const libc[] = {
		"libc", "ld-linux",   "ld-linux-x86-64", "ld-linux-aarch64",
		"ld",   "libpthread", "libdl",           "libm",
		"ld64"
	};
	static const char *const cxx[] = { "libstdc++", "libc++", "libc++abi", "libgcc_s" };
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(libc) / sizeof(*libc); i++) {
		if (named(base, libc[i]) && strstr(base, ".so"))
			return MTW_MODULE_LIBC;
	}
	for (size_t i = 0; i < sizeof(cxx) / sizeof(*cxx); i++) {
		if (named(base, cxx[i]) && strstr(base, ".so"))
			return MTW_MODULE_CXX;
	}
	if (!strncmp(base, "linux-vdso", 10) || !strncmp(base, "linux-gate", 10))
		return MTW_MODULE_VDSO;
	return 0;
}
