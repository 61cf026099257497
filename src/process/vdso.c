// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/vdso.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/io.h"

#define MAX_BYTES (1u << 20) /* the vdso of any kernel has 1 to 4 pages */

/* Return: where the mapping that begins at @start ends; 0: there is none. */
static uint64_t mapping_end(uint64_t start)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2 && from == start)
			return to;
	}
	return 0;
}

int vdso_open(uint64_t *ret_size)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	uint64_t end = start ? mapping_end(start) : 0;
	_cleanup_close_ int fd = -1;
	int err;

	if (end <= start || end - start > MAX_BYTES)
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = io_write_all(fd, (const void *)(uintptr_t)start, end - start);
	if (err)
		return err;
	*ret_size = end - start;
	return take_fd(&fd);
}
