/* SPDX-License-Identifier: MIT
 *
 * old_kernel.c - makes the kernel describe itself as one before 6.3. The agent then uses its code
 * for kernels before 5.16 (agent/server/seccomp_probe.c). Preloaded beside the agent.
 */
#include <dlfcn.h>
#include <stddef.h>

unsigned long getauxval(unsigned long what);

unsigned long getauxval(unsigned long what)
{
	static unsigned long (*real)(unsigned long);

	if (what == 27) /* AT_RSEQ_FEATURE_SIZE */
		return 0;
	if (!real)
		real = (unsigned long (*)(unsigned long))dlsym(RTLD_NEXT, "getauxval");
	return real(what);
}
