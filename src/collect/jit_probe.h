/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A uprobe on __jit_debug_register_code (the GDB JIT interface, "JIT Compilation
 * Interface" in GDB's manual): copies each in-memory object at the moment that
 * its program registers it. The program is loaded when the first file is probed,
 * so a machine without JITs pays nothing.
 */
#ifndef LB_COLLECT_JIT_PROBE_H
#define LB_COLLECT_JIT_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/jit_assembly.h"
#include "lineburn.h"

struct sampler;
struct jit_probe;

#define JIT_PROBE_MAX_FILES 256 /* more are refused, counted */

struct jit_probe_config {
	bool whole_machine; /* else only the targets of @sampler */
	/*
	 * Power of two, 64 KiB to 1 GiB; 0: 8 MiB. An object for which the ring has
	 * no room is refused at once (LB_JIT_NO_ROOM): 16 MiB need a ring of 32.
	 */
	size_t ring_bytes;
	size_t max_files; /* probed at once; 0: JIT_PROBE_MAX_FILES, which is the most */
};

/** Does its program load on this kernel? Nothing is attached. Return: 0 or -errno. */
int jit_probe_try(void);

/** @sampler  lends its maps of targets and code generations; must outlive this */
int jit_probe_new(const struct jit_probe_config *config, struct sampler *sampler,
		  struct jit_probe **ret, struct error *err);
void jit_probe_free(struct jit_probe *p);
DEFINE_CLEANUP(struct jit_probe, jit_probe_free);

/**
 * Probes one file, for all processes that map it.
 *
 * @fd               an open descriptor of the file, borrowed; deleted files and
 *                   files of other mount namespaces work too
 * @register_off     file offset of __jit_debug_register_code
 * @descriptor_delta vaddr of __jit_debug_descriptor - vaddr of
 *                   __jit_debug_register_code: the same in memory
 * Takes milliseconds, and the kernel about 0.1 s to end it, in jit_probe_free().
 * A file that is probed there already is left as it is. Its inode stays in use
 * until jit_probe_detach(), so a deleted file keeps its blocks.
 * Return: 0; -EOPNOTSUPP when this kernel has no uprobes or no cookies for them
 * (before 5.15: walk lists instead); -ENOSPC over max_files; else
 * another negative errno of the attachment.
 */
int jit_probe_attach(struct jit_probe *p, int fd, uint64_t register_off,
		     int64_t descriptor_delta);

/**
 * The file that fstat(2) says is @inode of @dev, and is probed at @register_off, is no more
 * wanted. Takes the kernel about 0.1 s. Nothing happens when it is not probed.
 */
void jit_probe_detach(struct jit_probe *p, uint64_t dev, uint64_t inode,
		      uint64_t register_off);

/**
 * Readable (epoll) when an eighth of the ring is used, or an object could not be
 * copied and should be fetched soon; waking for each object would cost its process an
 * interrupt. Read at each drain too. -1 until the first file is probed.
 */
int jit_probe_poll_fd(const struct jit_probe *p);

/**
 * Hands over what came, in order of completion; at most about as much as the ring
 * holds, the rest with the next read. An object of which a part was lost comes
 * when that is known: up to 2 s later.
 */
void jit_probe_read(struct jit_probe *p, jit_event_fn fn, void *ctx);

struct jit_probe_totals {
	uint64_t n[LB_NR_JIT_COUNTERS];
	uint64_t nr_files; /* probed */
	uint64_t nr_files_refused; /* over the maximum, or not attached */
	uint64_t nr_broken; /* objects of which a part was lost */
};
void jit_probe_totals(const struct jit_probe *p, struct jit_probe_totals *ret);

/** Kernel memory of its maps, bytes. */
uint64_t jit_probe_map_bytes(const struct jit_probe *p);

#endif
