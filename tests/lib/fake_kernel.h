/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel maps in memory, in place of collect/kmap.c, and what the kernel's walk finds in
 * them. These are definitions: one file of a program includes them. They check with
 * assert(), so that tests and fuzz targets have the same kernel.
 */
#ifndef LB_TESTS_FAKE_KERNEL_H
#define LB_TESTS_FAKE_KERNEL_H

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/kmap.h"
#include "lineburn_unwind.h"

/* ---- the maps ---- */

#define MAX_ENTRIES 64 /* of the processes map, and of the files map; see max_entries */

static struct kernel {
	struct unwind_kmaps maps;
	struct lb_unwind_row *slabs[LB_MAX_SLABS]; /* as the walk sees them */
	struct lb_unwind_page *pages;
	struct lb_unwind_rule *rules;
	struct lb_unwind_segment *segments;
	struct lb_interp interps[LB_MAX_INTERPS];
	struct entry {
		struct lb_image image;
		struct lb_unwind_process process;
		bool used;
	} entries[MAX_ENTRIES], inherited[MAX_ENTRIES],
		kept; /* kept: by the CPU, since image_changes was kept_changes */
	uint32_t kept_changes;
	int max_entries; /* these maps take no more; 0: MAX_ENTRIES */
	struct {
		struct lb_unwind_file_key key;
		struct lb_unwind_file file;
		bool used;
	} files[MAX_ENTRIES];
	atomic_uint nr_slabs; /* the kernel knows them */
	int wait_fd; /* updates of slabs wait until it can be read; 0: they do not */
	atomic_bool nobody_wrote; /* to it: an update waited in vain */
	unsigned int max_slabs; /* the kernel takes no more; 0: no limit */
	unsigned int nr_made, max_made; /* slabs; max 0: no limit */
	volatile uint32_t pages_generation, image_changes[LB_IMAGE_CHANGES];
} kernel;

static int new_file(size_t bytes)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	return fd;
}

int kmap_new_slab(void)
{
	if (kernel.max_made && kernel.nr_made == kernel.max_made)
		return -ENOMEM;
	kernel.nr_made++;
	return new_file(LB_SLAB_ROWS * sizeof(struct lb_unwind_row));
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

static struct entry *entries_of(int fd)
{
	assert(fd == kernel.maps.processes_fd || fd == kernel.maps.inherited_fd);
	return fd == kernel.maps.processes_fd ? kernel.entries : kernel.inherited;
}

static struct entry *find_entry(struct entry *entries, const struct lb_image *image)
{
	for (int i = 0; i < MAX_ENTRIES; i++)
		if (entries[i].used && !memcmp(&entries[i].image, image, sizeof(*image)))
			return &entries[i];
	return NULL;
}

/* Another thread calls it. */
static int add_slab(uint32_t index, int slab)
{
	struct pollfd wait = {.fd = kernel.wait_fd, .events = POLLIN};
	eventfd_t value;

	if (kernel.max_slabs && kernel.nr_slabs == kernel.max_slabs)
		return -ENOMEM;
	assert(index == kernel.nr_slabs);
	kernel.slabs[index] = kmap_map(slab, LB_SLAB_ROWS * sizeof(struct lb_unwind_row));
	kernel.nr_slabs++;
	if (!wait.fd)
		return 0;
	if (poll(&wait, 1, 10000) == 1)
		eventfd_read(wait.fd, &value);
	else
		kernel.nobody_wrote = true;
	return 0;
}

static int nr_places(void)
{
	return kernel.max_entries ? kernel.max_entries : MAX_ENTRIES;
}

static int file_of(const struct lb_unwind_file_key *key)
{
	for (int i = 0; i < MAX_ENTRIES; i++)
		if (kernel.files[i].used &&
		    !memcmp(&kernel.files[i].key, key, sizeof(*key)))
			return i;
	return -1;
}

static int add_file(const struct lb_unwind_file_key *key,
		    const struct lb_unwind_file *file)
{
	int i = file_of(key);

	for (int j = 0; i < 0 && j < nr_places(); j++)
		if (!kernel.files[j].used)
			i = j;
	if (i < 0)
		return -E2BIG;
	kernel.files[i].key = *key;
	kernel.files[i].file = *file;
	kernel.files[i].used = true;
	return 0;
}

/* The kernel evicts entries of children, so the tests must not need more than fit. */
static int add_entry(int fd, const struct lb_image *image,
		     const struct lb_unwind_process *process)
{
	struct entry *entries = entries_of(fd), *e = find_entry(entries, image);

	for (int i = 0; !e && i < nr_places(); i++)
		if (!entries[i].used)
			e = &entries[i];
	if (!e)
		return -E2BIG;
	*e = (struct entry){*image, *process, true};
	return 0;
}

int kmap_update(int fd, const void *key, const void *value)
{
	uint32_t index = *(const uint32_t *)key;

	if (fd == kernel.maps.slabs_fd)
		return add_slab(index, *(const int *)value);
	if (fd == kernel.maps.files_fd)
		return add_file(key, value);
	if (fd == kernel.maps.interps_fd) {
		memcpy(&kernel.interps[index], value, sizeof(struct lb_interp));
		return 0;
	}
	return add_entry(fd, key, value);
}

bool kmap_has(int fd, uint32_t index)
{
	assert(fd == kernel.maps.slabs_fd);
	return index < kernel.nr_slabs;
}

int kmap_delete(int fd, const void *key)
{
	bool *used = NULL;

	if (fd == kernel.maps.files_fd) {
		int i = file_of(key);

		used = i < 0 ? NULL : &kernel.files[i].used;
	} else {
		struct entry *e = find_entry(entries_of(fd), key);

		used = e ? &e->used : NULL;
	}
	if (!used)
		return -ENOENT;
	*used = false;
	return 0;
}

static int lookup(int fd, const void *key, void *value)
{
	const struct entry *e = find_entry(entries_of(fd), key);

	if (e)
		memcpy(value, &e->process, sizeof(e->process));
	return e ? 0 : -ENOENT;
}

/* Makes a kernel with empty maps. */
static void kernel_boot(void)
{
	kernel = (struct kernel){0};
	kernel.maps.pages_generation = &kernel.pages_generation;
	kernel.maps.image_changes = kernel.image_changes;
	kernel.maps.slabs_fd = 9001; /* never opened, so that no other call gets it */
	kernel.maps.interps_fd = 9002;
	kernel.maps.processes_fd = 9003;
	kernel.maps.files_fd = 9004;
	kernel.maps.inherited_fd = 9005;
	kernel.maps.pages_fd = new_file(LB_UNWIND_MAX_PAGES * 8);
	kernel.maps.rules_fd = new_file(LB_UNWIND_MAX_RULES * 8);
	kernel.maps.segments_fd = new_file(LB_UNWIND_MAX_SEGMENTS * 32);
	kernel.pages = kmap_map(kernel.maps.pages_fd, LB_UNWIND_MAX_PAGES * 8);
	kernel.rules = kmap_map(kernel.maps.rules_fd, LB_UNWIND_MAX_RULES * 8);
	kernel.segments = kmap_map(kernel.maps.segments_fd, LB_UNWIND_MAX_SEGMENTS * 32);
}

/* After the tables were freed. */
static void kernel_end(void)
{
	kmap_unmap(kernel.pages, LB_UNWIND_MAX_PAGES * 8);
	kmap_unmap(kernel.rules, LB_UNWIND_MAX_RULES * 8);
	kmap_unmap(kernel.segments, LB_UNWIND_MAX_SEGMENTS * 32);
	for (unsigned int i = 0; i < kernel.nr_slabs; i++)
		kmap_unmap(kernel.slabs[i], LB_SLAB_ROWS * sizeof(struct lb_unwind_row));
	if (kernel.wait_fd)
		close(kernel.wait_fd);
	close(kernel.maps.pages_fd);
	close(kernel.maps.rules_fd);
	close(kernel.maps.segments_fd);
}

/* ---- the walk ---- */

/* A CPU keeps the entry of the image that it walked last (bpf/walk.h). */
static bool find_process(const struct lb_image *image, struct lb_unwind_process *ret)
{
	uint32_t changes = kernel.image_changes[image->tgid % LB_IMAGE_CHANGES];

	if (!kernel.kept.used || memcmp(&kernel.kept.image, image, sizeof(*image)) ||
	    kernel.kept_changes != changes) {
		kernel.kept.used =
			!lookup(kernel.maps.processes_fd, image, &kernel.kept.process) ||
			!lookup(kernel.maps.inherited_fd, image, &kernel.kept.process);
		kernel.kept.image = *image;
		kernel.kept_changes = changes;
	}
	*ret = kernel.kept.process;
	return kernel.kept.used;
}

static const struct lb_unwind_segment *walk_segments(const struct lb_image *image,
						     struct lb_unwind_process *ret)
{
	const struct lb_unwind_segment *stamp;

	if (!find_process(image, ret))
		return NULL;
	stamp = &kernel.segments[ret->stamp];
	return ret->generation && stamp->start == ret->generation && !stamp->end
		       ? stamp + 1
		       : NULL;
}

/* Return: the rule at an address of an object; @ret_state is the state of its page. */
static struct lb_unwind_rule walk_rule(uint32_t object, uint64_t addr, int *ret_state)
{
	const struct lb_unwind_page *page = &kernel.pages[object + (addr >> 16)];
	const struct lb_unwind_row *rows;
	uint32_t i = 0, above;

	*ret_state = page->state;
	if (page->state != LB_PAGE_ROWS)
		return kernel.rules[0];
	rows = kernel.slabs[page->first_row / LB_SLAB_ROWS] +
	       page->first_row % LB_SLAB_ROWS;
	above = page->last_row + 1u;
	while (above - i > 1) {
		uint32_t middle = i + (above - i) / 2;

		if (rows[middle].pc_low <= (addr & 0xffff))
			i = middle;
		else
			above = middle;
	}
	return kernel.rules[rows[i].rule];
}

#endif
