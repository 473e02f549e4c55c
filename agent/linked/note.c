/* SPDX-License-Identifier: MIT
 *
 * note.c - an ELF note in each program that has the agent linked in: it tells memtop not to preload
 * a second one. Stripping symbols keeps it.
 */
__asm__(".pushsection .note.memtop,\"a\",%note\n"
	".balign 4\n.long 7, 0, 1\n.asciz \"memtop\"\n.balign 4\n.popsection\n");
