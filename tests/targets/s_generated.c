/* SPDX-License-Identifier: MIT
 *
 * s_generated.c - code that was made while the program runs, and its map for perf. Does what stdin
 * says:
 *   a K SIZE COUNT   piece K (0..15) of the code calls malloc(SIZE) COUNT times; the blocks stay
 *   n K NAME         a line for piece K into /tmp/perf-PID.map
 *   r TEXT           TEXT as a line into the map
 *   p TEXT           the same, without a newline
 *   t                the map is empty again
 * and answers "ok"; ends at the end of stdin. The map stays, as node's does.
 */
#include "target.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE 128 /* bytes of code */

static unsigned char *code;
static char map_path[64];

/* void *piece(size_t n) { return malloc(n); }, with a frame of its own. */
static void make_code(unsigned char *to)
{
	void *(*function)(size_t) = malloc;
#if defined(__x86_64__)
	/* clang-format off */
	static const unsigned char made[] = {
		0x55, 0x48, 0x89, 0xe5,             /* push %rbp; mov %rsp,%rbp */
		0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, /* mov $malloc,%rax */
		0xff, 0xd0,                         /* call *%rax */
		0x5d, 0xc3,                         /* pop %rbp; ret */
	};
	/* clang-format on */
	memcpy(to, made, sizeof(made));
	memcpy(to + 6, &function, sizeof(function));
#elif defined(__aarch64__)
	/* clang-format off */
	static const unsigned made[] = {
		0xa9bf7bfd, 0x910003fd, /* stp x29,x30,[sp,#-16]!; mov x29,sp */
		0x58000090, 0xd63f0200, /* ldr x16,.+16; blr x16 */
		0xa8c17bfd, 0xd65f03c0, /* ldp x29,x30,[sp],#16; ret */
	};
	/* clang-format on */
	memcpy(to, made, sizeof(made));
	memcpy(to + sizeof(made), &function, sizeof(function));
#else
	(void)to, (void)function;
	exit(77);
#endif
}

static void append(const char *text, int flags)
{
	int fd = open(map_path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);

	EXPECT(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void allocate(unsigned k, size_t size, unsigned count)
{
	void *(*piece)(size_t);
	unsigned char *at = code + k % 16 * PIECE;

	memcpy(&piece, &at, sizeof(piece));
	while (count--)
		EXPECT(piece(size));
}

int main(void)
{
	char line[1000], text[1200], name[1000];
	unsigned k, count;
	size_t size;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	code = mmap(NULL, 16 * PIECE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(code != MAP_FAILED);
	for (k = 0; k < 16; k++)
		make_code(code + k * PIECE);
	__builtin___clear_cache((char *)code, (char *)code + 16 * PIECE);
	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "a %u %zu %u", &k, &size, &count) == 3) {
			allocate(k, size, count);
		} else if (sscanf(line, "n %u %999[^\n]", &k, name) == 2) {
			snprintf(text, sizeof(text), "%lx %x %s\n",
				 (unsigned long)(code + k % 16 * PIECE), PIECE, name);
			append(text, O_APPEND);
		} else if ((line[0] == 'p' || line[0] == 'r') && line[1] == ' ') {
			snprintf(text, sizeof(text), "%s%s", line + 2, line[0] == 'r' ? "\n" : "");
			append(text, O_APPEND);
		} else {
			EXPECT(!strcmp(line, "t"));
			append("", O_TRUNC);
		}
		EXPECT(write(1, "ok\n", 3) == 3);
	}
	return 0;
}
