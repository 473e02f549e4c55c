/* SPDX-License-Identifier: MIT
 *
 * old_kernel.c - makes the kernel describe itself as one before 6.3. The agent then uses its code
 * for kernels before 5.16 (agent/server/seccomp_probe.c). Preloaded behind the agent, so that its
 * constructor runs first.
 */
#include <elf.h>
#include <link.h>

/* The auxiliary vector lies behind the environment (System V ABI, "Process Initialization"). */
__attribute__((constructor)) static void before_the_agent(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	while (*envp)
		envp++;
	for (ElfW(auxv_t) *a = (void *)(envp + 1); a->a_type != AT_NULL; a++)
		if (a->a_type == 27) /* AT_RSEQ_FEATURE_SIZE */
			a->a_type = AT_IGNORE;
}
