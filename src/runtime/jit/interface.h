/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches a file for the JIT interface of GDB's manual. */
#ifndef LB_RUNTIME_JIT_INTERFACE_H
#define LB_RUNTIME_JIT_INTERFACE_H

#include "decode/jit/interface.h"
#include "worker/worker.h"

#define JIT_INTERFACE_DEADLINE_MS 2000 /* its names may have to come from a slow disk */

/**
 * Searches the symbol names of a file, in a worker. Cost: a scan of its string
 * tables: 0.04 ms for most programs, 4 ms for 15 MB of names (LLVM linked statically),
 * 35 ms when they come from a disk.
 *
 * @fd  the file, borrowed
 * Return: 0; -ENOENT when the file has no such interface (it is stripped, is for
 * another machine, is no ELF file); -ENODATA when the worker could not tell
 * (deadline, death: not worth another try); -EAGAIN when no worker could be started.
 */
int jit_interface_find(struct worker *decoder, int fd, struct jit_interface *ret);

#endif
