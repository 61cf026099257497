/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inodes probed for the JIT interface. The file cache has one entry for files in
 * two containers with equal path and build id, but a uprobe is attached to an inode.
 */
#ifndef LB_RUNTIME_JIT_INODES_H
#define LB_RUNTIME_JIT_INODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/quota.h"
#include "decode/jit/interface.h"

struct jit_inodes;
struct jit_probe;
struct target_file;
struct shared_worker;
struct worker;

/**
 * Pointers are borrowed.
 *
 * @user  probe only files that this user or root owns and no other user may write;
 *        NULL: all. Attaching takes machine-wide dup_mmap_sem and the mmap_lock of
 *        every process that maps the file (kernel/events/uprobes.c), and so waits for
 *        anyone who holds them.
 * Return: NULL when out of memory.
 */
struct jit_inodes *jit_inodes_new(struct jit_probe *probe, struct shared_worker *decoder,
				  const uid_t *user);
void jit_inodes_free(struct jit_inodes *inodes);
DEFINE_CLEANUP(struct jit_inodes, jit_inodes_free);

struct jit_inode {
	uint64_t number; /* never reused; 0: none, the limit is reached */
	uint64_t probed_ns; /* 0: not probed */
	/* its probe, or that of another one, is being attached or removed: ask again later */
	bool is_pending;
};

/**
 * Begins to probe the inode of @fd, if not tried before. fstat(2) alone does not identify
 * it: on overlayfs one inode has many device numbers, but must be probed once.
 *
 * @who     it maps the file
 * @fd      borrowed, may be O_PATH. The target chose the file, so it is probed only if
 *      its interface is exactly at @point: a breakpoint elsewhere would corrupt it.
 * @target  file in which @point was found
 */
struct jit_inode jit_inodes_probe(struct jit_inodes *inodes, struct tenant who, int fd,
				  const struct target_file *target,
				  const struct jit_interface *point);

/**
 * Takes the result of the inode whose probe was being attached or removed, waiting at most
 * @timeout_ms for it. Return: whether there was one: states have changed.
 */
bool jit_inodes_settle(struct jit_inodes *inodes, int timeout_ms);

/**
 * Waits a second for the inode whose probe is being attached or removed. From now on there
 * is no other one.
 */
void jit_inodes_end(struct jit_inodes *inodes);

/**
 * Between begin and end, jit_inodes_keep() marks inodes in use. The others are unused until
 * a process maps them again.
 */
void jit_inodes_begin_sweep(struct jit_inodes *inodes);
void jit_inodes_keep(struct jit_inodes *inodes, uint64_t number);
void jit_inodes_end_sweep(struct jit_inodes *inodes);

/** Begins to remove the probe of an unused inode, unless another one is pending. */
void jit_inodes_remove_unused(struct jit_inodes *inodes);

#endif
