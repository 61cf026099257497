/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inodes probed for the JIT interface. A file in two containers with equal path and
 * build id is one file to the file cache, but a uprobe is on an inode.
 */
#ifndef LB_RUNTIME_JIT_INODES_H
#define LB_RUNTIME_JIT_INODES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "decode/jit/interface.h"

struct jit_inodes;
struct jit_probe;
struct target_file;
struct worker;

/**
 * Pointers are borrowed.
 *
 * @user  probe only files that this user or root owns and no other user may write; NULL:
 *        all. Attaching takes machine-wide dup_mmap_sem and the mmap_lock of every
 *        process that maps the file (kernel/events/uprobes.c), and waits for their
 *        holders.
 * Return: NULL when out of memory.
 */
struct jit_inodes *jit_inodes_new(struct jit_probe *probe, struct worker *decoder,
				  const uid_t *user);
void jit_inodes_free(struct jit_inodes *inodes);
DEFINE_CLEANUP(struct jit_inodes, jit_inodes_free);

struct jit_inode {
	uint64_t number; /* never reused; 0: none, there are too many */
	uint64_t probed_ns; /* 0: not probed */
};

/**
 * Probes the inode of @fd, if not tried before. fstat(2) alone does not identify it: an
 * inode has many device numbers on overlayfs, but is probed once.
 *
 * @fd      borrowed, may be O_PATH; the target chose the file. It is probed only if its
 *          interface is exactly at @point: a breakpoint elsewhere would break it.
 * @target  file in which @point was found
 */
struct jit_inode jit_inodes_probe(struct jit_inodes *inodes, int fd,
				  const struct target_file *target,
				  const struct jit_interface *point);

/**
 * Between begin and end, jit_inodes_keep() marks inodes in use; the end releases the
 * others.
 */
void jit_inodes_begin_sweep(struct jit_inodes *inodes);
void jit_inodes_keep(struct jit_inodes *inodes, uint64_t number);
void jit_inodes_end_sweep(struct jit_inodes *inodes);

#endif
