/* SPDX-License-Identifier: MIT
 *
 * note.c - an ELF note in each program that the agent was linked into: memtop is to preload no
 * second one. It stays where symbols are stripped.
 */
__asm__(".pushsection .note.memtop,\"a\",%note\n"
	".balign 4\n.long 7, 0, 1\n.asciz \"memtop\"\n.balign 4\n.popsection\n");
