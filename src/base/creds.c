// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/creds.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/cleanup.h"
#include "base/io.h"

/* Capabilities that a file-system uid other than 0 loses: capabilities(7). */
#define FILE_CAPS                                                               \
	(1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | \
	 1u << CAP_FOWNER | 1u << CAP_FSETID | 1u << CAP_LINUX_IMMUTABLE |      \
	 1u << CAP_MKNOD)

/* Uses the system call, because glibc's setgroups() changes all threads. */
static int drop_groups(struct creds *creds)
{
	creds->nr_groups = getgroups(ARRAY_SIZE(creds->groups), creds->groups);
	if (creds->nr_groups <= 0)
		return creds->nr_groups;
	if (!syscall(SYS_setgroups, 0, NULL))
		return 0;
	creds->nr_groups = -1;
	return -1;
}

/*
 * The kernel drops these when the id changes from 0. A collector that is not root but
 * has these capabilities must drop them itself.
 */
static int drop_caps(struct creds *creds)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &header, caps))
		return -1;
	creds->saved_caps = caps[0].effective & FILE_CAPS;
	if (!creds->saved_caps)
		return 0;
	caps[0].effective &= ~FILE_CAPS;
	return syscall(SYS_capset, &header, caps) ? -1 : 0;
}

static void restore_caps(const struct creds *creds)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];

	if (!creds->saved_caps || syscall(SYS_capget, &header, caps))
		return;
	caps[0].effective |= creds->saved_caps;
	syscall(SYS_capset, &header, caps);
}

int creds_become(struct creds *creds, uid_t uid, gid_t gid)
{
	bool ours = uid == geteuid() && gid == getegid();

	*creds = (struct creds){.saved_uid = (uid_t)setfsuid((uid_t)-1),
				.saved_gid = (gid_t)setfsgid((gid_t)-1)};
	/* If we may not drop our groups, we may only open files as ourselves. */
	if (drop_groups(creds) && !ours)
		goto refused;
	setfsgid(gid);
	if (uid && drop_caps(creds))
		goto refused;
	setfsuid(uid);
	if ((uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid)
		return 0;
refused:
	creds_restore(creds);
	return -EPERM;
}

void creds_restore(const struct creds *creds)
{
	setfsuid(creds->saved_uid);
	setfsgid(creds->saved_gid);
	restore_caps(creds);
	if (creds->nr_groups > 0)
		syscall(SYS_setgroups, creds->nr_groups, creds->groups);
}

/* ---- ids of nobody ---- */

/*
 * Users, services, containers and subordinate ids have uids below 1,879,048,192
 * (login.defs(5) and systemd's docs/UIDS-GIDS.md), FreeIPA's and SSSD's users below
 * 2,000,200,000, files of other machines from 2,147,352,576 on.
 */
#define FIRST_OWN_ID 2013265920u
#define NR_OWN_IDS   (1u << 26)
#define NOBODY       65534 /* what user namespaces of containers usually have */

uid_t creds_own_id(void)
{
	unsigned int chance = 0;

	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) != sizeof(chance))
		chance = (unsigned int)getpid();
	return FIRST_OWN_ID + chance % NR_OWN_IDS;
}

static int become_nobody(struct creds *creds)
{
	uid_t own = creds_own_id();

	return creds_become(creds, own, own) ? creds_become(creds, NOBODY, NOBODY) : 0;
}

int creds_open_as_nobody(void *unused, const char *path, struct stat *ret_st)
{
	struct creds creds;
	int fd, rc = become_nobody(&creds);

	(void)unused;
	if (rc)
		return rc;
	fd = io_open_regular(path, ret_st);
	creds_restore(&creds);
	/* Many programs name folders of who built them elsewhere, such as /root. */
	return fd == -EACCES && access(path, F_OK) ? -errno : fd;
}

/* ---- for good ---- */

static int change_ids(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	return 0;
}

int creds_give_up(uid_t uid, gid_t gid)
{
	int rc = change_ids(uid, gid);

	if (rc == -EINVAL)
		rc = change_ids(NOBODY, NOBODY);
	if (rc && rc != -EPERM && rc != -EINVAL)
		return rc;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return capabilities_keep(0, false);
}
