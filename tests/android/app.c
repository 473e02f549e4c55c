/* SPDX-License-Identifier: MIT
 *
 * app.c - executes a program under a seccomp filter, as Android runs apps: the listed system calls
 * pass, any other ends the process by SIGSYS. Usage: app NUMBER,NUMBER,... [NAME=VALUE...] PROGRAM
 * [ARGUMENT...]
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CALLS 1000

int main(int argc, char **argv)
{
	static struct sock_filter code[2 * CALLS + 2] = { BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	unsigned short n = 1;

	if (argc < 3)
		return 2;
	for (const char *at = argv[1]; at && n < 2 * CALLS; at = strchr(at, ',')) {
		at += *at == ',';
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned)atoi(at), 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	struct sock_fprog filter = { n, code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("app: no filter");
		return 2;
	}
	for (argv += 2; *argv && strchr(*argv, '='); argv++)
		putenv(*argv);
	execv(*argv, argv);
	perror("app");
	return 2;
}
