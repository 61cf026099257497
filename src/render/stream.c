// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/stream.h"

#include <errno.h>
#include <poll.h>

int stream_finish(FILE *out)
{
	struct pollfd pipe_end = {.fd = fileno(out)};

	if (fflush(out))
		return -errno;
	if (!ferror(out))
		return 0;
	/* stdio forgets why an earlier write failed; a pipe still knows. */
	if (pipe_end.fd >= 0 && poll(&pipe_end, 1, 0) == 1 && pipe_end.revents & POLLERR)
		return -EPIPE;
	return -EIO;
}
