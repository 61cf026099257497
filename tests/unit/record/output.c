// SPDX-License-Identifier: GPL-2.0-or-later
/* What the process that writes files refuses. */
#include "record/output.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "worker/broker.h"

/* Their folder is opened with root's rights; that of run is its user's. */
static void run_has_no_windows(void **state)
{
	const struct sampling run = {.target.is_command = true,
				     .output = "/missing/p.pb.gz"};
	struct output out = {.config = &run, .folder.fd = -1};
	/* Zeroed, but for a window's number. */
	struct {
		int64_t begin_s;
		bool has_id;
		struct window_id id;
	} wanted = {.has_id = true, .id.number = 1};
	char done[BROKER_MAX_BYTES];
	struct broker_message request = {.data = &wanted, .len = sizeof(wanted)};
	struct broker_message reply = {.data = done};

	(void)state;
	assert_int_equal(output_serve_write(&out, &request, &reply), -EPERM);
	assert_int_equal(output_serve_follow(&out, &request, &reply), -EPERM);
	/* Another length is another request. */
	request.len--;
	assert_int_equal(output_serve_write(&out, &request, &reply), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_has_no_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
