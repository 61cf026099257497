// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/as_root.h"
#include "base/cleanup.h"
#include "base/capability.h"
#include "base/creds.h"
#include "base/io.h"
#include "base/user.h"
#include "launch/launch.h"
#include "profile/pprof.h"
#include "worker/syscall_filter.h"

static int explain_open(const char *path, struct error *err)
{
	char advice[AS_ROOT_MAX_BYTES];
	int code = -errno;

	if (errno == EACCES)
		return error_set(err, code,
				 "cannot read %s: it belongs to another user; let root "
				 "hand it over with chown%s",
				 path, as_root_advice(advice, sizeof(advice)));
	if (errno == ENOENT)
		return error_set(err, code,
				 "there is no %s; record one with \"lineburn record\" or "
				 "\"lineburn "
				 "run\"",
				 path);
	if (errno == EINVAL)
		return error_set(err, code,
				 "cannot read %s: it is neither a file on a disk nor a "
				 "pipe",
				 path);
	return error_set(err, code, "cannot read %s: %m", path);
}

static void find_writer(struct profile_input *r)
{
	struct launch_user user;
	struct stat st;
	bool has_acl;

	r->is_strangers = true;
	r->rights = geteuid() ? RIGHTS_OWN : RIGHTS_NONE;
	/* Files that the kernel makes up are root's, also if a process chooses their bytes. */
	if (fstat(r->fd, &st) || !S_ISREG(st.st_mode) || io_is_made_up(r->fd))
		return;
	has_acl = fgetxattr(r->fd, "system.posix_acl_access", NULL, 0) > 0;
	if (user_others_may_write(st.st_uid, st.st_gid, st.st_mode, has_acl))
		return;
	if (st.st_uid == geteuid() || !st.st_uid) {
		r->is_strangers = false;
		r->rights = RIGHTS_OWN;
		return;
	}
	launch_user_find(&user);
	if (!user.is_other || user.uid != st.st_uid)
		return;
	r->is_strangers = false;
	r->rights = RIGHTS_USER;
}

void reading_begin(void)
{
	if (geteuid())
		(void)capabilities_keep(0, false);
}

/* To open a device, or a file that the kernel makes up, may have effects. */
static int open_input(int folder_fd, const char *path, bool may_wait)
{
	int flags = O_CLOEXEC | (may_wait ? 0 : O_NOFOLLOW), ret;
	_cleanup_close_ int fd = openat(folder_fd, path, O_PATH | flags);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (S_ISFIFO(st.st_mode) && may_wait)
		return io_reopen(fd, 0);
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode) || io_is_made_up(fd))
		return -EINVAL;
	ret = io_reopen(fd, O_NONBLOCK);
	if (ret != -ENOENT)
		return ret;
	/* There is no /proc here. */
	ret = openat(folder_fd, path, flags | O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (ret < 0 || io_is_same_file(fd, ret))
		return ret < 0 ? -errno : ret;
	close(ret);
	return -ENOENT;
}

/* @fd  of the open file, or why it is not open: a negative errno */
static int take_input(int fd, const char *name, struct profile_input *ret,
		      struct error *err)
{
	*ret = (struct profile_input){.name = name, .fd = fd < 0 ? -1 : fd};
	if (fd < 0) {
		errno = -fd;
		return explain_open(name, err);
	}
	find_writer(ret);
	return 0;
}

int profile_input_open(const char *path, struct profile_input *ret, struct error *err)
{
	reading_begin();
	if (!strcmp(path, "-"))
		return take_input(STDIN_FILENO, "stdin", ret, err);
	return take_input(open_input(AT_FDCWD, path, true), path, ret, err);
}

int profile_input_open_in(int folder_fd, const char *path, struct profile_input *ret,
			  struct error *err)
{
	const char *slash = strrchr(path, '/');

	reading_begin();
	return take_input(open_input(folder_fd, slash ? slash + 1 : path, false), path,
			  ret, err);
}

int profile_input_load(const struct profile_input *r, struct strpool *pool,
		       struct profile **ret, struct error *err)
{
	_cleanup_free_ char *data = NULL;
	size_t len;
	int rc = io_read_all(r->fd, PPROF_MAX_BYTES, &data, &len);

	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot read %s: %m", r->name);
	}
	return pprof_read(data, len, r->name, pool, ret, err);
}

void profile_input_deinit(struct profile_input *r)
{
	if (r->fd > STDERR_FILENO)
		close(r->fd);
	r->fd = -1;
}

/*
 * Root's terminal stays open. A program may type into its terminal (TIOCSTI, before
 * Linux 6.2), or paste (TIOCLINUX); root's shell would execute it.
 */
static int deny_typing(void)
{
	static const uint32_t typing[] = {TIOCSTI, TIOCLINUX};
	static const struct sock_filter allow = ALLOW, refuse = REFUSE;
	struct syscall_filter f;

	syscall_filter_begin(&f);
	syscall_filter_values(&f, SYS_ioctl, 1, typing, ARRAY_SIZE(typing), refuse,
			      allow);
	return syscall_filter_install(&f, allow, false);
}

int rights_give_up(enum viewer_rights rights, struct error *err)
{
	struct launch_user user;
	uid_t own;
	int rc;

	if (rights == RIGHTS_OWN)
		return 0;
	if (rights == RIGHTS_USER) {
		launch_user_find(&user);
		rc = creds_give_up(user.uid, user.gid);
	} else {
		own = creds_own_id();
		rc = creds_give_up(own, own);
	}
	if (!rc)
		rc = deny_typing();
	if (!rc)
		return 0;
	errno = -rc;
	return error_set(err, rc, "cannot give up root's rights: %m");
}
