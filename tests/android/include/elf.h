/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_ELF_H
#define ANDROID_ELF_H

#include <linux/auxvec.h>
#include <linux/elf.h>
#include <stdint.h>

/* What the kernel's header leaves out. */
#define PT_GNU_RELRO 0x6474e552
#define PT_GNU_EH_FRAME 0x6474e550
#define NT_GNU_BUILD_ID 3
#define SHN_UNDEF 0
#define STT_GNU_IFUNC 10
#define DT_GNU_HASH 0x6ffffef5
#define R_X86_64_JUMP_SLOT 7
#define R_X86_64_GLOB_DAT 6
#define R_X86_64_64 1
#define R_AARCH64_ABS64 257
#define R_AARCH64_GLOB_DAT 1025
#define R_AARCH64_JUMP_SLOT 1026

#endif
