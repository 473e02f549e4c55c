/* SPDX-License-Identifier: MIT
 *
 * old_kernel.c - preloaded beside the agent: the kernel says about itself what one before 6.3 says.
 * The agent then does what kernels before 5.16 need (agent/server/seccomp_probe.c).
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
