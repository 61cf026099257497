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
#include "opener/look.h"
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
	uid_t real_uid;
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

/**
 * Opens PID below @proc_fd (a directory, /proc). Return: O_PATH or -errno: -ENOENT: there is
 * none; what proc_dir_is_late(): somebody holds /proc.
 */
int proc_dir_open(int proc_fd, uint32_t pid);

/** The same, and reads its stat. Return: an error of either. */
int proc_dir_open_stat(int proc_fd, uint32_t pid, struct proc_stat *ret);

/** Same, below our own /proc. */
int proc_dir_open_here(uint32_t pid);

/** Opens the root of process 1 of @proc_fd. Return: O_PATH or -errno. */
int proc_root_of_first(int proc_fd);

/**
 * Calls @fn for each process in @proc_fd (AT_FDCWD: our own /proc), by number, until it returns
 * nonzero. @proc_dir is a directory like that of proc_dir_open(), borrowed, or what
 * proc_dir_is_late(). Return: the last result of @fn, or 0; -errno when /proc cannot be listed.
 */
int proc_dir_each(int proc_fd, int (*fn)(void *ctx, uint32_t pid, int proc_dir),
		  void *ctx);

struct proc_tree_item {
	uint32_t tgid, ppid; /* ppid 0: not known */
	uint64_t start_ticks; /* since boot, USER_HZ; 0: it does not tell (is late) */
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
 * Reads the text of this file of each thread, until @fn returns nonzero.
 *
 * @list_bytes  of the list of threads, a line each; others are not looked at
 * Return: the last result of @fn; -EFBIG: there may be more threads; -errno: not all were
 * looked at.
 */
int proc_dir_each_thread(int proc_dir, const char *file, uint64_t list_bytes,
			 int (*fn)(void *ctx, const char *tid, const char *text),
			 void *ctx);

/**
 * Opens the directory of another thread of the process, for a leader that is a zombie:
 * its own directory has no data. Return: a directory like proc_dir_open(), -ESRCH, or what
 * proc_dir_is_late().
 */
int proc_dir_open_thread(int proc_fd, int proc_dir, uint32_t tgid);

/**
 * Finds the file that is mapped at @m, even if deleted, replaced or without a name, by its
 * link in map_files.
 *
 * @who  of the process
 * Return: O_PATH, with @ret filled, or -errno.
 */
int proc_dir_find_mapped(int proc_dir, struct tenant who, const struct mapping *m,
			 struct look_facts *ret);

/** Return: 0, -ESRCH or -ENOENT when it is gone, -EBADMSG, other errno. */
int proc_dir_stat(int proc_dir, struct proc_stat *ret);
/** Does the result say that it exists, and blocks whoever looks at it? */
bool proc_dir_is_late(int rc);
int proc_dir_status(int proc_dir, struct proc_status *ret);

/* What decides with which rights its files are opened, read in this order. */
struct proc_identity {
	struct proc_status status;
	/*
	 * The uid that is 0 in its user namespace, in ours; (uid_t)-1: not known, or
	 * maps_root is false.
	 */
	uid_t root_uid;
	bool maps_root; /* false: its user namespace has no uid 0 */
	uint64_t user_ns; /* inode of its user namespace; 0: it is exiting */
};
/*
 * What is read of a process that is looked at for the first time, in one request, in this
 * order: a process that leaves our user namespace can mount anything, but then it has
 * another root.
 */
struct proc_view {
	uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC, around the reading */
	unsigned int parts; /* that were read, of proc_view_part */
	int stat_rc, identity_rc; /* of proc_dir_stat(), and similar */
	struct proc_stat stat;
	struct look root; /* a handle */
	struct proc_identity identity;
	/* NULL text unless they were read: */
	struct look cgroup, exe, root_path;
};

#define PROC_VIEW_NONE       \
	((struct proc_view){ \
		.root.fd = -1, .cgroup.fd = -1, .exe.fd = -1, .root_path.fd = -1})

enum proc_view_part {
	PROC_VIEW_ROOT = 1 << 0,
	PROC_VIEW_IDENTITY = 1 << 1,
	PROC_VIEW_CGROUP = 1 << 2,
	PROC_VIEW_EXE = 1 << 3, /* with root_path */
};

/** @parts  of proc_view_part, besides stat. Free with proc_view_deinit(). */
void proc_view_read(int proc_dir, unsigned int parts, struct proc_view *ret);
/** The same of PID below @proc_fd. Return: as proc_dir_open(); then @ret is PROC_VIEW_NONE. */
int proc_view_open(int proc_fd, uint32_t pid, unsigned int parts, struct proc_view *ret);
void proc_view_deinit(struct proc_view *view);

struct proc_view_request {
	int proc_fd; /* /proc */
	uint32_t pid;
	struct tenant who; /* it is its process */
	unsigned int parts; /* of proc_view_part */
	int proc_dir; /* the result, of proc_dir_open(); the caller closes it */
	struct proc_view view; /* the caller frees it */
	bool is_read; /* false: it has to be read alone */
};

/** Reads views in one request. @nr  at most OPENER_MAX_GROUPS */
void proc_views_read(struct proc_view_request *requests, size_t nr);

/** Reads its cgroups as text (cgroups(7)). @ret  the caller frees it */
void proc_dir_look_at_cgroup(int proc_dir, struct look *ret);
/** cgroup_path_of() what was read so. Return: NULL: nothing is known. */
const char *proc_dir_cgroup_path(const struct look *cgroup, size_t *ret_len,
				 uint32_t *ret_hierarchy);

/* A text of maps with fewer bytes has all mappings: a longer one may be cut. */
#define PROC_DIR_WHOLE_MAPS ((size_t)32 << 20)

/**
 * Calls @add for each executable mapping (see maps_parse).
 * Return: bytes read (0: no memory of its own, like a zombie), or -errno.
 */
ssize_t proc_dir_maps(int proc_dir, uint64_t time_ns, struct strpool *pool,
		      int (*add)(void *, const struct mapping *), void *ctx);

#endif
