/* SPDX-License-Identifier: MIT
 *
 * check.h - the unit test framework. Each TEST runs in a forked child; a failed CHECK prints its
 * place and values, and ends that test only. Prints PASS/FAIL lines that tests/run.sh counts.
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct check_test {
	const char *name;
	void (*run)(void);
	struct check_test *next;
};
static struct check_test *check_tests, **check_tail = &check_tests;

#define TEST(id)                                                                                   \
	static void test_##id(void);                                                               \
	__attribute__((constructor)) static void add_##id(void)                                    \
	{                                                                                          \
		static struct check_test t = { #id, test_##id, NULL };                             \
		*check_tail = &t;                                                                  \
		check_tail = &t.next;                                                              \
	}                                                                                          \
	static void test_##id(void)

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("  %s:%d: %s\n", __FILE__, __LINE__, #cond);                        \
			fflush(stdout);                                                            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#define CHECK_EQ(a, b)                                                                             \
	do {                                                                                       \
		int64_t check_a = (int64_t)(a), check_b = (int64_t)(b);                            \
		if (check_a != check_b) {                                                          \
			printf("  %s:%d: %s == %s: %" PRId64 " != %" PRId64 "\n", __FILE__,        \
			       __LINE__, #a, #b, check_a, check_b);                                \
			fflush(stdout);                                                            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#define CHECK_STR(a, b)                                                                            \
	do {                                                                                       \
		const char *check_a = (a), *check_b = (b);                                         \
		if (!check_a || !check_b || strcmp(check_a, check_b)) {                            \
			printf("  %s:%d: %s == %s: \"%s\" != \"%s\"\n", __FILE__, __LINE__, #a,    \
			       #b, check_a ? check_a : "(null)", check_b ? check_b : "(null)");    \
			fflush(stdout);                                                            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

int main(int argc, char **argv)
{
	int failed = 0;

	for (struct check_test *t = check_tests; t; t = t->next) {
		if (argc > 1 && strcmp(argv[1], t->name))
			continue;
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0) {
			t->run();
			fflush(stdout);
			_exit(0);
		}
		int status = 0;
		waitpid(pid, &status, 0);
		bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
		if (WIFSIGNALED(status))
			printf("  ended by signal %d\n", WTERMSIG(status));
		printf("%s %s\n", ok ? "PASS" : "FAIL", t->name);
		failed += !ok;
	}
	return failed != 0;
}

#endif
