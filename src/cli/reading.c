// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/creds.h"
#include "base/io.h"
#include "launch/launch.h"
#include "profile/pprof.h"

static int explain_open(const char *path, struct error *err)
{
	int code = -errno;

	if (errno == EACCES)
		return error_set(
			err, code,
			"cannot read %s: it belongs to another user; read it as root, or "
			"let root hand it over with chown",
			path);
	if (errno == ENOENT)
		return error_set(err, code,
				 "there is no %s; record one with \"lineburn record\" or "
				 "\"lineburn "
				 "run\"",
				 path);
	return error_set(err, code, "cannot read %s: %m", path);
}

/* May others than its owner have written the file? A user's own group is the user. */
static bool has_other_writers(const struct stat *st)
{
	return st->st_mode & S_IWOTH ||
	       (!st->st_uid && st->st_gid && st->st_mode & S_IWGRP);
}

static void find_writer(struct profile_input *r)
{
	struct launch_user user;
	struct stat st;

	r->is_strangers = true;
	r->rights = geteuid() ? RIGHTS_OWN : RIGHTS_NONE;
	if (fstat(r->fd, &st) || !S_ISREG(st.st_mode) || has_other_writers(&st))
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

int profile_input_open(const char *path, struct profile_input *ret, struct error *err)
{
	bool is_stdin = !strcmp(path, "-");

	if (geteuid())
		(void)creds_drop_capabilities();
	*ret = (struct profile_input){.name = is_stdin ? "stdin" : path,
				      .fd = STDIN_FILENO};
	if (!is_stdin)
		ret->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (ret->fd < 0)
		return explain_open(path, err);
	find_writer(ret);
	return 0;
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

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#else
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif
#define X32_CALL 0x40000000

#define LOAD(member) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define JUMP(test, value, yes, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, value, yes, no)
#define RETURN(what)               BPF_STMT(BPF_RET | BPF_K, what)

/*
 * Root's terminal stays open. A program may type into its terminal (TIOCSTI, before
 * Linux 6.2), or paste (TIOCLINUX); root's shell would execute it. Other ABIs are denied,
 * since they have other numbers.
 */
static int deny_typing(void)
{
	static struct sock_filter code[] = {
		LOAD(arch),
		JUMP(BPF_JEQ, OUR_ARCH, 0, 7),
		LOAD(nr),
		JUMP(BPF_JSET, X32_CALL, 5, 0),
		JUMP(BPF_JEQ, SYS_ioctl, 0, 3),
		LOAD(args[1]),
		JUMP(BPF_JEQ, TIOCSTI, 2, 0),
		JUMP(BPF_JEQ, TIOCLINUX, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program)
		       ? -errno
		       : 0;
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
