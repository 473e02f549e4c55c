/* SPDX-License-Identifier: MIT
 *
 * s_owners.cc - loads the three libraries of libs/ and prints how many bytes each must own:
 * "libNAME.so BYTES".
 */
#include "target.h"

#include <dlfcn.h>
#include <string>

int main(int, char **argv)
{
	const std::string self = argv[0];

	for (const char *name : { "libstrings.so", "liblibc_calls.so", "libvectors.so" }) {
		void *lib = dlopen((self.substr(0, self.rfind('/') + 1) + name).c_str(), RTLD_NOW);
		EXPECT(lib);
		auto allocate = reinterpret_cast<size_t (*)()>(dlsym(lib, "allocate"));
		EXPECT(allocate);
		printf("%s %zu\n", name, allocate());
	}
	return 0;
}
