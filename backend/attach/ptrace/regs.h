/* SPDX-License-Identifier: MIT
 *
 * regs.h - saves and restores all registers of a stopped thread.
 */
#ifndef ATTACH_PTRACE_REGS_H
#define ATTACH_PTRACE_REGS_H

#include "attach/ptrace/arch.h"

int inject_regs_read(pid_t tid, struct inject_regs *r); /* all of the machine's sets */
int inject_regs_write(pid_t tid, const struct inject_regs *r);

#endif
