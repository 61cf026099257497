// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kmap.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "lineburn_unwind.h"

int kmap_update(int fd, const void *key, const void *value)
{
	return bpf_map_update_elem(fd, key, value, BPF_ANY) ? -errno : 0;
}

bool kmap_has(int fd, uint32_t index)
{
	uint32_t id;

	return !bpf_map_lookup_elem(fd, &index, &id);
}

int kmap_delete(int fd, const void *key)
{
	return bpf_map_delete_elem(fd, key) ? -errno : 0;
}

int kmap_new_slab(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	/* Type, sizes and flags must equal those of the sampler's inner map. */
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "slab", sizeof(uint32_t),
				sizeof(struct lb_unwind_rows), LB_SLAB_VALUES, &opts);

	return fd < 0 ? -errno : fd;
}

void *kmap_map(int fd, size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

void kmap_unmap(void *mem, size_t bytes)
{
	if (mem)
		munmap(mem, bytes);
}

/* Returns the number in a line "KEY:\tNUMBER"; @otherwise if it has another key. */
static uint64_t number_of(const char *line, const char *key, uint64_t otherwise)
{
	size_t len = strlen(key);

	return strncmp(line, key, len) ? otherwise : strtoull(line + len, NULL, 10);
}

uint64_t kmap_bytes(int fd)
{
	uint64_t type = 0, nr = 0, bytes = 0;
	char path[64], line[256];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		type = number_of(line, "map_type:", type);
		nr = number_of(line, "max_entries:", nr);
		bytes = number_of(line, "memlock:", bytes);
	}
	/*
	 * Kernels 5.11 to 6.3 multiply max_entries by the value size, which is 0 for a
	 * ring.
	 */
	if (type == BPF_MAP_TYPE_RINGBUF && bytes < nr)
		bytes = nr;
	return bytes;
}
