// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "decode/requests.h"
#include "opener/look.h"

static int serve_base(struct worker_call *call, struct wire_reader *request, int base_fd,
		      struct wire_writer *reply)
{
	struct look_base base = {.fd = base_fd};
	uint32_t nr = wire_get_u32(request);
	char name[PATH_MAX];

	for (uint32_t i = 0; i < nr; i++) {
		struct look look;

		if (!look_get(request, &look, name, sizeof(name)))
			return -EINVAL;
		look_in_turn(&base, &look);
		if (look.fd >= 0 &&
		    worker_reply_fd(call, look.fd, look.what == LOOK_FILE)) {
			look_deinit(&look);
			look.rc = -EMFILE;
			base.rc = look.rules & LOOK_ENTER ? -EMFILE : base.rc;
		}
		look_put_result(reply, &look);
		look.fd = -1; /* the reply's */
		look_deinit(&look);
	}
	return 0;
}

int opener_serve(struct worker_call *call, struct wire_reader *request, const int *fds,
		 size_t nr_fds, struct wire_writer *reply)
{
	int rc = nr_fds ? 0 : -EINVAL;

	for (size_t i = 0; i < nr_fds && !rc; i++)
		rc = serve_base(call, request, fds[i], reply);
	return rc;
}
