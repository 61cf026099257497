// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"

int io_read_all(int fd, size_t max, char **ret, size_t *ret_len)
{
	_cleanup_free_ char *buf = NULL;
	size_t cap = 0, len = 0;

	for (;;) {
		ssize_t n;

		if (len > max)
			return -EFBIG;
		if (vec_grow(&buf, &cap, len + 4096 + 1, 1, 0))
			return -ENOMEM;
		n = read(fd, buf + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	buf[len] = '\0';
	*ret = take_ptr(buf);
	*ret_len = len;
	return 0;
}

int io_read_file(const char *path, size_t max, char **ret, size_t *ret_len)
{
	_cleanup_close_ int fd = -1;

	if (!path)
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	return io_read_all(fd, max, ret, ret_len);
}

int io_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_pread_exact(int fd, void *buf, size_t len, off_t offset)
{
	char *p = buf;

	while (len) {
		ssize_t n = pread(fd, p, len, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		p += n;
		offset += n;
		len -= (size_t)n;
	}
	return 0;
}

static int keep_as_old(int dir, const char *name)
{
	_cleanup_free_ char *old = NULL;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	if (asprintf(&old, "%s.old", name) < 0)
		return -ENOMEM;
	return renameat(dir, name, dir, old) ? -errno : 0;
}

int io_write_file_atomic(const char *path, const void *data, size_t len, bool keep_old,
			 uid_t uid, gid_t gid, struct error *err)
{
	_cleanup_free_ char *dir_copy = strdup(path), *name_copy = strdup(path);
	_cleanup_close_ int dir = -1, fd = -1;
	char temp[64];
	uint64_t salt = 0;
	const char *name;
	int rc;

	if (!dir_copy || !name_copy)
		return error_set(err, -ENOMEM, "out of memory");
	name = basename(name_copy);
	dir = open(dirname(dir_copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_set(err, -errno,
				 "cannot write %s: %m in its directory; "
				 "choose another place with -o",
				 path);
	if (getrandom(&salt, sizeof(salt), 0) < 0)
		salt = (uint64_t)getpid();
	snprintf(temp, sizeof(temp), ".lineburn-%016llx.tmp", (unsigned long long)salt);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return error_set(err, -errno,
				 "cannot write %s: %m; choose another place "
				 "with -o",
				 path);

	rc = io_write_all(fd, data, len);
	if (!rc && uid != (uid_t)-1 && fchown(fd, uid, gid))
		rc = -errno;
	if (!rc && fsync(fd) && errno != EINVAL && errno != EROFS)
		rc = -errno;
	if (!rc && keep_old)
		rc = keep_as_old(dir, name);
	if (!rc && renameat(dir, temp, dir, name))
		rc = -errno;
	if (rc) {
		unlinkat(dir, temp, 0);
		errno = -rc;
		return error_set(err, rc,
				 "cannot write %s: %m; nothing was left behind, "
				 "choose another place with -o",
				 path);
	}
	return 0;
}
