// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/cgroup_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/target_fd.h"
#include "opener/opener.h"

/* Of the names in a folder; some 50,000 containers. */
#define NAMES_BYTES ((uint64_t)4 << 20)
/* Of the processes in one. */
#define PROCS_BYTES ((uint64_t)1 << 20)

static int look_at(int top, const char *path, uint32_t owner, struct look *looks,
		   size_t nr)
{
	char name[PATH_MAX];
	int rc = top;

	if (top < 0)
		return rc;
	if (strlen(path) + 1 >= sizeof(name))
		return -ENAMETOOLONG;
	/* "./a/b" */
	snprintf(name, sizeof(name), ".%s", path);
	for (size_t i = 0; i < nr; i++) {
		looks[i].where = LOOK_BELOW;
		looks[i].name = name;
		looks[i].fd = -1;
	}
	rc = opener_look(top, TENANT_OF_FOLDERS(owner), looks, nr);
	for (size_t i = 0; i < nr && !rc; i++)
		rc = looks[i].rc;
	return rc;
}

int cgroup_folder_open(int top, const char *path, uint32_t owner, struct look_facts *ret)
{
	struct look look = {.what = LOOK_HANDLE};
	int rc = look_at(top, path, owner, &look, 1);

	if (rc)
		return rc;
	target_fd_forget(look.fd);
	if (!S_ISDIR(look.facts.mode)) {
		close(look.fd);
		return -ENOENT;
	}
	*ret = look.facts;
	return look.fd;
}

int cgroup_folder_list(int top, const char *path, uint32_t owner, uint64_t inode,
		       char **ret)
{
	struct look looks[] = {
		{.what = LOOK_FACTS},
		{.what = LOOK_NAMES, .rules = LOOK_FOLDERS, .max_bytes = NAMES_BYTES},
	};
	int rc = look_at(top, path, owner, looks, ARRAY_SIZE(looks));

	*ret = NULL;
	if (!rc && inode && looks[0].facts.inode != inode)
		rc = -ESTALE;
	if (!rc) {
		*ret = take_ptr(looks[1].text);
		if (looks[1].len + NAME_MAX >= NAMES_BYTES)
			rc = -EFBIG;
	}
	free(looks[1].text);
	return rc;
}

bool cgroup_folder_has(int top, const char *path, uint32_t pid)
{
	_cleanup_(look_deinit) struct look look = {
		.what = LOOK_PROC_TEXT, .max_bytes = PROCS_BYTES, .fd = -1};
	char file[PATH_MAX];

	if (snprintf(file, sizeof(file), "%s/cgroup.procs", path) >= (int)sizeof(file) ||
	    look_at(top, file, 0, &look, 1))
		return false;
	for (const char *line = look.text; *line; line += strspn(line, "\n")) {
		if (strtoul(line, NULL, 10) == pid)
			return true;
		line += strcspn(line, "\n");
	}
	return false;
}

bool cgroup_folder_is_late(int rc)
{
	return rc == -ETIMEDOUT || rc == -EBUSY || rc == -EIO || rc == -ENOMEM ||
	       rc == -EMFILE || rc == -ENFILE;
}
