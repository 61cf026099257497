/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inodes that are probed for the JIT interface. Two containers may have the same file
 * by path and build id, which is one to the file cache, but a uprobe is on an inode.
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
 * All are borrowed.
 *
 * @user  only files that he or root owns, and nobody else may write, are probed; NULL: all.
 *        Attaching takes locks of every process that maps the file, for the whole machine
 *        (dup_mmap_sem, then each mmap_lock: kernel/events/uprobes.c), and waits for whoever
 *        holds one.
 * Return: NULL when out of memory.
 */
struct jit_inodes *jit_inodes_new(struct jit_probe *probe, struct worker *decoder,
				  const uid_t *user);
void jit_inodes_free(struct jit_inodes *inodes);
DEFINE_CLEANUP(struct jit_inodes, jit_inodes_free);

struct jit_inode {
	uint64_t number; /* of this use of it, never again; 0: none, there are too many */
	uint64_t probed_ns; /* 0: no probe was to be had */
};

/**
 * Probes the inode behind @fd, if that was not tried before. What fstat(2) says is not
 * enough to tell: one inode has many device numbers on overlayfs, and is probed once.
 *
 * @fd      borrowed, may be O_PATH: a file of the target's choice. Only if it has the
 *          interface exactly at @point it is probed: a breakpoint elsewhere would break it.
 * @target  the file in which @point was found
 */
struct jit_inode jit_inodes_probe(struct jit_inodes *inodes, int fd,
				  const struct target_file *target,
				  const struct jit_interface *point);

/** Gives back all that jit_inodes_keep() does not name between the two. */
void jit_inodes_begin_sweep(struct jit_inodes *inodes);
void jit_inodes_keep(struct jit_inodes *inodes, uint64_t number);
void jit_inodes_end_sweep(struct jit_inodes *inodes);

#endif
