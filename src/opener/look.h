/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at what belongs to a target: its directory in /proc, files in its root, mapped
 * files. Any of these may block, even beyond SIGKILL (a file system in user space below
 * an overlay; a target that holds its own mmap_lock or exec_update_lock, or the lock of a
 * directory of its own in /proc), so the collector lets its opener do it (opener/opener.h).
 */
#ifndef LB_OPENER_LOOK_H
#define LB_OPENER_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/wire.h"

enum look_where {
	/* A name below the base, a directory of /proc or of a hierarchy of cgroups. */
	LOOK_BELOW,
	LOOK_IN_ROOT, /* a path in the base, the root of a target; links cannot lead out */
	LOOK_ITSELF, /* the base, a descriptor */
	NR_LOOK_WHERE,
};

enum look_what {
	LOOK_LINK, /* text: of the symbolic link */
	LOOK_PROC_TEXT, /* text: of a file that the kernel makes */
	LOOK_FACTS, /* about what the name leads to */
	LOOK_HANDLE, /* fd: O_PATH, and facts */
	LOOK_FILE, /* fd: to read, and facts; the first byte was read */
	LOOK_CONTENT, /* text: of a file, and facts */
	LOOK_NAMES, /* text: a line for each name in a directory, as far as they fit */
	/*
	 * text: a struct look_owner for each folder that the name leads through, and its own,
	 * until one is not root's, or cannot be seen
	 */
	LOOK_OWNERS,
	/* text: the path of the cgroup with this number; the base: a mount of cgroup v2 */
	LOOK_CGROUP_PATH,
	NR_LOOK_WHAT,
};

/* Zeroed: it cannot be seen. */
struct look_owner {
	uint32_t uid, gid, mode;
};

enum look_rules {
	/* Regular, on no pseudo file system or FUSE, at most max_bytes. */
	LOOK_CHECKED = 1 << 0,
	/* CHECKED, and: owned by uid or root_uid, not world-writable, one name. */
	LOOK_OWNED = 1 << 1,
	LOOK_NOFOLLOW = 1 << 2, /* the last component must not be a symlink */
	LOOK_AS_OWNER = 1 << 3, /* with the file rights of uid and gid */
	LOOK_WITH_FS = 1 << 4, /* also ask for the kind of its file system */
	/* The kernel writes this PROC_TEXT in one piece: a short read is its end. */
	LOOK_ONE_PIECE = 1 << 5,
	LOOK_FOLDERS = 1 << 6, /* only the NAMES of directories */
	/* This HANDLE is the base of the looks after it; if it fails, so do they. */
	LOOK_ENTER = 1 << 7,
};

/* About a file; from the kernel's cache, so that no remote server is asked. */
struct look_facts {
	uint64_t dev; /* makedev() */
	uint64_t inode, size_bytes, mount_id;
	int64_t mtime_ns, ctime_ns;
	uint32_t mode, uid, gid, nr_links;
	uint64_t fs_magic; /* linux/magic.h; with LOOK_WITH_FS only */
	bool is_mount_root;
	bool has_acl; /* of a CHECKED, readable file */
};

struct look {
	enum look_where where;
	enum look_what what;
	unsigned int rules;
	const char *name; /* NULL: ITSELF */
	uid_t uid; /* of the target, in our user namespace */
	gid_t gid;
	uid_t root_uid; /* the uid that is 0 in the target's user namespace */
	uint64_t max_bytes; /* of a CHECKED file, PROC_TEXT, NAMES; 0: no limit */

	/* The result. */
	int rc; /* 0 or a negative errno; then the rest is empty */
	int fd; /* -1: none; the caller closes it */
	char *text; /* heap, terminated; NULL: none */
	size_t len;
	struct look_facts facts;
};

/** Looks, in this process. Sets @look->rc. */
void look_here(int base_fd, struct look *look);

/* Where the next of several looks is made. */
struct look_base {
	int fd; /* borrowed */
	int rc; /* of all that follow; 0: they are made */
};

/** The same for several looks, one after the other. */
void look_in_turn(struct look_base *base, struct look *look);

void look_deinit(struct look *look);

/* As sent to an opener: without results, and results without the descriptor. */
void look_put(struct wire_writer *w, const struct look *look);
/* @name  gets the terminated name. Return: false, if it is malformed. */
bool look_get(struct wire_reader *r, struct look *ret, char *name, size_t size);
void look_put_result(struct wire_writer *w, const struct look *look);
/*
 * Sets all results but fd, which comes with the message if there is one. Return: false if
 * malformed or out of memory.
 */
bool look_get_result(struct wire_reader *r, struct look *look, bool *ret_has_fd);

#endif
