// SPDX-License-Identifier: GPL-2.0-or-later
#include "render/render.h"

#include <errno.h>
#include <poll.h>

#include "base/match.h"

int render_finish(FILE *out)
{
	struct pollfd pipe_end = {.fd = fileno(out)};

	if (fflush(out))
		return -errno;
	if (!ferror(out))
		return 0;
	/*
	 * stdio loses the errno of an earlier write, but poll() still shows a closed
	 * pipe.
	 */
	if (pipe_end.fd >= 0 && poll(&pipe_end, 1, 0) == 1 && pipe_end.revents & POLLERR)
		return -EPIPE;
	return -EIO;
}

bool render_has_rank(const struct render_options *opts, size_t i)
{
	return !opts->limit || i < opts->limit;
}

bool render_has_file(const struct render_options *opts, const char *path)
{
	return !opts->file_filter || match_ends(path, opts->file_filter);
}
