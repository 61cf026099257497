// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"

/* A recording has less in any one file, but for the profile of a large machine. */
#define FILE_MIN_BYTES ((rlim_t)16 << 20)

static struct caller {
	bool has_limit, has_pipe; /* the members below are set */
	struct rlimit file_limit;
	void (*on_file_limit)(int); /* SIGXFSZ */
	void (*on_pipe)(int);
} caller;

void caller_open_streams(void)
{
	/* The lowest number that is free is used first. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && io_open_nothing() != fd)
			_exit(EXIT_FAILED);
}

int caller_lift_file_limit(struct error *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit))
		return 0;
	caller.has_limit = true;
	caller.file_limit = limit;
	caller.on_file_limit = signal(SIGXFSZ, SIG_IGN);
	if (!setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	if (limit.rlim_max >= FILE_MIN_BYTES)
		return 0;
	return error_set_exit(err, EXIT_SYSTEM, -EFBIG,
			      "files may have %llu KiB at most here (ulimit -f), and a "
			      "recording needs %llu; raise the limit, or give lineburn "
			      "CAP_SYS_RESOURCE",
			      (unsigned long long)limit.rlim_max >> 10,
			      (unsigned long long)FILE_MIN_BYTES >> 10);
}

void caller_ignore_pipe(void)
{
	caller.on_pipe = signal(SIGPIPE, SIG_IGN);
	caller.has_pipe = true;
}

void caller_heed_pipe(void)
{
	if (caller.has_pipe)
		signal(SIGPIPE, caller.on_pipe);
	caller.has_pipe = false;
}

void caller_restore(void)
{
	caller_heed_pipe();
	if (!caller.has_limit)
		return;
	signal(SIGXFSZ, caller.on_file_limit);
	setrlimit(RLIMIT_FSIZE, &caller.file_limit);
	caller.has_limit = false;
}
