/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the files in which a JIT describes its code: perf map and jitdump. */
#ifndef LB_PROCESS_JIT_FILE_H
#define LB_PROCESS_JIT_FILE_H

#include "process/file.h"
#include "process/process.h"

#define PERF_MAP_MAX_BYTES (256ull << 20)
#define JITDUMP_MAX_BYTES  (4ull << 30)
#define JIT_FILE_MAX_SIZES 4096 /* looks kept; at more, every second one is forgotten */

/** Sets fd -1 and ENOENT. */
void jit_file_init(struct jit_file *f);
void jit_file_deinit(struct jit_file *f, struct fd_budget *budget);

/**
 * Looks for /tmp/perf-<ns_tgid>.map in the root of @p: opens it if it exists and is safe,
 * records its size if it is open. If the file was replaced or shrank, the list of sizes
 * starts again.
 */
void perf_map_look(struct process *p, struct strpool *pool, struct fd_budget *budget,
		   uint64_t now_ns);

/**
 * Looks for a mapped jit-<pid>.dump (a JIT maps a page of its jitdump to be
 * found), where pid is that of @p inside or outside of its namespace. It must
 * belong to the target like a perf map.
 *
 * @proc_dir  its directory in /proc; -1, when it is gone: looks by path
 */
void jitdump_look(struct process *p, int proc_dir, struct fd_budget *budget);

#endif
