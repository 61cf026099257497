/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A uprobe on __jit_debug_register_code (the GDB JIT interface, "JIT Compilation
 * Interface" in GDB's manual): copies each in-memory object when its program registers
 * it. The BPF program is loaded when the first file is probed, so there is no cost on a
 * machine without JITs.
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
	bool may_attach; /* false: the program is not even opened */
	bool whole_machine; /* false: only the targets of @sampler */
	/*
	 * Power of two, 64 KiB to 1 GiB; 0: 8 MiB. An object that does not fit the ring
	 * is refused at once (LB_JIT_NO_ROOM): 16 MiB need a ring of 32.
	 */
	size_t ring_bytes;
	size_t max_files; /* probed at once; 0: JIT_PROBE_MAX_FILES, the maximum */
};

/** Tests whether this kernel loads the program. Attaches nothing. Return: 0 or -errno. */
int jit_probe_try(void);

/**
 * Call it before a user may hold /proc. @sampler  provides maps of targets and code
 * generations; must outlive *ret
 */
int jit_probe_new(const struct jit_probe_config *config, struct sampler *sampler,
		  struct jit_probe **ret, struct error *err);
/**
 * Removes the probes, and waits a second for each. If the kernel does not finish with one,
 * the probes and a thread are left to the end of the process, which must follow.
 */
void jit_probe_free(struct jit_probe *p);
DEFINE_CLEANUP(struct jit_probe, jit_probe_free);

/**
 * Begins to probe a file, for all processes that map it. A thread attaches and removes
 * probes, because the kernel takes milliseconds, or longer: it waits for the memory lock of
 * each process that maps the file. One file at a time.
 *
 * @fd               an open descriptor of the file, borrowed; deleted files and
 *      files of other mount namespaces work too
 * @register_off     file offset of __jit_debug_register_code
 * @descriptor_delta vaddr of __jit_debug_descriptor - vaddr of
 * __jit_debug_register_code; the same in memory
 * The inode stays in use until its probe is removed, so a deleted file keeps its blocks.
 * Return: 0: jit_probe_settle() takes the result; -EBUSY: a probe is being attached or
 * removed; -EALREADY: the file is probed at that offset; -EOPNOTSUPP, -ENOSPC over
 * max_files, or another -errno.
 */
int jit_probe_attach(struct jit_probe *p, int fd, uint64_t register_off,
		     int64_t descriptor_delta);

/**
 * Begins to remove the probe at @register_off from the file with @dev and @inode as in
 * fstat(2). From now on the file does not count as probed. Takes about 0.1 s.
 * Return: 0: jit_probe_settle() tells the end; -EBUSY as above; -ENOENT: not probed.
 */
int jit_probe_detach(struct jit_probe *p, uint64_t dev, uint64_t inode,
		     uint64_t register_off);

/** Is a probe being attached or removed, or is the result still to be taken? */
bool jit_probe_is_busy(const struct jit_probe *p);
/** Becomes readable (poll) when jit_probe_settle() has a result to take. */
int jit_probe_settled_fd(const struct jit_probe *p);
/**
 * Takes the result for the file whose probe was being attached or removed.
 *
 * @timeout_ms  waits so long for it; -1: without a limit
 * @ret_rc      0; -EOPNOTSUPP if this kernel has no uprobes or no cookies for them
 *      (before 5.15: walk lists instead); else another -errno of the attachment
 * Return: whether there was one; otherwise @ret_rc is not set.
 */
bool jit_probe_settle(struct jit_probe *p, int timeout_ms, int *ret_rc);

/**
 * Becomes readable (epoll) when an eighth of the ring is used, or an object could not
 * be copied and should be read soon; a wake-up per object would cost its process an
 * interrupt. Call jit_probe_read() at each drain, too. -1 until the first file is
 * probed.
 */
int jit_probe_poll_fd(const struct jit_probe *p);

/**
 * Delivers the objects that arrived, in order of completion; at most about as much as
 * the ring holds, the rest at the next read. An object with a lost part is delivered
 * when the loss is detected: up to 2 s later.
 */
void jit_probe_read(struct jit_probe *p, jit_event_fn fn, void *ctx);

struct jit_probe_totals {
	uint64_t n[LB_NR_JIT_COUNTERS];
	uint64_t nr_files; /* probed */
	uint64_t nr_files_refused; /* over the maximum, or not attached */
	uint64_t nr_broken; /* objects with a lost part */
};
void jit_probe_totals(const struct jit_probe *p, struct jit_probe_totals *ret);

/** Returns the kernel memory of its maps, bytes. */
uint64_t jit_probe_map_bytes(const struct jit_probe *p);

#endif
