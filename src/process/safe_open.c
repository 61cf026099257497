// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opening what a stranger named, as root, without doing what the stranger wants.
 *
 * The path is resolved inside the target's root (a symlink cannot lead out) to an
 * O_PATH descriptor, which opens nothing: a FIFO does not block or wake its
 * writer, a device does not act. Only what proves to be a regular file is opened
 * for reading, through that descriptor, so that it cannot be exchanged between.
 */
#include "process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/creds.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* A rename or mount at the same time makes the kernel ask for another try. */
#define MAX_RETRIES 32

int safe_open_resolve(const struct safe_open *how)
{
	struct open_how open_how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	if (how->flags & SAFE_OPEN_NOFOLLOW)
		open_how.flags |= O_NOFOLLOW;
	for (int i = 0; i < MAX_RETRIES; i++) {
		long fd = syscall(SYS_openat2, how->root_fd, how->path, &open_how,
				  sizeof(open_how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

/*
 * Files of procfs and its like are made up as they are read, for the reader: root
 * would see what the target may not. A FUSE file's server is the stranger.
 */
static bool is_refused_fs(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	switch ((unsigned long)fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case BPF_FS_MAGIC:
	case FUSE_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

int safe_open_check(int fd, const struct safe_open *how)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (is_refused_fs(fd))
		return -EXDEV;
	if (how->flags & SAFE_OPEN_OWNED) {
		if (st.st_uid != how->uid && st.st_uid != how->root_uid)
			return -EPERM;
		/* With a second name it may be a hard link to somebody's secret. */
		if (st.st_mode & S_IWOTH || st.st_nlink > 1)
			return -EPERM;
	}
	if (how->max_bytes && (uint64_t)st.st_size > how->max_bytes)
		return -EFBIG;
	return 0;
}

/* /proc/self/fd is ours and leads to exactly the file that was looked at. */
int safe_open_reopen(int path_fd)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int safe_open(const struct safe_open *how)
{
	_cleanup_close_ int path_fd = -1;
	bool as_owner = how->flags & SAFE_OPEN_AS_OWNER;
	struct creds creds;
	int rc;

	if (as_owner) {
		if (how->uid == (uid_t)-1 || how->gid == (gid_t)-1)
			return -EPERM;
		rc = creds_become(&creds, how->uid, how->gid);
		if (rc)
			return rc;
	}
	rc = path_fd = safe_open_resolve(how);
	if (path_fd >= 0)
		rc = safe_open_check(path_fd, how);
	if (!rc)
		rc = safe_open_reopen(path_fd);
	if (as_owner)
		creds_restore(&creds);
	return rc;
}
