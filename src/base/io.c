// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"

#define PENDING_BUFFER (64u << 10)

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

bool io_is_same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

bool io_is_made_up(int fd)
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
		return true;
	default:
		return false;
	}
}

/* A link in our own /proc/self/fd leads to exactly the file that was checked. */
static int reopen(int path_fd, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, flags | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int io_reopen(int path_fd, int flags)
{
	return reopen(path_fd, O_RDONLY | flags);
}

static int reopen_regular(int path_fd, struct stat *ret_st)
{
	if (fstat(path_fd, ret_st))
		return -errno;
	if (!S_ISREG(ret_st->st_mode))
		return -EINVAL;
	return io_is_made_up(path_fd) ? -EXDEV : io_reopen(path_fd, O_NONBLOCK);
}

int io_open_regular(const char *path, struct stat *ret_st)
{
	_cleanup_close_ int path_fd = open(path, O_PATH | O_CLOEXEC);

	return path_fd < 0 ? -errno : reopen_regular(path_fd, ret_st);
}

/* Where the file is by now. Return: the length, 0 if it is not known. */
static size_t read_place(int path_fd, char ret[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	n = readlink(link, ret, PATH_MAX);
	return n > 0 && n < PATH_MAX ? (size_t)n : 0;
}

/* openat2(RESOLVE_BENEATH) is refused to a collector (lockdown.c), and new in Linux 5.6. */
int io_open_regular_below(const char *folder, const char *path, struct stat *ret_st)
{
	_cleanup_close_ int folder_fd =
		open(*folder ? folder : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int path_fd = open(path, O_PATH | O_CLOEXEC);
	char above[PATH_MAX], place[PATH_MAX];
	size_t len, above_len;

	if (folder_fd < 0 || path_fd < 0)
		return -errno;
	above_len = read_place(folder_fd, above);
	len = read_place(path_fd, place);
	if (!above_len)
		return -ENOLINK;
	if (above_len == 1) /* "/" */
		above_len = 0;
	if (len <= above_len || memcmp(place, above, above_len) != 0 ||
	    place[above_len] != '/')
		return -ENOLINK;
	return reopen_regular(path_fd, ret_st);
}

void io_keep_names(void)
{
	static const char *const names[] = {
		"/proc/self/fd",
		"/proc/self/fdinfo",
		"/proc/self/exe",
		"/proc/self/maps",
		"/proc/self/statm",
		"/proc/self/cmdline",
		"/proc/stat",
		"/sys/devices/system/cpu/online",
		"/sys/bus/event_source/devices/uprobe/type",
		"/etc/passwd",
		"/etc/subuid",
	};
	static pid_t kept_by; /* a child has a directory of its own */

	if (kept_by == getpid())
		return;
	kept_by = getpid();
	/* They are never closed. */
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)open(names[i], O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

int io_open_nothing(void)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	close(fds[1]);
	return fds[0];
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

DIR *io_open_dir(int dir, const char *name)
{
	_cleanup_close_ int fd =
		openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *ret = fd < 0 ? NULL : fdopendir(fd);

	if (ret)
		take_fd(&fd);
	return ret;
}

int io_map_file(int fd, uint64_t max, void **ret, uint64_t *ret_len)
{
	struct stat st;
	void *bytes = NULL;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	if (st.st_size) {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED)
			return -errno;
	}
	*ret = bytes;
	*ret_len = (uint64_t)st.st_size;
	return 0;
}

static int cannot_write(struct error *err, int rc, const char *path)
{
	errno = -rc;
	return error_set(err, rc, "cannot write %s: %m; choose another place with -o",
			 path);
}

void io_close_others(int a, int b)
{
	const int kept[] = {a < b ? a : b, a < b ? b : a};
	int from = STDERR_FILENO + 1;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (kept[i] > from)
			close_range((unsigned int)from, (unsigned int)kept[i] - 1, 0);
		if (kept[i] >= from)
			from = kept[i] + 1;
	}
	closefrom(from);
}

/* ---- the folder of an output ---- */

int io_folder_open(const char *path, struct io_folder *ret)
{
	_cleanup_free_ char *copy = strdup(path);
	char self[64], real[PATH_MAX];
	ssize_t len;

	*ret = (struct io_folder){.fd = -1, .failed = -ENOMEM};
	if (!copy)
		return ret->failed;
	ret->fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret->failed = ret->fd < 0 ? -errno : 0;
	if (ret->failed)
		return ret->failed;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", ret->fd);
	len = readlink(self, real, sizeof(real));
	if (len > 0 && (size_t)len < sizeof(real))
		ret->real = strndup(real, (size_t)len);
	return 0;
}

int io_folder_use(struct io_folder *f)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS};
	struct stat st;
	int fd;

	if (f->fd >= 0 && !fstat(f->fd, &st) && st.st_nlink)
		return 0;
	if (f->failed)
		return f->failed;
	if (!f->real)
		return -ENOENT;
	fd = (int)syscall(SYS_openat2, AT_FDCWD, f->real, &how, sizeof(how));
	if (fd < 0)
		return errno == ELOOP ? -ENOENT : -errno;
	cleanup_closep(&f->fd);
	f->fd = fd;
	return 0;
}

void io_folder_close(struct io_folder *f)
{
	cleanup_closep(&f->fd);
	free(f->real);
	*f = (struct io_folder){.fd = -1};
}

/* ---- an output ---- */

/* Where to write a file. */
struct place {
	int dir; /* borrowed */
	char *copy; /* of the path; heap */
	const char *name; /* in the directory; points into the copy */
	/* such as /dev/null: written to; files and links are replaced */
	bool is_device;
};

static void place_deinit(struct place *p)
{
	free(p->copy);
}

/*
 * A rename would replace anything at the path; as root even /dev/null, or the link
 * /dev/stdout. Return: what kind of file it is, if it must not be replaced; else NULL.
 */
static const char *reason_to_keep(struct place *p)
{
	static const char descriptors[] = "/proc/";
	char to[sizeof(descriptors)] = "";
	struct stat st;

	if (fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) || S_ISREG(st.st_mode))
		return NULL;
	if (S_ISDIR(st.st_mode))
		return "a directory";
	if (S_ISLNK(st.st_mode))
		return readlinkat(p->dir, p->name, to, sizeof(to) - 1) > 0 &&
				       !strcmp(to, descriptors)
			       ? "a link to an open file"
			       : NULL;
	/* Any user may make a device 0:0 (a whiteout of overlayfs); it cannot be written. */
	p->is_device = S_ISCHR(st.st_mode) && st.st_rdev;
	return p->is_device ? NULL : "a pipe, socket or disk";
}

static int find_place(int dir, const char *path, struct place *ret, struct error *err)
{
	const char *what;

	*ret = (struct place){.dir = dir, .copy = strdup(path)};
	if (!ret->copy)
		return cannot_write(err, -ENOMEM, path);
	ret->name = basename(ret->copy);
	what = reason_to_keep(ret);
	if (!what)
		return 0;
	return error_set(err, -EEXIST,
			 "cannot write %s: it is %s; choose another place with -o", path,
			 what);
}

int io_check_output(const char *path, struct error *err)
{
	_cleanup_(io_folder_close) struct io_folder folder;
	_cleanup_(place_deinit) struct place p = {0};
	int rc = io_folder_open(path, &folder);

	if (rc)
		return cannot_write(err, rc, path);
	rc = find_place(folder.fd, path, &p, err);
	if (rc)
		return rc;
	if (p.is_device ? faccessat(p.dir, p.name, W_OK, AT_EACCESS)
			: faccessat(p.dir, ".", W_OK | X_OK, AT_EACCESS))
		return cannot_write(err, -errno, path);
	return 0;
}

/* By now the folder's owner may have put another file there, whose text must remain. */
static int write_device(int dir, const char *name, const void *data, size_t len)
{
	_cleanup_close_ int path_fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (path_fd < 0 || fstat(path_fd, &st))
		return -errno;
	if (!S_ISCHR(st.st_mode))
		return -EAGAIN;
	fd = reopen(path_fd, O_WRONLY);
	return fd < 0 ? fd : io_write_all(fd, data, len);
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

/* Makes an unpredictable name. */
static void temporary_name(char *temp, size_t size)
{
	uint64_t salt = 0;

	if (getrandom(&salt, sizeof(salt), 0) < 0)
		salt = (uint64_t)getpid();
	snprintf(temp, size, ".lineburn-%016llx.tmp", (unsigned long long)salt);
}

/*
 * Creates a file in @dir with an unpredictable name. Return: its descriptor or -errno.
 */
static int open_temporary(int dir, char *temp, size_t size)
{
	int fd;

	temporary_name(temp, size);
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	return fd < 0 ? -errno : fd;
}

static int fill(int fd, const void *data, size_t len)
{
	int rc = io_write_all(fd, data, len);

	if (!rc && fsync(fd) && errno != EINVAL && errno != EROFS)
		rc = -errno;
	return rc;
}

/*
 * Renames without replacing an existing file. Falls back to link(2), then to a check
 * followed by a rename, which can race with another process.
 */
static int rename_new(int dir, const char *temp, const char *name)
{
	if (!renameat2(dir, temp, dir, name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (!linkat(dir, temp, dir, name, 0)) {
		unlinkat(dir, temp, 0);
		return 0;
	}
	if (errno == EEXIST)
		return -EEXIST;
	if (!faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return renameat(dir, temp, dir, name) ? -errno : 0;
}

enum existing {
	REPLACE,
	KEEP, /* as "NAME.old" */
	REFUSE,
};

/* Names the file @temp in @dir @name. Return: 0 or -errno; @temp is gone. */
static int rename_as(int dir, const char *temp, const char *name, enum existing existing)
{
	int rc = existing == KEEP ? keep_as_old(dir, name) : 0;

	if (!rc && existing == REFUSE)
		rc = rename_new(dir, temp, name);
	else if (!rc)
		rc = renameat(dir, temp, dir, name) ? -errno : 0;
	if (rc)
		unlinkat(dir, temp, 0);
	return rc;
}

static int link_as(int fd, int dir, const char *name)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* Names a file that has no name. Return: 0 or -errno. */
static int name_it(int fd, int dir, const char *name, enum existing existing)
{
	char temp[64];
	int rc = link_as(fd, dir, name);

	if (rc != -EEXIST || existing == REFUSE)
		return rc;
	temporary_name(temp, sizeof(temp));
	rc = link_as(fd, dir, temp);
	return rc ? rc : rename_as(dir, temp, name, existing);
}

/*
 * While the file is being written it has no name, if the file system has such files
 * (O_TMPFILE): nothing of it is left if this program is killed.
 */
static int write_new(int dir, const char *name, const void *data, size_t len,
		     enum existing existing, int *ret_fd)
{
	_cleanup_close_ int fd = openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	bool has_name = fd < 0;
	char temp[64];
	int rc;

	if (has_name)
		fd = open_temporary(dir, temp, sizeof(temp));
	if (fd < 0)
		return fd;
	rc = fill(fd, data, len);
	/* Ignore a failed lock: a file system without locks has no other lock users. */
	if (!rc && ret_fd)
		(void)fcntl(fd, F_OFD_SETLK, &lock);
	if (!rc && !has_name)
		rc = name_it(fd, dir, name, existing);
	else if (!rc)
		rc = rename_as(dir, temp, name, existing);
	else if (has_name)
		unlinkat(dir, temp, 0);
	if (!rc && ret_fd)
		*ret_fd = take_fd(&fd);
	return rc;
}

static int write_place(int dir, const char *path, const void *data, size_t len,
		       bool keep_old, struct error *err)
{
	_cleanup_(place_deinit) struct place p;
	int rc = find_place(dir, path, &p, err);

	if (rc)
		return rc;
	if (p.is_device)
		rc = write_device(p.dir, p.name, data, len);
	else
		rc = write_new(p.dir, p.name, data, len, keep_old ? KEEP : REPLACE, NULL);
	return rc ? cannot_write(err, rc, path) : 0;
}

int io_write_file_atomic(const char *path, const void *data, size_t len, bool keep_old,
			 struct error *err)
{
	_cleanup_(io_folder_close) struct io_folder folder;
	int rc = io_folder_open(path, &folder);

	return rc ? cannot_write(err, rc, path)
		  : write_place(folder.fd, path, data, len, keep_old, err);
}

/* The user looks for the file at its path. */
static void say_moved(const struct io_folder *f, const char *path)
{
	_cleanup_(io_folder_close) struct io_folder now;
	char self[64], real[PATH_MAX] = "";

	if (!io_folder_open(path, &now) && io_is_same_file(now.fd, f->fd))
		return;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	if (readlink(self, real, sizeof(real) - 1) < 0)
		return;
	log_warning(
		"the folder of %s is another one than at the start: the file is in %s",
		path, real);
}

int io_write_file_in(struct io_folder *f, const char *path, const void *data, size_t len,
		     bool keep_old, struct error *err)
{
	int rc = io_folder_use(f);

	if (rc == -ENOENT && !f->failed)
		return error_set(
			err, rc,
			"cannot write %s: its folder was removed meanwhile; choose "
			"another place with -o",
			path);
	if (rc)
		return cannot_write(err, rc, path);
	rc = write_place(f->fd, path, data, len, keep_old, err);
	if (!rc)
		say_moved(f, path);
	return rc;
}

int io_write_file_at(int dir, const char *name, const void *data, size_t len,
		     bool may_replace, int *ret_fd)
{
	return write_new(dir, name, data, len, may_replace ? REPLACE : REFUSE, ret_fd);
}

static ssize_t pending_write(void *cookie, const char *data, size_t len)
{
	struct io_pending *p = cookie;

	/* With a final '\0', as open_memstream() has it. */
	if (p->len + len + 1 > p->cap) {
		size_t cap = (p->len + len + 1) * 2;
		char *grown = realloc(p->data, cap);

		if (!grown)
			return 0; /* an error, as of fopencookie(3) */
		p->data = grown;
		p->cap = cap;
	}
	memcpy(p->data + p->len, data, len);
	p->len += len;
	p->data[p->len] = '\0';
	return (ssize_t)len;
}

/* open_memstream() copies and clears much whenever a large output grows. */
int io_pending_open(struct io_pending *ret, struct error *err)
{
	*ret = (struct io_pending){.data = calloc(1, 1), .cap = 1};
	if (ret->data)
		ret->out = fopencookie(ret, "w",
				       (cookie_io_functions_t){.write = pending_write});
	if (ret->out)
		setvbuf(ret->out, NULL, _IOFBF, PENDING_BUFFER);
	return ret->out ? 0 : error_set(err, -ENOMEM, "out of memory");
}

int io_pending_end(struct io_pending *p, struct error *err)
{
	bool failed = ferror(p->out);

	failed |= fclose(p->out) != 0;
	p->out = NULL;
	return failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

void io_pending_deinit(struct io_pending *p)
{
	if (p->out)
		fclose(p->out);
	free(p->data);
}
