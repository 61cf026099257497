// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A path in a target's root is resolved inside that root to an O_PATH descriptor, which
 * opens nothing: a FIFO does not block or wake its writer, a device does not act. Only a
 * verified regular file is opened for reading, through that descriptor, so that it cannot
 * be replaced in between.
 */
#include "opener/look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/creds.h"
#include "base/io.h"
#include "base/target_fd.h"
#include "base/vec.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* A concurrent rename or mount makes openat2() fail with EAGAIN: retry. */
#define MAX_RETRIES  32
#define FIRST_BYTES  4096
#define MAX_TEXT     ((uint64_t)64 << 20)
#define FACTS_WANTED (STATX_BASIC_STATS | STATX_MNT_ID)
#define NS_PER_S     1000000000

void look_deinit(struct look *look)
{
	target_fd_close(look->fd);
	free(look->text);
	look->fd = -1;
	look->text = NULL;
}

static int resolve(int root_fd, const char *path, unsigned int rules)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	if (rules & LOOK_NOFOLLOW)
		how.flags |= O_NOFOLLOW;
	for (int i = 0; i < MAX_RETRIES; i++) {
		long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

/* @name  "": @fd itself */
static int read_facts(int fd, const char *name, struct look_facts *ret)
{
	int flags = AT_STATX_DONT_SYNC | (*name ? 0 : AT_EMPTY_PATH);
	struct statx stx = {0};

	if (statx(fd, name, flags, FACTS_WANTED, &stx))
		return -errno;
	*ret = (struct look_facts){
		.dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.inode = stx.stx_ino,
		.size_bytes = stx.stx_size,
		.mount_id = stx.stx_mnt_id,
		.mtime_ns = stx.stx_mtime.tv_sec * NS_PER_S + stx.stx_mtime.tv_nsec,
		.ctime_ns = stx.stx_ctime.tv_sec * NS_PER_S + stx.stx_ctime.tv_nsec,
		.mode = stx.stx_mode,
		.uid = stx.stx_uid,
		.gid = stx.stx_gid,
		.nr_links = stx.stx_nlink,
		.is_mount_root = stx.stx_attributes & STATX_ATTR_MOUNT_ROOT,
	};
	return 0;
}

static int read_fs(int fd, uint64_t *ret)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return -errno;
	*ret = (unsigned long)fs.f_type;
	return 0;
}

/*
 * Refuses pseudo files, which root may read and the target may not, and FUSE files,
 * whose server may be the untrusted user.
 */
static bool is_refused_fs(int fd)
{
	uint64_t magic = 0;

	return io_is_made_up(fd) || read_fs(fd, &magic) || magic == FUSE_SUPER_MAGIC;
}

static int check(int fd, const struct look *look)
{
	const struct look_facts *f = &look->facts;

	if (S_ISLNK(f->mode))
		return -ELOOP;
	if (!S_ISREG(f->mode))
		return -EINVAL;
	if (is_refused_fs(fd))
		return -EXDEV;
	if (look->rules & LOOK_OWNED) {
		if (f->uid != look->uid && f->uid != look->root_uid)
			return -EPERM;
		/*
		 * A file with a second name may be a hard link to another user's
		 * secret.
		 */
		if (f->mode & S_IWOTH || f->nr_links > 1)
			return -EPERM;
	}
	if (look->max_bytes && f->size_bytes > look->max_bytes)
		return -EFBIG;
	return 0;
}

static uint64_t max_text(const struct look *look)
{
	return look->max_bytes && look->max_bytes < MAX_TEXT ? look->max_bytes : MAX_TEXT;
}

/* Reads until the end or max_bytes; files of /proc tell no size. */
static int read_text(int fd, struct look *look)
{
	uint64_t max = max_text(look);
	size_t cap = 0, len = 0;
	bool is_short = false;
	char *text = NULL;
	ssize_t n = 1;

	while (n > 0 && len < max && !is_short) {
		size_t want = len ? len : FIRST_BYTES;

		if (want > max - len)
			want = (size_t)(max - len);
		if (vec_grow(&text, &cap, len + want + 1, 1, 0)) {
			free(text);
			return -ENOMEM;
		}
		do
			n = read(fd, text + len, want);
		while (n < 0 && errno == EINTR);
		if (n > 0)
			len += (size_t)n;
		is_short = look->rules & LOOK_ONE_PIECE && n < (ssize_t)want;
	}
	if (n < 0 && !len) {
		int rc = -errno;

		free(text);
		return rc;
	}
	text[len] = '\0';
	look->text = text;
	look->len = len;
	return 0;
}

static int read_link(int dir, const char *name, struct look *look)
{
	char to[PATH_MAX];
	ssize_t n = readlinkat(dir, name, to, sizeof(to) - 1);

	if (n < 0)
		return -errno;
	to[n] = '\0';
	look->text = strdup(to);
	look->len = (size_t)n;
	return look->text ? 0 : -ENOMEM;
}

static int read_proc_text(int dir, struct look *look)
{
	_cleanup_close_ int fd = openat(dir, look->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : read_text(fd, look);
}

static bool is_wanted(const struct look *look, const struct dirent64 *entry)
{
	if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
		return false;
	return !(look->rules & LOOK_FOLDERS) || entry->d_type == DT_DIR;
}

/* Adds those that fit, a line each. Return: whether all did. */
static bool add_names(const struct look *look, char *text, size_t *len, size_t max,
		      const char *entries, size_t nr_bytes)
{
	for (size_t at = 0; at < nr_bytes;) {
		const struct dirent64 *entry = (const void *)(entries + at);
		size_t n = strlen(entry->d_name);

		at += entry->d_reclen;
		if (!is_wanted(look, entry))
			continue;
		if (n >= max - *len)
			return false;
		memcpy(text + *len, entry->d_name, n);
		text[*len + n] = '\n';
		*len += n + 1;
	}
	return true;
}

/* Not with readdir(3), which needs more system calls than an opener has. */
static int read_names(int base_fd, struct look *look)
{
	_cleanup_close_ int fd = openat(base_fd, look->name,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_Alignas(struct dirent64) char entries[4096];
	_cleanup_free_ char *text = NULL;
	size_t max = (size_t)max_text(look), len = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	text = malloc(max + 1);
	if (!text)
		return -ENOMEM;
	do
		n = getdents64(fd, entries, sizeof(entries));
	while (n > 0 && add_names(look, text, &len, max, entries, (size_t)n));
	if (n < 0 && !len)
		return -errno;
	text[len] = '\0';
	look->text = take_ptr(text);
	look->len = len;
	return 0;
}

/*
 * Of "./a/b": of ".", "./a" and "./a/b"; ends with the first one that is a user's, who may have
 * made any number in it. One after the other is opened: a whole path each time would take
 * quadratic time.
 */
static int read_owners(int base_fd, struct look *look)
{
	struct look_owner *owners = calloc(strlen(look->name) + 2, sizeof(*owners));
	_cleanup_close_ int at = -1;
	char copy[PATH_MAX], *names = copy, *name;

	look->text = (char *)owners;
	if (snprintf(copy, sizeof(copy), "%s", look->name) >= (int)sizeof(copy))
		return -ENAMETOOLONG;
	for (size_t i = 0; owners && (name = strsep(&names, "/")); i++) {
		struct look_facts facts = {0};
		int fd = openat(i ? at : base_fd, *name ? name : ".",
				O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		cleanup_closep(&at);
		at = fd;
		look->len = (i + 1) * sizeof(*owners);
		if (fd < 0 || read_facts(fd, "", &facts))
			return 0;
		owners[i] = (struct look_owner){facts.uid, facts.gid, facts.mode};
		if (facts.uid)
			return 0;
	}
	return owners ? 0 : -ENOMEM;
}

/* A kernfs handle is the 64-bit inode number (kernel: fs/kernfs/mount.c, since 5.5). */
union handle {
	struct file_handle head;
	char bytes[sizeof(struct file_handle) + sizeof(uint64_t)];
};

static int open_by_number(int base_fd, uint64_t number)
{
	union handle h = {.head.handle_bytes = sizeof(number)};
	uint64_t magic = 0;
	int rc = read_fs(base_fd, &magic), mount_id, fd;

	if (rc || magic != CGROUP2_SUPER_MAGIC)
		return rc ? rc : -EXDEV;
	/* For the type, which a handle must have. */
	if (name_to_handle_at(base_fd, "", &h.head, &mount_id, AT_EMPTY_PATH))
		return -errno;
	if (h.head.handle_bytes != sizeof(number))
		return -EOPNOTSUPP;
	memcpy(h.bytes + sizeof(struct file_handle), &number, sizeof(number));
	fd = open_by_handle_at(base_fd, &h.head, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int read_cgroup_path(int base_fd, struct look *look)
{
	_cleanup_close_ int fd = open_by_number(base_fd, strtoull(look->name, NULL, 10));
	char link[32];

	if (fd < 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return read_link(AT_FDCWD, link, look);
}

/* Others may write a file with an ACL whose mask, the group bits, allows it. */
static bool has_acl(int fd, const struct look_facts *f)
{
	return f->mode & S_IWGRP && fgetxattr(fd, "system.posix_acl_access", NULL, 0) > 0;
}

static int open_checked(int path_fd, struct look *look)
{
	_cleanup_close_ int fd = io_reopen(path_fd, O_NONBLOCK);
	char first;

	if (fd < 0)
		return fd;
	/* A server that does not answer reads shall stop an opener, not a decoder. */
	if (pread(fd, &first, 1, 0) < 0)
		return -errno;
	look->facts.has_acl = has_acl(fd, &look->facts);
	if (look->what == LOOK_CONTENT)
		return read_text(fd, look);
	look->fd = take_fd(&fd);
	return 0;
}

static int look_at_file(int base_fd, struct look *look)
{
	_cleanup_close_ int found = -1;
	int fd = base_fd, rc;

	if (look->where == LOOK_BELOW)
		fd = found = openat(base_fd, look->name, O_PATH | O_CLOEXEC);
	else if (look->where == LOOK_IN_ROOT)
		fd = found = resolve(base_fd, look->name, look->rules);
	if (fd < 0)
		return look->where == LOOK_BELOW ? -errno : fd;
	rc = read_facts(fd, "", &look->facts);
	if (!rc && look->rules & (LOOK_CHECKED | LOOK_OWNED))
		rc = check(fd, look);
	if (!rc && look->rules & LOOK_WITH_FS)
		rc = read_fs(fd, &look->facts.fs_magic);
	if (rc)
		return rc;
	if (look->what == LOOK_FACTS) {
		look->facts.has_acl = look->rules & LOOK_CHECKED &&
				      has_acl(fd, &look->facts);
		return 0;
	}
	if (look->what != LOOK_HANDLE)
		return open_checked(fd, look);
	look->fd = found >= 0 ? take_fd(&found) : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return look->fd < 0 ? -errno : 0;
}

static int look_now(int base_fd, struct look *look)
{
	switch (look->what) {
	case LOOK_LINK:
		return read_link(base_fd, look->name, look);
	case LOOK_PROC_TEXT:
		return read_proc_text(base_fd, look);
	case LOOK_NAMES:
		return read_names(base_fd, look);
	case LOOK_OWNERS:
		return read_owners(base_fd, look);
	case LOOK_CGROUP_PATH:
		return read_cgroup_path(base_fd, look);
	case LOOK_FACTS:
		if (look->where == LOOK_BELOW)
			return read_facts(base_fd, look->name, &look->facts);
		/* fallthrough */
	default:
		return look_at_file(base_fd, look);
	}
}

void look_here(int base_fd, struct look *look)
{
	struct creds creds;

	look->fd = -1;
	look->text = NULL;
	look->len = 0;
	look->facts = (struct look_facts){0};
	if (!(look->rules & LOOK_AS_OWNER)) {
		look->rc = look_now(base_fd, look);
		return;
	}
	look->rc = -EPERM;
	if (look->uid == (uid_t)-1 || look->gid == (gid_t)-1 ||
	    creds_become(&creds, look->uid, look->gid))
		return;
	look->rc = look_now(base_fd, look);
	creds_restore(&creds);
}

void look_in_turn(struct look_base *base, struct look *look)
{
	if (base->rc) {
		look->rc = base->rc;
		look->fd = -1;
		look->text = NULL;
		look->len = 0;
		look->facts = (struct look_facts){0};
		return;
	}
	look_here(base->fd, look);
	if (look->rules & LOOK_ENTER)
		*base = (struct look_base){look->fd, look->rc};
}

/* ---- as sent to an opener ---- */

void look_put(struct wire_writer *w, const struct look *look)
{
	wire_put_u8(w, (uint8_t)look->where);
	wire_put_u8(w, (uint8_t)look->what);
	wire_put_u32(w, look->rules);
	wire_put_str(w, look->name ? look->name : "");
	wire_put_u32(w, look->uid);
	wire_put_u32(w, look->gid);
	wire_put_u32(w, look->root_uid);
	wire_put_u64(w, look->max_bytes);
}

bool look_get(struct wire_reader *r, struct look *ret, char *name, size_t size)
{
	uint8_t where = wire_get_u8(r), what = wire_get_u8(r);
	uint32_t rules = wire_get_u32(r);
	size_t len;
	const char *text = wire_get_str(r, &len);

	if (where >= NR_LOOK_WHERE || what >= NR_LOOK_WHAT || len >= size)
		return false;
	memcpy(name, text, len);
	name[len] = '\0';
	*ret = (struct look){
		.where = where, .what = what, .rules = rules, .name = name, .fd = -1};
	ret->uid = wire_get_u32(r);
	ret->gid = wire_get_u32(r);
	ret->root_uid = wire_get_u32(r);
	ret->max_bytes = wire_get_u64(r);
	return !r->failed;
}

void look_put_result(struct wire_writer *w, const struct look *look)
{
	const struct look_facts *f = &look->facts;

	wire_put_u32(w, (uint32_t)-look->rc);
	wire_put_u8(w, look->fd >= 0);
	wire_put_u8(w, look->text != NULL);
	wire_put_bytes(w, look->text, look->len);
	wire_put_u64(w, f->dev);
	wire_put_u64(w, f->inode);
	wire_put_u64(w, f->size_bytes);
	wire_put_u64(w, f->mount_id);
	wire_put_u64(w, (uint64_t)f->mtime_ns);
	wire_put_u64(w, (uint64_t)f->ctime_ns);
	wire_put_u64(w, f->fs_magic);
	wire_put_u32(w, f->mode);
	wire_put_u32(w, f->uid);
	wire_put_u32(w, f->gid);
	wire_put_u32(w, f->nr_links);
	wire_put_u8(w, f->is_mount_root);
	wire_put_u8(w, f->has_acl);
}

bool look_get_result(struct wire_reader *r, struct look *look, bool *ret_has_fd)
{
	struct look_facts *f = &look->facts;
	uint32_t why = wire_get_u32(r);
	bool has_fd = wire_get_u8(r);
	bool has_text = wire_get_u8(r);
	size_t len;
	const void *text = wire_get_bytes(r, &len);

	look->fd = -1;
	look->text = NULL;
	look->len = 0;
	f->dev = wire_get_u64(r);
	f->inode = wire_get_u64(r);
	f->size_bytes = wire_get_u64(r);
	f->mount_id = wire_get_u64(r);
	f->mtime_ns = (int64_t)wire_get_u64(r);
	f->ctime_ns = (int64_t)wire_get_u64(r);
	f->fs_magic = wire_get_u64(r);
	f->mode = wire_get_u32(r);
	f->uid = wire_get_u32(r);
	f->gid = wire_get_u32(r);
	f->nr_links = wire_get_u32(r);
	f->is_mount_root = wire_get_u8(r);
	f->has_acl = wire_get_u8(r);
	if (r->failed || why > 4095)
		return false;
	look->rc = -(int)why;
	if (has_text) {
		look->text = malloc(len + 1);
		if (!look->text)
			return false;
		memcpy(look->text, text, len);
		look->text[len] = '\0';
		look->len = len;
	}
	*ret_has_fd = has_fd;
	return true;
}
