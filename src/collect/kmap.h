/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets other stages write kernel maps without libbpf's types. */
#ifndef LB_COLLECT_KMAP_H
#define LB_COLLECT_KMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maps of the unwinder (lineburn_unwind.h); descriptors, borrowed from the sampler. */
struct unwind_kmaps {
	int slabs_fd; /* array of maps; each made by kmap_new_slab() */
	int pages_fd, rules_fd, segments_fd,
		interps_fd; /* arrays; all but interps mappable */
	int processes_fd; /* hash: struct lb_image -> struct lb_unwind_process */
	int inherited_fd; /* same, of children; an entry of processes_fd counts before it */
	int files_fd; /* hash: struct lb_unwind_file_key -> struct lb_unwind_file */
	/*
	 * Increment when pages are reassigned to another object, and after any was
	 * cleared to get other rules, or marked as unused. Borrowed.
	 */
	volatile uint32_t *pages_generation;
	/*
	 * LB_IMAGE_CHANGES of them: increment that of its tgid, atomically, after a
	 * process's entry was changed or removed. Borrowed.
	 */
	volatile uint32_t *image_changes;
};

/**
 * Adds or replaces an entry, by bpf(2). For slabs, whose values are descriptors, this
 * waits for running programs. Return: 0 or -errno.
 */
int kmap_update(int fd, const void *key, const void *value);
/** Is there a slab at @index? Programs see it even if its update has not returned yet. */
bool kmap_has(int fd, uint32_t index);
/** Deletes an entry. Return: 0, -ENOENT or another -errno. */
int kmap_delete(int fd, const void *key);

/** Creates a slab of rows for the sampler's map. Return: descriptor or -errno. */
int kmap_new_slab(void);

/** Maps the values of a mappable array. Return: NULL with errno set on failure. */
void *kmap_map(int fd, size_t bytes);
void kmap_unmap(void *mem, size_t bytes);

/** Returns the kernel memory of the map, bytes; 0: not known. */
uint64_t kmap_bytes(int fd);

#endif
