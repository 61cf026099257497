// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/owner.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/cgroup.h"

#define MAX_PATH_BYTES 4096
/* Most ancestors searched for a process that is gone. */
#define MAX_ANCESTORS 8

struct container_names *owner_container_names(int proc_fd)
{
	int roots[2] = {open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
			openat(proc_fd, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC)};
	struct stat ours, theirs;

	if (roots[0] >= 0 && roots[1] >= 0 && !fstat(roots[0], &ours) &&
	    !fstat(roots[1], &theirs) && ours.st_dev == theirs.st_dev &&
	    ours.st_ino == theirs.st_ino) {
		close(roots[1]);
		roots[1] = -1;
	}
	return container_names_new(roots, ARRAY_SIZE(roots));
}

/* LXC and nspawn have names only, no ids. */
static const char *container_name(struct process_table *t,
				  const struct cgroup_owner *found)
{
	bool is_name = found->runtime == CONTAINER_LXC ||
		       found->runtime == CONTAINER_NSPAWN;

	return strpool_add(t->pool, is_name ? found->container
					    : container_names_find(t->container_names,
								   found->container,
								   clock_now_ns()));
}

void owner_of_cgroup(struct process_table *t, uint32_t hierarchy, const char *path,
		     size_t len, struct process_owner *owner)
{
	struct cgroup_owner found;

	cgroup_owner_at(cgroup_ids_place(&t->cgroups, hierarchy), path, len, &found);
	owner->by_v2 = !hierarchy;
	owner->cgroup = strpool_add_n(t->pool, path, len);
	owner->container = strpool_add(t->pool, found.container);
	owner->runtime = strpool_add(t->pool, container_runtime_name(found.runtime));
	owner->pod = strpool_add(t->pool, found.pod);
	owner->unit = strpool_add(t->pool, found.unit);
	owner->container_name = container_name(t, &found);
}

static bool read_cgroup(struct process_table *t, struct image *img, int proc_dir)
{
	ssize_t n = proc_dir_cgroup(proc_dir, t->buf, sizeof(t->buf));
	const char *path;
	size_t len;
	uint32_t hierarchy;

	if (n <= 0)
		return false;
	path = cgroup_path_of(t->buf, (size_t)n, &len, &hierarchy);
	owner_of_cgroup(t, hierarchy, path, len, &img->proc.owner);
	return true;
}

/*
 * Strips the root from a path. The kernel shows paths relative to our root: with the root
 * as a prefix for a process in a chroot, without for one in its own mount namespace.
 */
static size_t without_root(int proc_dir, const char *path, size_t len)
{
	char root[MAX_PATH_BYTES];
	ssize_t n = readlinkat(proc_dir, "root", root, sizeof(root));

	if (n > 1 && (size_t)n < len && (size_t)n < sizeof(root) &&
	    !memcmp(path, root, (size_t)n) && path[n] == '/')
		return (size_t)n;
	return 0;
}

static void read_exe(struct process_table *t, struct image *img, int proc_dir)
{
	char path[MAX_PATH_BYTES];
	ssize_t n = readlinkat(proc_dir, "exe", path, sizeof(path));
	size_t len, skip;

	if (n <= 0 || (size_t)n == sizeof(path))
		return;
	len = maps_text_without_deleted(path, (size_t)n);
	skip = without_root(proc_dir, path, len);
	img->proc.owner.exe = strpool_add_n(t->pool, path + skip, len - skip);
}

/* Exec maps the executable first, and it lies below what it loads. */
static const char *exe_by_maps(const struct maps *maps)
{
	for (size_t i = 0; i < maps->nr; i++)
		if (maps->items[i].kind == MAPPING_FILE)
			return maps->items[i].path;
	return NULL;
}

/* Returns the executable from the exec event, if no event was lost since. */
static const char *exe_by_exec(const struct process_table *t, const struct image *img)
{
	const struct maps *maps = &img->proc.maps;

	if (!img->by_exec || img->read_ns || image_is_stale(t, img) || !maps->nr ||
	    maps->items[0].kind != MAPPING_FILE)
		return NULL;
	return maps->items[0].path;
}

/*
 * Finds the nearest with a known owner: the process, its parent, and so on. The parent's
 * present owner takes precedence over the one inherited at the fork, which may be from
 * before the parent moved to another cgroup; more distant ancestors do not.
 */
static const struct image *nearest_known(struct process_table *t, struct image *img)
{
	int max = img->proc.owner.cgroup ? 2 : MAX_ANCESTORS;
	struct image *from = img;

	for (int i = 0; from && i < max; i++) {
		_cleanup_close_ int dir = image_open_dir(t, from);

		if (dir >= 0 && read_cgroup(t, from, dir))
			return from;
		if (i && from->proc.owner.cgroup)
			return from;
		from = from->ppid ? image_at(t, from->ppid, from->fork_ns) : NULL;
	}
	return img;
}

static void take_over(struct process_table *t, struct image *img)
{
	const char *exe = img->proc.owner.exe;

	img->proc.owner = nearest_known(t, img)->proc.owner;
	img->proc.owner.exe = exe;
}

void owner_fill(struct process_table *t, struct image *img, int proc_dir)
{
	struct process_owner *owner = &img->proc.owner;
	const char *none = strpool_add(t->pool, ""), *exe = exe_by_exec(t, img);

	if (exe)
		owner->exe = exe;
	else if (proc_dir >= 0)
		read_exe(t, img, proc_dir);
	if (proc_dir < 0 || !read_cgroup(t, img, proc_dir))
		take_over(t, img);
	if (!owner->exe)
		owner->exe = exe_by_maps(&img->proc.maps);
	if (!owner->exe)
		owner->exe = none;
	if (!owner->cgroup)
		owner->cgroup = owner->container = owner->container_name =
			owner->runtime = owner->pod = owner->unit = none;
}

static void refresh(struct process_table *t, struct process_owner *owner, uint64_t now_ns)
{
	if (owner->container && !*owner->container_name)
		owner->container_name = strpool_add(
			t->pool, container_names_find(t->container_names,
						      owner->container, now_ns));
}

void owner_refresh(struct process_table *t, uint64_t now_ns)
{
	if (!container_names_retry(t->container_names, now_ns))
		return;
	for (size_t i = 0; i < t->nr_ids; i++)
		if (t->images[i])
			refresh(t, &t->images[i]->proc.owner, now_ns);
	for (size_t i = 0; i < t->cgroups.nr; i++)
		refresh(t, &t->cgroups.items[i]->owner, now_ns);
}
