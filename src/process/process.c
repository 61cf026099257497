// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/process.h"

#include <errno.h>

bool process_may_open(const struct process *proc)
{
	return proc->root_fd >= 0 && proc->uid != (uid_t)-1 && proc->gid != (gid_t)-1;
}

int process_open_in_root(const struct process *proc, const char *path,
			 unsigned int safe_open_flags, uint64_t max_bytes)
{
	struct safe_open how = {
		.root_fd = proc->root_fd,
		.path = path,
		.flags = safe_open_flags,
		.uid = proc->uid,
		.gid = proc->gid,
		.root_uid = proc->root_uid,
		.max_bytes = max_bytes,
	};

	return process_may_open(proc) ? safe_open(&how) : -ESRCH;
}
