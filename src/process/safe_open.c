// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opens, as root, paths that an untrusted user named.
 *
 * The path is resolved inside the target's root (a symlink cannot lead out) to an
 * O_PATH descriptor, which opens nothing: a FIFO does not block or wake its
 * writer, a device does not act. Only a verified regular file is opened for
 * reading, through that descriptor, so that it cannot be replaced in between.
 */
#include "process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/creds.h"
#include "base/io.h"

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
 * Refuses pseudo files, where root would read more than the target may, and FUSE files,
 * whose server is the untrusted user.
 */
static bool is_refused_fs(int fd)
{
	struct statfs fs;

	return io_is_made_up(fd) || fstatfs(fd, &fs) ||
	       (unsigned long)fs.f_type == FUSE_SUPER_MAGIC;
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
		rc = io_reopen(path_fd);
	if (as_owner)
		creds_restore(&creds);
	return rc;
}
