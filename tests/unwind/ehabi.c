/* SPDX-License-Identifier: MIT
 *
 * ehabi.c - functions of 32-bit ARM with false unwind tables, each in another way. Each allocates a
 * block; the unwinder must reject the table's result and never read unmapped memory. test_armhf.py
 * runs it under the agent.
 */
#include <stdio.h>

/* r4 is `r4` while malloc runs; `table` are the bytes of the entry's instructions. */
#define FALSE(name, r4_is, table)                                                                  \
	void name(void);                                                                           \
	__asm__(".text\n.arm\n.balign 4\n.global " #name "\n.type " #name ", %function\n" #name    \
		":\n"                                                                              \
		".fnstart\n"                                                                       \
		"push {r4, lr}\n"                                                                  \
		"ldr r4, =" r4_is "\n"                                                             \
		"mov r0, #40\n"                                                                    \
		"bl malloc(PLT)\n"                                                                 \
		"pop {r4, pc}\n"                                                                   \
		".ltorg\n"                                                                         \
		".personalityindex 1\n"                                                            \
		".unwind_raw 0, " table "\n"                                                       \
		".fnend\n"                                                                         \
		".size " #name ", . - " #name "\n")

FALSE(false_nowhere, "16", "0x94, 0xa8"); /* vsp = r4, which is no address; pop {r4, lr} */
FALSE(false_odd, "0x7001", "0x94, 0xa8");
FALSE(false_inwards, "1", "0x7f, 0xa8");                     /* vsp -= 256 */
FALSE(false_far, "1", "0xb2, 0xff, 0xff, 0xff, 0x7f, 0xa8"); /* vsp += 512 MiB and more */
FALSE(false_overflow, "1", "0xb2, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f");
FALSE(false_refuse, "1", "0x80, 0x00"); /* "refuse to unwind" */
FALSE(false_spare, "1", "0xb5, 0xa8");
FALSE(false_nothing, "1", "0xb0");  /* returns to where it is */
FALSE(false_register, "1", "0x9d"); /* vsp = sp, reserved */
FALSE(false_cut, "1", "0xb1"); /* its second byte is missing: that of the padding is `finish` */

int main(void)
{
	void (*const all[])(void) = { false_nowhere,  false_odd,    false_inwards, false_far,
				      false_overflow, false_refuse, false_spare,   false_nothing,
				      false_register, false_cut };

	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			all[i]();
	return 0;
}
