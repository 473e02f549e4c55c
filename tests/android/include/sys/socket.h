/* SPDX-License-Identifier: MIT */
#ifndef ANDROID_SYS_SOCKET_H
#define ANDROID_SYS_SOCKET_H

#include <asm/socket.h>
#include <linux/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#define SOCK_STREAM 1
#define SOCK_CLOEXEC 02000000
#define SOCK_NONBLOCK 04000
#define AF_UNIX 1
#define AF_INET 2
#define SHUT_WR 1
#define MSG_DONTWAIT 0x40
#define MSG_NOSIGNAL 0x4000

typedef unsigned short sa_family_t;
struct sockaddr {
	sa_family_t sa_family;
	char sa_data[14];
};
struct msghdr {
	void *msg_name;
	socklen_t msg_namelen;
	struct iovec *msg_iov;
	size_t msg_iovlen;
	void *msg_control;
	size_t msg_controllen;
	int msg_flags;
};

int accept(int, struct sockaddr *, socklen_t *);
int accept4(int, struct sockaddr *, socklen_t *, int);
ssize_t recv(int, void *, size_t, int);
ssize_t recvfrom(int, void *, size_t, int, struct sockaddr *, socklen_t *);
ssize_t recvmsg(int, struct msghdr *, int);

#endif
