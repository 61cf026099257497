// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/tool.h"

#define MAX_ENTRY_BYTES  16384 /* of a line of /etc/passwd */
#define MAX_GROUP_BYTES  (1 << 20) /* of a line of /etc/group: all its members */
#define MAX_ANSWER_BYTES (1 << 20)

/* getent(1) and id(1), which load modules that others wrote. */
static int ask(const char *const *argv, int timeout_ms, char **ret)
{
	return tool_read(&(struct tool){.argv = argv,
					.timeout_ms = timeout_ms,
					.max_bytes = MAX_ANSWER_BYTES,
					.without_rights = true},
			 ret);
}

/* ---- one user ---- */

/* Returns whether it is an entry, and not a line for NIS ("+", "-name"). */
static bool is_entry(const char *name)
{
	return *name && *name != '+' && *name != '-';
}

/* @name  NULL: by uid. Return: 0 or -ENOENT. */
static int find_in(FILE *file, const char *name, uid_t uid, struct user *ret)
{
	char entry[MAX_ENTRY_BYTES];
	struct passwd passwd, *found;

	while (!fgetpwent_r(file, &passwd, entry, sizeof(entry), &found)) {
		if (!is_entry(passwd.pw_name) ||
		    (name ? strcmp(passwd.pw_name, name) != 0 : passwd.pw_uid != uid) ||
		    strlen(passwd.pw_name) >= sizeof(ret->name))
			continue;
		*ret = (struct user){.uid = passwd.pw_uid, .gid = passwd.pw_gid};
		strcpy(ret->name, passwd.pw_name);
		return 0;
	}
	return -ENOENT;
}

/* @name  NULL: by uid */
static int find(const char *name, uid_t uid, int timeout_ms, struct user *ret)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/passwd", "re");
	_cleanup_fclose_ FILE *answer = NULL;
	_cleanup_free_ char *text = NULL;
	char number[16];
	int rc;

	if (file && !find_in(file, name, uid, ret))
		return 0;
	snprintf(number, sizeof(number), "%u", (unsigned int)uid);
	rc = ask(
		(const char *[]){"/usr/bin/getent", "passwd", name ? name : number, NULL},
		timeout_ms, &text);
	if (rc)
		return rc;
	if (!*text)
		return -ENOENT;
	answer = fmemopen(text, strlen(text), "r");
	/* getent takes a name of digits for a number. */
	return answer ? find_in(answer, name, uid, ret) : -ENOMEM;
}

int user_by_name(const char *name, int timeout_ms, struct user *ret)
{
	return is_entry(name) ? find(name, 0, timeout_ms, ret) : -ENOENT;
}

int user_by_uid(uid_t uid, int timeout_ms, struct user *ret)
{
	return find(NULL, uid, timeout_ms, ret);
}

/* ---- groups ---- */

static void add_group(gid_t gid, gid_t *ret, size_t *nr, size_t max)
{
	for (size_t i = 0; i < *nr; i++)
		if (ret[i] == gid)
			return;
	if (*nr < max)
		ret[(*nr)++] = gid;
}

static void add_groups_of_file(const char *name, gid_t *ret, size_t *nr, size_t max)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/group", "re");
	_cleanup_free_ char *entry = malloc(MAX_GROUP_BYTES);
	struct group group, *found;

	while (file && entry &&
	       !fgetgrent_r(file, &group, entry, MAX_GROUP_BYTES, &found))
		for (char **member = group.gr_mem; *member; member++)
			if (is_entry(group.gr_name) && !strcmp(*member, name))
				add_group(group.gr_gid, ret, nr, max);
}

size_t user_groups(const char *name, gid_t gid, gid_t *ret, size_t max)
{
	_cleanup_free_ char *text = NULL;
	size_t nr = 0;

	add_group(gid, ret, &nr, max);
	if (!ask((const char *[]){"/usr/bin/id", "-G", name, NULL}, USER_ASK_MS, &text) &&
	    *text) {
		char *end;

		for (char *at = text; *at >= '0' && *at <= '9'; at = end + (*end == ' '))
			add_group((gid_t)strtoul(at, &end, 10), ret, &nr, max);
		return nr;
	}
	add_groups_of_file(name, ret, &nr, max);
	return nr;
}

/* ---- all users ---- */

static struct kept {
	const char *path;
	int fd; /* -1: it was not there */
	struct timespec
		changed; /* when it was opened: to rename, link or remove it changes that */
} kept[] = {{.path = "/etc/passwd", .fd = -1}, {.path = "/etc/subuid", .fd = -1}};
static bool keeps_files;

static void keep(struct kept *k)
{
	int fd = open(k->path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	cleanup_closep(&k->fd);
	k->fd = fd;
	k->changed = fstat(fd, &st) ? (struct timespec){0} : st.st_ctim;
}

void users_keep_files(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		keep(&kept[i]);
	keeps_files = true;
}

/* Opens the file that has taken its place since, if one has. Return: NULL: it is not kept. */
static struct kept *follow(const char *path)
{
	for (size_t i = 0; keeps_files && i < ARRAY_SIZE(kept); i++) {
		struct kept *k = &kept[i];
		struct stat st;

		if (strcmp(k->path, path) != 0)
			continue;
		if (k->fd >= 0 && !fstat(k->fd, &st) &&
		    (st.st_ctim.tv_sec != k->changed.tv_sec ||
		     st.st_ctim.tv_nsec != k->changed.tv_nsec))
			keep(k);
		return k;
	}
	return NULL;
}

int users_stat(const char *path, struct stat *ret)
{
	const struct kept *k = follow(path);

	return (k ? fstat(k->fd, ret) : stat(path, ret)) ? -errno : 0;
}

/* Return: NULL if it is not there. */
static FILE *open_users(const char *path)
{
	const struct kept *k = follow(path);
	_cleanup_close_ int fd = -1;
	FILE *file;

	if (!k)
		return fopen(path, "re");
	fd = fcntl(k->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return NULL;
	file = fdopen(fd, "r");
	if (file)
		(void)take_fd(&fd);
	return file;
}

void users_each(user_fn *fn, void *ctx)
{
	_cleanup_fclose_ FILE *file = open_users("/etc/passwd");
	char entry[MAX_ENTRY_BYTES];
	struct passwd passwd, *found;

	while (file && !fgetpwent_r(file, &passwd, entry, sizeof(entry), &found)) {
		struct user user = {.uid = passwd.pw_uid, .gid = passwd.pw_gid};

		if (!is_entry(passwd.pw_name) ||
		    strlen(passwd.pw_name) >= sizeof(user.name))
			continue;
		strcpy(user.name, passwd.pw_name);
		fn(ctx, &user);
	}
}

void users_each_range(const char *path, user_range_fn *fn, void *ctx)
{
	_cleanup_fclose_ FILE *file = open_users(path);
	char line[MAX_ENTRY_BYTES], owner[256];
	uint32_t first, nr;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%255[^:#\n]:%" SCNu32 ":%" SCNu32, owner, &first,
			   &nr) == 3)
			fn(ctx, owner, first, nr);
}

static void suggest(void *ctx, const struct user *user)
{
	suggestions_add(ctx, user->name);
}

void users_suggest(struct suggestions *s)
{
	users_each(suggest, s);
}
