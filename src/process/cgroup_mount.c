// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/cgroup_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/quota.h"
#include "process/cgroup_folder.h"

#define MOUNTINFO_MAX_BYTES (16u << 20)
#define CGROUP_MAX_BYTES    65536

static void mount_deinit(struct cgroup_mount *m)
{
	free(m->path);
	free(m->root);
	free(m->own);
	free(m->base);
}

/* Is @word in the comma-separated @list? */
static bool list_contains(const char *list, const char *word, size_t len)
{
	for (;;) {
		size_t n = strcspn(list, ",");

		if (n == len && !memcmp(list, word, len))
			return true;
		if (!list[n])
			return false;
		list += n + 1;
	}
}

/*
 * Finds a mount's hierarchy and our path in it. @options names the v1 controllers; NULL
 * means v2. Return: false if /proc/self/cgroup does not list the hierarchy.
 */
static bool find_hierarchy(const char *cgroup, const char *options,
			   struct cgroup_mount *ret)
{
	for (const char *line = cgroup; *line; line += *line == '\n') {
		const char *end = line + strcspn(line, "\n"), *name, *path;
		unsigned long id = strtoul(line, (char **)&name, 10);
		size_t n = *name == ':' ? strcspn(++name, ",:\n") : 0;

		path = name + strcspn(name, ":\n");
		line = end;
		if (*path != ':' || path[1] != '/' ||
		    (options ? !id || id > UINT32_MAX || !n : id || n) ||
		    n >= sizeof(ret->name) || (n && !list_contains(options, name, n)))
			continue;
		ret->hierarchy = (uint32_t)id;
		memcpy(ret->name, name, n);
		ret->name[n] = '\0';
		ret->own = strndup(path + 1, (size_t)(end - path - 1));
		return true;
	}
	return false;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Decodes blanks and backslashes, which are escaped as three octal digits. */
static void unescape(char *path)
{
	char *to = path;

	for (; *path; path++, to++) {
		*to = *path;
		if (*path == '\\' && is_octal(path[1]) && is_octal(path[2]) &&
		    is_octal(path[3])) {
			*to = (char)((path[1] - '0') << 6 | (path[2] - '0') << 3 |
				     (path[3] - '0'));
			path += 3;
		}
	}
	*to = '\0';
}

/* 41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:1 - cgroup2 cgroup2 rw */
static bool parse_line(char *line, const char *cgroup, struct cgroup_mount *ret)
{
	unsigned int id, major, minor;
	char root[4096], path[4096], type[16], *tail = strstr(line, " - ");

	if (!tail ||
	    sscanf(line, "%u %*u %u:%u %4095s %4095s", &id, &major, &minor, root, path) !=
		    5 ||
	    sscanf(tail, " - %15s", type) != 1 || *root != '/' || *path != '/')
		return false;
	*ret = (struct cgroup_mount){.id = id,
				     .dev = makedev(major, minor),
				     .is_part = strcmp(root, "/") != 0 &&
						strncmp(root, "/..", 3) != 0};
	if (!strcmp(type, "cgroup2"))
		find_hierarchy(cgroup, NULL, ret);
	else if (strcmp(type, "cgroup") ||
		 !find_hierarchy(cgroup, strrchr(tail, ' ') + 1, ret))
		return false;
	unescape(root);
	unescape(path);
	ret->root = strdup(root);
	ret->path = strdup(path);
	if (ret->root && ret->path)
		return true;
	mount_deinit(ret);
	return false;
}

static int rank(const struct cgroup_mount *m)
{
	static const char *const first[] = {"", "name=systemd", "memory", "pids", "cpu"};
	int i = 0;

	while (i < (int)ARRAY_SIZE(first) && strcmp(first[i], m->name))
		i++;
	return i;
}

/* Does @a show more of its hierarchy than @b? */
static bool shows_more(const struct cgroup_mount *a, const struct cgroup_mount *b)
{
	_cleanup_free_ char *above = cgroup_namespace_to_mount(a->root, NULL, b->root);

	if (above && strcmp(above, "/") != 0)
		return true;
	return !strncmp(a->root, "/..", 3) && strncmp(b->root, "/..", 3) != 0;
}

/* Takes ownership of @m's strings. */
static void add(struct cgroup_mounts *mounts, struct cgroup_mount *m)
{
	size_t at = mounts->nr;

	for (size_t i = 0; i < mounts->nr; i++) {
		struct cgroup_mount *known = &mounts->at[i];

		if (known->hierarchy != m->hierarchy)
			continue;
		/* A later mount at the same path hides the earlier one. */
		if (!strcmp(known->path, m->path) || shows_more(m, known)) {
			mount_deinit(known);
			*known = *m;
		} else {
			mount_deinit(m);
		}
		return;
	}
	if (mounts->nr == CGROUP_MOUNTS_MAX) {
		mount_deinit(m);
		return;
	}
	for (; at && rank(&mounts->at[at - 1]) > rank(m); at--)
		mounts->at[at] = mounts->at[at - 1];
	mounts->at[at] = *m;
	mounts->nr++;
}

static int parse(const char *mountinfo, const char *cgroup,
		 bool (*is_wanted)(const struct cgroup_mount *m),
		 struct cgroup_mounts *ret)
{
	_cleanup_free_ char *text = strdup(mountinfo);
	char *state = NULL;

	*ret = (struct cgroup_mounts){0};
	if (!text)
		return -ENOMEM;
	for (char *line = strtok_r(text, "\n", &state); line;
	     line = strtok_r(NULL, "\n", &state)) {
		struct cgroup_mount m;

		if (!parse_line(line, cgroup, &m))
			continue;
		if (is_wanted && !is_wanted(&m))
			mount_deinit(&m);
		else
			add(ret, &m);
	}
	return 0;
}

int cgroup_mounts_parse(const char *mountinfo, const char *cgroup,
			struct cgroup_mounts *ret)
{
	return parse(mountinfo, cgroup, NULL, ret);
}

/*
 * Returns whether its path leads to this mount, not to one mounted over it or above it.
 */
static bool is_visible(const struct cgroup_mount *m)
{
	struct statx stx;

	return !statx(AT_FDCWD, m->path, 0, STATX_MNT_ID, &stx) &&
	       (!(stx.stx_mask & STATX_MNT_ID) || stx.stx_mnt_id == m->id);
}

int cgroup_mounts_read(struct cgroup_mounts *ret)
{
	_cleanup_free_ char *mountinfo = NULL, *cgroup = NULL;
	size_t len;
	int rc = io_read_file("/proc/self/mountinfo", MOUNTINFO_MAX_BYTES, &mountinfo,
			      &len);

	*ret = (struct cgroup_mounts){0};
	if (!rc)
		rc = io_read_file("/proc/self/cgroup", CGROUP_MAX_BYTES, &cgroup, &len);
	if (!rc)
		rc = parse(mountinfo, cgroup, is_visible, ret);
	for (size_t i = 0; i < ret->nr; i++) {
		struct cgroup_mount *m = &ret->at[i];

		if (m->own)
			m->base = cgroup_namespace_find(m->path, m->root, m->own,
							&ret->is_late);
	}
	return rc;
}

const char *cgroup_mounts_only_v2(const struct cgroup_mounts *mounts)
{
	const struct cgroup_mount *first = mounts->at;

	return mounts->nr == 1 && !first->hierarchy && !strcmp(first->root, "/")
		       ? first->path
		       : NULL;
}

void cgroup_mounts_deinit(struct cgroup_mounts *mounts)
{
	for (size_t i = 0; i < mounts->nr; i++)
		mount_deinit(&mounts->at[i]);
	*mounts = (struct cgroup_mounts){0};
}

/* ---- paths as a cgroup namespace shows them ---- */

#define MAX_LOOKED_AT 4096 /* directories */

/* Returns the number of leading "/.."; @ret is set to the rest, "" or "/a/b". */
static unsigned int count_up(const char *path, const char **ret)
{
	unsigned int nr = 0;

	while (!strncmp(path, "/..", 3) && (!path[3] || path[3] == '/')) {
		path += 3;
		nr++;
	}
	*ret = strcmp(path, "/") ? path : "";
	return nr;
}

/* Is @path @above or below it? @ret: the rest, "" or "/a/b". */
static bool is_below(const char *path, const char *above, const char **ret)
{
	size_t len = strlen(above);

	if (strncmp(path, above, len) || (path[len] && path[len] != '/'))
		return false;
	*ret = path + len;
	return true;
}

static char *join(const char *front, size_t front_len, const char *rest)
{
	char *path = NULL;

	if (!front_len && !*rest)
		rest = "/";
	return asprintf(&path, "%.*s%s", (int)front_len, front, rest) < 0 ? NULL : path;
}

char *cgroup_namespace_to_mount(const char *root, const char *base, const char *path)
{
	const char *root_rest, *rest;
	unsigned int root_up = count_up(root, &root_rest), up = count_up(path, &rest);
	size_t len;

	if (up == root_up)
		return is_below(rest, root_rest, &rest) ? join("", 0, rest) : NULL;
	if (up > root_up || *root_rest || !base)
		return NULL;
	len = strlen(base);
	while (up--)
		while (len && base[--len] != '/')
			;
	return join(base, len, rest);
}

/* ---- the folders of a hierarchy ---- */

static bool place_open(struct cgroup_place *place, const struct cgroup_mount *m,
		       const char *root, const char *base)
{
	*place = (struct cgroup_place){
		.hierarchy = m->hierarchy,
		.fd = open(m->path, O_PATH | O_DIRECTORY | O_CLOEXEC),
		.root = strdup(root),
		.base = base ? strdup(base) : NULL,
		.last = calloc(CGROUP_OWNERS_KEPT, sizeof(*place->last)),
	};
	for (size_t i = 0; place->last && i < CGROUP_OWNERS_KEPT; i++)
		place->last[i].look.fd = -1;
	if (place->fd >= 0 && place->root && place->last)
		return true;
	cgroup_place_close(place);
	return false;
}

bool cgroup_place_open(struct cgroup_place *place, const struct cgroup_mount *mount)
{
	return place_open(place, mount, "/", NULL);
}

void cgroup_place_close(struct cgroup_place *place)
{
	cleanup_closep(&place->fd);
	place->fd = -1;
	free(take_ptr(place->root));
	free(take_ptr(place->base));
	for (size_t i = 0; place->last && i < CGROUP_OWNERS_KEPT; i++) {
		free(place->last[i].path);
		look_deinit(&place->last[i].look);
	}
	free(take_ptr(place->last));
}

void cgroup_places_open(struct cgroup_places *places, const struct cgroup_mounts *mounts)
{
	for (size_t i = 0; i < mounts->nr; i++) {
		const struct cgroup_mount *m = &mounts->at[i];
		const char *rest;

		/* Of a part, the folders above it cannot be seen. */
		count_up(m->root, &rest);
		if (!*rest && place_open(&places->at[places->nr], m, m->root, m->base))
			places->nr++;
	}
}

void cgroup_places_close(struct cgroup_places *places)
{
	for (size_t i = 0; i < places->nr; i++)
		cgroup_place_close(&places->at[i]);
	places->nr = 0;
}

const struct cgroup_place *cgroup_place(const struct cgroup_places *places,
					uint32_t hierarchy)
{
	for (size_t i = 0; i < places->nr; i++)
		if (places->at[i].hierarchy == hierarchy)
			return &places->at[i];
	return NULL;
}

/* ---- the root of a namespace ---- */

static bool is_here(int top, const char *path, const char *own)
{
	char folder[PATH_MAX];

	return snprintf(folder, sizeof(folder), "%s%s", path, own) <
		       (int)sizeof(folder) &&
	       cgroup_folder_has(top, folder, (uint32_t)getpid());
}

/* Searches the directories @depth levels below @path for our cgroup. Changes @path. */
static bool find_below(int top, char path[PATH_MAX], unsigned int depth, const char *own,
		       unsigned int *nr_looked_at, bool *ret_is_late)
{
	_cleanup_free_ char *names = NULL;
	size_t len = strlen(path);
	char *next;

	if ((*nr_looked_at)++ == MAX_LOOKED_AT)
		return false;
	if (!depth)
		return is_here(top, path, own);
	*ret_is_late |= cgroup_folder_is_late(cgroup_folder_list(
		top, *path ? path : "/", TENANT_UNKNOWN_UID, 0, &names));
	next = names;
	while (next && *next && *nr_looked_at < MAX_LOOKED_AT) {
		const char *name = strsep(&next, "\n");

		if (len + 1 + strlen(name) >= PATH_MAX)
			continue;
		path[len] = '/';
		strcpy(path + len + 1, name);
		if (find_below(top, path, depth - 1, own, nr_looked_at, ret_is_late))
			return true;
		path[len] = '\0';
	}
	return false;
}

char *cgroup_namespace_find(const char *mount, const char *root, const char *own,
			    bool *ret_is_late)
{
	_cleanup_close_ int top = open(mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
	unsigned int nr_looked_at = 0, depth;
	const char *root_rest, *own_rest;
	char path[PATH_MAX] = "";

	depth = count_up(root, &root_rest);
	if (top < 0 || !depth || *root_rest || count_up(own, &own_rest))
		return NULL;
	if (find_below(top, path, depth, own_rest, &nr_looked_at, ret_is_late))
		return strdup(path);
	return NULL;
}
