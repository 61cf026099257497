/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what /proc knows about one process (proc(5)).
 *
 * A descriptor on /proc/PID always refers to the same process: after its exit look-ups
 * in the directory fail, even if the pid is reused. So it is enough to compare the
 * start time once, after opening the directory.
 */
#ifndef LB_PROCESS_PROC_DIR_H
#define LB_PROCESS_PROC_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strpool.h"
#include "process/maps.h"

/* The kernel rounds start times down to ticks of USER_HZ, which is 100. */
#define PROC_TICK_NS 10000000ULL

struct proc_stat {
	char comm[16]; /* as in the kernel: any byte but NUL */
	char state; /* 'R', 'S', 'Z' ... */
	uint32_t ppid;
	bool is_kernel_thread;
	uint32_t nr_threads;
	uint64_t start_ticks; /* since boot, USER_HZ */
};

struct proc_status {
	uint32_t tgid;
	uid_t uid; /* effective */
	gid_t gid;
	uint32_t ns_tgid; /* innermost pid namespace; 0: not known */
};

/* Pure parsers. Return: 0, or -EBADMSG with @ret unchanged. */
int proc_stat_parse(const char *text, struct proc_stat *ret);
int proc_status_parse(const char *text, struct proc_status *ret);

/**
 * Finds the uid, in our user namespace, that this uid_map maps to 0.
 * Return: 0, or -ENOENT if it maps no 0 (or the text is not a uid_map).
 */
int proc_uid_map_parse(const char *text, uid_t *ret);

/** Returns whether /proc hides other users' processes from us (hidepid). */
bool proc_hides_others(void);

/** Opens PID below @proc_fd (a directory, /proc). Return: O_PATH or -errno. */
int proc_dir_open(int proc_fd, uint32_t pid);

/** Same, below our own /proc. */
int proc_dir_open_here(uint32_t pid);

/**
 * Calls @fn for each process in @proc_fd (AT_FDCWD: our own /proc), until it returns
 * nonzero. @proc_dir is a directory like that of proc_dir_open(), borrowed.
 * Return: the last result of @fn, or 0; -errno when /proc cannot be listed.
 */
int proc_dir_each(int proc_fd, int (*fn)(void *ctx, uint32_t pid, int proc_dir),
		  void *ctx);

struct proc_tree_item {
	uint32_t tgid, ppid;
	uint64_t start_ticks; /* since boot, USER_HZ */
	bool is_marked;
};

/* All processes, by tgid. All zeroes is empty. */
struct proc_tree {
	struct proc_tree_item *items; /* heap */
	size_t nr, cap;
};

/** Reads all processes into @ret, replaced. Return: 0, -ENOMEM, or -errno of /proc. */
int proc_tree_read(int proc_fd, struct proc_tree *ret);
void proc_tree_deinit(struct proc_tree *tree);

/** Marks a process. Return: whether it exists. */
bool proc_tree_mark(struct proc_tree *tree, uint32_t tgid);

/** Makes a process no descendant of any other. */
void proc_tree_detach(struct proc_tree *tree, uint32_t tgid);

/** Marks the descendants of marked processes. */
void proc_tree_mark_descendants(struct proc_tree *tree);

/**
 * Opens the directory of another thread of the process, for a leader that is a zombie:
 * its own directory has no data. Return: a directory like proc_dir_open(), or -ESRCH.
 */
int proc_dir_open_thread(int proc_fd, int proc_dir, uint32_t tgid);

/**
 * Opens the file that is mapped at @m, even if deleted, replaced or without a name, by its
 * link in map_files. Return: O_PATH or -errno.
 */
int proc_dir_open_mapped(int proc_dir, const struct mapping *m);

/** Return: 0, -ESRCH or -ENOENT when it is gone, -EBADMSG, other errno. */
int proc_dir_stat(int proc_dir, struct proc_stat *ret);
int proc_dir_status(int proc_dir, struct proc_status *ret);
int proc_dir_root_uid(int proc_dir, uid_t *ret);

/**
 * Reads the file cgroup (cgroups(7)), as many whole lines as fit @size.
 * Return: bytes, or -errno.
 */
ssize_t proc_dir_cgroup(int proc_dir, char *buf, size_t size);

/**
 * Calls @add for each executable mapping (see maps_parse).
 *
 * @buf  work space of @size >= 8192 bytes; a longer line is malformed
 * Return: bytes read (0: no memory of its own, like a zombie), or -errno.
 */
ssize_t proc_dir_maps(int proc_dir, char *buf, size_t size, uint64_t time_ns,
		      struct strpool *pool, int (*add)(void *, const struct mapping *),
		      void *ctx);

#endif
