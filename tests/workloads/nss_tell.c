/*
 * A module of nsswitch.conf(5) in place of "hesiod". It knows one user, "afar" (64321). For
 * each lookup of groups it writes the uid of the process, whether that has capabilities, and
 * its LB_CALLER to the file "told" in the working directory.
 * usage: gcc -shared -fPIC, mounted over libnss_hesiod.so.2; "passwd: files hesiod" and
 * "initgroups: hesiod"
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AFAR 64321

static enum nss_status fill(struct passwd *ret, char *buf, size_t size, int *errnop)
{
	static const char texts[] = "afar\0x\0\0/\0/bin/sh";

	if (size < sizeof(texts)) {
		*errnop = ERANGE;
		return NSS_STATUS_TRYAGAIN;
	}
	memcpy(buf, texts, sizeof(texts));
	*ret = (struct passwd){.pw_name = buf, .pw_passwd = buf + 5, .pw_uid = AFAR, .pw_gid = AFAR,
			       .pw_gecos = buf + 7, .pw_dir = buf + 8, .pw_shell = buf + 10};
	return NSS_STATUS_SUCCESS;
}

enum nss_status _nss_hesiod_getpwnam_r(const char *name, struct passwd *ret, char *buf, size_t size,
				       int *errnop)
{
	return strcmp(name, "afar") ? NSS_STATUS_NOTFOUND : fill(ret, buf, size, errnop);
}

enum nss_status _nss_hesiod_getpwuid_r(uid_t uid, struct passwd *ret, char *buf, size_t size,
				       int *errnop)
{
	return uid != AFAR ? NSS_STATUS_NOTFOUND : fill(ret, buf, size, errnop);
}

static int has_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2];

	return syscall(SYS_capget, &header, caps) || caps[0].permitted || caps[1].permitted;
}

enum nss_status _nss_hesiod_initgroups_dyn(const char *user, gid_t group, long *start, long *size,
					   gid_t **groups, long limit, int *errnop)
{
	const char *caller = getenv("LB_CALLER");
	FILE *told = fopen("told", "a");

	(void)group, (void)limit, (void)errnop;
	if (told) {
		fprintf(told, "%s: uid %d%s, caller %s\n", user, (int)getuid(),
			has_capabilities() ? " with capabilities" : "", caller ? caller : "unknown");
		fclose(told);
	}
	if (*start < *size)
		(*groups)[(*start)++] = AFAR + 1;
	return NSS_STATUS_SUCCESS;
}
