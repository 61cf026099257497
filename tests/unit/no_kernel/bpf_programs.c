// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel says of a program, with a fake of it. */
#include "collect/bpf_programs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/cleanup.h"

#define GONE 7

/* A program has missed ten times its descriptor. */
int bpf_obj_get_info_by_fd(int fd, void *ret, uint32_t *len)
{
	struct bpf_prog_info *info = ret;

	assert_true(fd >= 0);
	assert_int_equal(*len, sizeof(*info));
	if (fd == GONE) {
		info->recursion_misses = 1000;
		return -EBADF;
	}
	info->recursion_misses = 10 * (uint64_t)fd;
	return 0;
}

static void what_programs_missed_is_added_up(void **state)
{
	static const int fds[] = {3, -1, 4, GONE};

	(void)state;
	assert_int_equal(bpf_programs_missed(fds, ARRAY_SIZE(fds)), 70);
	assert_int_equal(bpf_programs_missed(fds, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_programs_missed_is_added_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
