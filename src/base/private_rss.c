// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/private_rss.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

uint64_t private_rss_bytes(void)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long size, resident, shared;
	size_t len;

	/*
	 * proc_pid_statm(5), in pages; shared ones are files and rings of the kernel.
	 */
	if (io_read_file("/proc/self/statm", 4096, &text, &len) ||
	    sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3 ||
	    shared > resident)
		return 0;
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}
