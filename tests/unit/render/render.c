// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cases.h"
#include "render/render.h"

static int render_to(FILE *out)
{
	const struct render_options opts = {.width = 100, .context = 2};
	struct render_case c;
	struct render_input in;

	assert_true(render_case_get("typical", &c));
	in = render_case_input(&c);
	return render_annotate(&in, &opts, out);
}

static void test_full_disk(void **state)
{
	_cleanup_fclose_ FILE *out = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(out);
	assert_int_equal(render_to(out), -ENOSPC);
}

/* "lineburn annotate | head" must be able to end in silence. */
static void test_reader_left(void **state)
{
	int fds[2];
	_cleanup_fclose_ FILE *out = NULL;
	char buf[64];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	out = fdopen(fds[1], "w");
	assert_non_null(out);
	/* Small pieces: the failure comes in the middle, the last flush may be fine. */
	setvbuf(out, buf, _IOFBF, sizeof(buf));
	assert_int_equal(render_to(out), -EPIPE);
}

static void test_earlier_failure_is_remembered(void **state)
{
	_cleanup_fclose_ FILE *out = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(out);
	fputs("lost", out);
	assert_int_not_equal(fflush(out), 0);
	assert_true(render_finish(out) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_reader_left),
		cmocka_unit_test(test_earlier_failure_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
