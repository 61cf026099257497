/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Program images: one entry per (tgid, start_boottime, exec id), fed by task events and
 * /proc. An entry outlives the process until it is released.
 * Single-threaded.
 */
#ifndef LB_PROCESS_PROCESS_H
#define LB_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/strpool.h"
#include "collect/task_event.h"
#include "process/file.h"
#include "process/jit_code.h"
#include "process/maps.h"
#include "process/interp_code.h"
#include "process/replaced_code.h"

/* A file that a JIT writes: opened when first seen, read after the drain. */
struct jit_file {
	int fd; /* -1: none, or refused */
	int open_errno; /* ENOENT: there is none; else why it was refused */
	const char *path; /* where it was searched, as the target sees it; interned */
	struct tenant payer; /* of fd */
	uint64_t dev, inode; /* same */
	/*
	 * Its size at each check, in order of time, which gives the age of a line (perf
	 * maps). Of the checks that saw the same size only the first and the last are
	 * kept. The byte at offset o was written after the last check with size_bytes
	 * <= o and before the first one with more. Starts anew when the file was
	 * replaced or shrank.
	 */
	struct jit_file_size {
		uint64_t time_ns; /* CLOCK_MONOTONIC */
		uint64_t size_bytes;
	} * sizes;
	size_t nr_sizes, cap_sizes;
};

/* The owner of a process. Interned; "" if not known. */
struct process_owner {
	const char *cgroup; /* path below the root of its hierarchy */
	const char *container; /* id */
	const char *container_name;
	const char *runtime; /* "docker", ... */
	const char *pod; /* Kubernetes pod uid */
	const char *unit; /* systemd service or scope */
	const char *exe; /* path of its executable, in its own root */
	uint32_t hierarchy; /* of cgroup; 0: v2 */
	bool by_v2; /* cgroup is a path of cgroup v2 */
	bool is_late; /* who named the container could not be looked at; it is tried again */
};

struct process {
	uint32_t tgid; /* initial pid namespace */
	uint32_t exec_id; /* valid when identified */
	uint64_t start_boottime_ns; /* exact when identified, else from /proc (10 ms) */
	bool identified; /* start_boottime_ns and exec_id are exact, from a sample */
	bool exited;
	bool is_kernel_thread;
	uint64_t from_ns; /* this image began (fork or exec); 0: before we looked */
	uint64_t until_ns; /* exec'd away or exited; UINT64_MAX: runs */
	char comm[16];
	/*
	 * Ids and root are set only if read from this image, or taken from a sample of
	 * it, because it is not known whether a fork or an exec preserved them.
	 */
	uid_t uid; /* effective ids in our user namespace; (uid_t)-1: not known */
	gid_t gid;
	/*
	 * Who runs a setuid program pays for it: counts where uid is 0. It is 0, too, for what
	 * root starts, until that is known to be another's. (uid_t)-1: not known
	 */
	uid_t real_uid;
	uid_t root_uid; /* uid that is 0 in its user namespace; (uid_t)-1: not known */
	bool in_our_user_ns; /* its user namespace is known to be ours */
	uint32_t ns_tgid; /* pid in its own (innermost) pid namespace; 0: not known */
	struct process_owner owner; /* all NULL before it was read */
	struct tenant tenant; /* pays for its places; until it is known, its parent's */
	int root_fd; /* O_PATH on its root; -1: not known; shared, owned by the table */
	uint64_t root_id; /* unique among all roots the table ever had; 0: not known */
	/*
	 * It is that of pid 1, or ours where that cannot be read. Not in any other mount
	 * namespace: a program with set-uid lets users mount there what they like (bubblewrap).
	 */
	bool has_machines_root;
	struct maps maps;
	struct jit_file perf_map;
	struct jit_file jitdump;
	struct jit_code jit_code; /* bytes in process_table_jit_store() */
	struct replaced_code replaced_code; /* of jit_code; from unwind/feeder.h */
	struct interp_codes interp_codes; /* texts in the table's interp_store */
	/* its arguments, a '\n' after each; interned; NULL: not read */
	const char *command;
	const char *cwd; /* same; as it was when the arguments were read */
	bool opened; /* its files were opened, if possible */
	bool is_over; /* no thread runs, all samples are named: process_table_trim() */
	uint32_t id; /* 0, 1, 2 ...: index for other tables */
};

/**
 * Returns whether its ids and root are known. Otherwise none of its files is opened.
 */
bool process_may_open(const struct process *proc);

/** The same in the root @root_id, which it may have left since; 0: in whatever it has. */
bool process_may_open_in(const struct process *proc, uint64_t root_id);

/** May files that it names be looked at now? opener_has_time() of its tenant. */
bool process_has_time(const struct process *proc);

/**
 * Opens a file that debug info names (debug file, .dwo, source) in the root @root_id of
 * @proc, by safe_open's rules. @path absolute in that root.
 * @ret  may be NULL
 * Return: as safe_open(); -ESRCH if not process_may_open_in().
 */
int process_open_in_root(const struct process *proc, uint64_t root_id, const char *path,
			 uint64_t max_bytes, struct look_facts *ret);

/** Opens and reads it. @ret  heap, terminated. */
int process_read_in_root(const struct process *proc, uint64_t root_id, const char *path,
			 uint64_t max_bytes, char **ret, size_t *ret_len,
			 struct look_facts *ret_facts);

/* ---- for the process table: perf map and jitdump ---- */

/** Sets fd -1 and ENOENT. */
void jit_file_init(struct jit_file *f);
void jit_file_deinit(struct jit_file *f, struct fd_budget *budget);

/**
 * Checks /tmp/perf-<ns_tgid>.map in the root of @p: opens it if it exists and is safe,
 * records its size if it is open. If the file was replaced or shrank, the list of sizes
 * starts again.
 */
void perf_map_look(struct process *p, struct strpool *pool, struct fd_budget *budget,
		   uint64_t now_ns);

/**
 * Opens the mapped jit-<pid>.dump (a JIT maps a page of its jitdump so that tools find
 * it), where pid is that of @p inside or outside of its namespace. Like a perf map it
 * must belong to the target.
 *
 * @proc_dir  its directory in /proc; -1 if it is gone: searches by path
 */
void jitdump_look(struct process *p, int proc_dir, struct fd_budget *budget);

#endif
