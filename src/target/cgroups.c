// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/match.h"
#include "base/suggest.h"
#include "collect/filter.h"
#include "process/cgroup.h"
#include "process/cgroup_mount.h"
#include "process/container_name.h"
#include "process/owner.h"
#include "target/cgroup_watch.h"

/* Containers and units are searched in this many v1 hierarchies, the first ones. */
#define V1_LOOKED_AT 2

/* A value, and where to search it. */
struct wanted_cgroup {
	const struct target_value *value;
	/* For -G: path below each mount, by its number; heap; NULL: not there. */
	char *paths[CGROUP_MOUNTS_MAX];
	bool is_found;
};

struct target_cgroups {
	struct sampler *sampler;
	struct cgroup_mounts mounts;
	struct cgroup_watch *set;
	struct container_names *names;
	struct wanted_cgroup *wanted;
	size_t nr_wanted;
	bool has_owners; /* --container or --unit is given */
	bool is_walked[CGROUP_MOUNTS_MAX];
	size_t nr_walked;
	uint32_t hierarchies[LB_FILTER_HIERARCHIES]; /* hierarchies with matches */
	size_t nr_hierarchies;
	uint64_t nr_refused; /* directories whose path is unknown here */
	struct suggestions containers,
		units; /* existing ones, until the first walk ends */
	bool is_started;
};

static uint32_t mask_of(const struct target_value *v)
{
	return v->excludes ? LB_FILTER_OUT(v->kind) : LB_FILTER_IN(v->kind);
}

static bool names_container(const char *value, const struct cgroup_owner *owner,
			    const char *name)
{
	bool is_name = owner->runtime == CONTAINER_NSPAWN ||
		       owner->runtime == CONTAINER_LXC;

	return match_container(value, owner->container, name,
			       is_name ? MATCH_START_NONE : MATCH_START_HEX);
}

static bool names_unit(const char *value, const struct cgroup_owner *owner)
{
	char unit[UNIT_BYTES];

	return cgroup_unescape(value, unit, sizeof(unit)) &&
	       match_unit(unit, owner->unit);
}

static uint32_t match_owner(struct target_cgroups *c, const struct cgroup_mount *mount,
			    const char *path)
{
	_cleanup_close_ int dir = -1;
	struct cgroup_owner owner;
	const char *name = "";
	uint32_t mask = 0;

	if (!c->has_owners || !cgroup_owner_of(path, strlen(path), &owner))
		return 0;
	dir = open(mount->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cgroup_owner_at(dir, path, strlen(path), &owner);
	if (owner.container[0])
		name = container_names_find(c->names, owner.container, clock_now_ns());
	if (!c->is_started) {
		suggestions_add(&c->containers, *name ? name : owner.container);
		suggestions_add(&c->units, owner.unit);
	}
	for (size_t i = 0; i < c->nr_wanted; i++) {
		const struct target_value *v = c->wanted[i].value;

		if ((v->kind == LB_FILTER_CONTAINER &&
		     names_container(v->text, &owner, name)) ||
		    (v->kind == LB_FILTER_UNIT && names_unit(v->text, &owner))) {
			c->wanted[i].is_found = true;
			mask |= mask_of(v);
		}
	}
	return mask;
}

/* Checks each hierarchy: one path may hold different processes in each. */
static uint32_t on_match(void *ctx, const struct cgroup_mount *mount, const char *path,
			 bool *ret_descend)
{
	struct target_cgroups *c = ctx;
	bool descend = c->has_owners;
	uint32_t mask = match_owner(c, mount, path);

	for (size_t i = 0; i < c->nr_wanted; i++) {
		struct wanted_cgroup *w = &c->wanted[i];
		const char *wanted = w->paths[mount - c->mounts.at];

		if (!wanted)
			continue;
		descend |= match_path_above(path, wanted);
		if (!strcmp(path, wanted)) {
			w->is_found = true;
			mask |= mask_of(w->value);
		}
	}
	*ret_descend = descend;
	return mask;
}

static bool use_hierarchy(struct target_cgroups *c, uint32_t hierarchy)
{
	for (size_t i = 0; i < c->nr_hierarchies; i++)
		if (c->hierarchies[i] == hierarchy)
			return true;
	if (c->nr_hierarchies == LB_FILTER_HIERARCHIES)
		return false;
	c->hierarchies[c->nr_hierarchies++] = hierarchy;
	sampler_use_hierarchies(c->sampler, c->hierarchies, c->nr_hierarchies);
	return true;
}

static bool on_change(void *ctx, const struct cgroup_mount *mount, uint64_t id,
		      uint32_t mask)
{
	struct target_cgroups *c = ctx;
	struct lb_cgroup_key key = {.id = id, .hierarchy = mount->hierarchy};

	return !sampler_filter_cgroup(c->sampler, &key, mask) &&
	       (!mask || use_hierarchy(c, mount->hierarchy));
}

/* ---- resolving the values ---- */

/* Returns the mount of a cgroup directory's hierarchy; NULL: not a cgroup directory. */
static const struct cgroup_mount *mount_of(const struct target_cgroups *c, int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return NULL;
	for (size_t i = 0; i < c->mounts.nr; i++) {
		const struct cgroup_mount *m = &c->mounts.at[i];

		if ((fs.f_type == CGROUP2_SUPER_MAGIC && !m->hierarchy) ||
		    (fs.f_type == CGROUP_SUPER_MAGIC && m->dev == st.st_dev))
			return m;
	}
	return NULL;
}

/* Returns the mount with the longest path that is a prefix of @path. */
static const struct cgroup_mount *mount_above(const struct target_cgroups *c,
					      const char *path)
{
	const struct cgroup_mount *best = NULL;

	for (size_t i = 0; i < c->mounts.nr; i++) {
		const struct cgroup_mount *m = &c->mounts.at[i];

		if (match_path_above(m->path, path) &&
		    (!best || strlen(m->path) > strlen(best->path)))
			best = m;
	}
	return best;
}

static void walk_in(struct target_cgroups *c, const struct cgroup_mount *mount)
{
	bool *is_walked = &c->is_walked[mount - c->mounts.at];

	c->nr_walked += !*is_walked;
	*is_walked = true;
}

/* Resolves a directory of the file system: "/sys/fs/cgroup/a". Return: 0, or -ENOENT. */
static int find_directory(struct target_cgroups *c, struct wanted_cgroup *w)
{
	_cleanup_close_ int fd = open(w->value->text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *path = NULL;
	const struct cgroup_mount *mount;
	struct stat st;
	char **ret;

	if (*w->value->text != '/' || fd < 0)
		return -ENOENT;
	mount = mount_of(c, fd);
	if (!mount || fstat(fd, &st))
		return -ENOENT;
	ret = &w->paths[mount - c->mounts.at];
	path = realpath(w->value->text, NULL);
	if (path && mount_above(c, path) == mount) {
		char clean[PATH_MAX];

		if (!match_clean_path(path + strlen(mount->path), clean, sizeof(clean)))
			*ret = strdup(clean);
	}
	/* Mounted elsewhere, too: its path below the walked mount is unknown. */
	if (!*ret) {
		w->is_found = true;
		if (!on_change(c, mount, st.st_ino, mask_of(w->value)))
			c->nr_refused++;
	}
	walk_in(c, mount);
	return 0;
}

static bool is_there(const struct cgroup_mount *mount, const char *path)
{
	char there[2 * PATH_MAX];

	snprintf(there, sizeof(there), "%s%s", mount->path, path);
	return !access(there, F_OK);
}

/*
 * Converts a path of /proc/PID/cgroup to one below the mount. In a cgroup namespace these
 * differ; a path below the mount is accepted, too. NULL: not below it.
 */
static char *path_below(const struct cgroup_mount *mount, const char *clean)
{
	char *path = cgroup_namespace_to_mount(mount->root, mount->base, clean);

	if ((path && is_there(mount, path)) || !strncmp(clean, "/..", 3) ||
	    !is_there(mount, clean))
		return path;
	free(path);
	return strdup(clean);
}

/*
 * Resolves a path below the root of a hierarchy; of one only if it begins with its mount.
 */
static int find_path(struct target_cgroups *c, struct wanted_cgroup *w)
{
	const struct cgroup_mount *above = mount_above(c, w->value->text);
	char clean[PATH_MAX];

	if (match_clean_path(w->value->text + (above ? strlen(above->path) : 0), clean,
			     sizeof(clean)))
		return -ENAMETOOLONG;
	if (above) {
		w->paths[above - c->mounts.at] = strdup(clean);
		walk_in(c, above);
		return 0;
	}
	for (size_t i = 0; i < c->mounts.nr; i++)
		w->paths[i] = path_below(&c->mounts.at[i], clean);
	return 0;
}

/*
 * Walks the hierarchies for paths that name none: all that have the path, in order of
 * use, while there is room. v1 may have more, but the first ones hold the same processes.
 * @now: hierarchies that have them; else those where they may appear
 */
static void walk_for_paths(struct target_cgroups *c, bool now)
{
	for (size_t i = 0; i < c->nr_wanted; i++) {
		const struct wanted_cgroup *w = &c->wanted[i];

		for (size_t k = 0; k < c->mounts.nr; k++) {
			const struct cgroup_mount *m = &c->mounts.at[k];

			if (c->is_walked[k] || !w->paths[k] ||
			    is_there(m, w->paths[k]) != now)
				continue;
			if (c->nr_walked < LB_FILTER_HIERARCHIES)
				walk_in(c, m);
			else
				log_debug("cgroups below %s are not looked at", m->path);
		}
	}
}

static int find_values(struct target_cgroups *c, const struct target_request *r)
{
	int rc = 0;

	c->wanted = calloc(r->nr_values + 1, sizeof(*c->wanted));
	if (!c->wanted)
		return -ENOMEM;
	for (size_t i = 0; i < r->nr_values && !rc; i++) {
		struct wanted_cgroup *w = &c->wanted[c->nr_wanted];

		if (!(LB_FILTER_CGROUPS & LB_FILTER_IN(r->values[i].kind)))
			continue;
		w->value = &r->values[i];
		c->nr_wanted++;
		if (w->value->kind != LB_FILTER_CGROUP)
			c->has_owners = true;
		else if (find_directory(c, w))
			rc = find_path(c, w);
	}
	for (size_t i = 0, nr_v1 = 0; i < c->mounts.nr && c->has_owners; i++)
		if (!c->mounts.at[i].hierarchy || nr_v1++ < V1_LOOKED_AT)
			walk_in(c, &c->mounts.at[i]);
	walk_for_paths(c, true);
	walk_for_paths(c, false);
	return rc;
}

/* ---- missing cgroups ---- */

/* Lists the siblings of a missing cgroup. */
static void list_beside(const struct target_cgroups *c, const struct wanted_cgroup *w,
			struct suggestions *ret)
{
	for (size_t i = 0; i < c->mounts.nr; i++) {
		char path[2 * PATH_MAX];
		_cleanup_closedir_ DIR *dir = NULL;
		struct dirent *entry;

		if (!c->is_walked[i])
			continue;
		snprintf(path, sizeof(path), "%s%s", c->mounts.at[i].path,
			 w->paths[i] ? w->paths[i] : "/");
		while (!(dir = opendir(path)) && strrchr(path, '/') > path)
			*strrchr(path, '/') = '\0';
		while (dir && (entry = readdir(dir)))
			if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
				suggestions_add(ret, entry->d_name);
	}
}

static int not_there(struct target_cgroups *c, const struct wanted_cgroup *w,
		     struct error *err)
{
	char asked[256], others[512];
	struct suggestions beside = {0};
	const char *text = w->value->text, *slash = strrchr(text, '/');
	int rc;

	escape_terminal_buf(asked, sizeof(asked), text);
	if (!c->mounts.nr)
		return error_set_exit(err, EXIT_SYSTEM, -ENOENT,
				      "no hierarchy of cgroups is mounted here, so there "
				      "is no \"%s\"; mount cgroup2 at /sys/fs/cgroup",
				      asked);
	if (c->mounts.at[0].is_part)
		return error_set_exit(
			err, EXIT_SYSTEM, -ENOENT,
			"there is no \"%s\" in the part of the host's cgroups "
			"that is mounted here; start this container with "
			"--volume=/sys/fs/cgroup:/sys/fs/cgroup:ro",
			asked);
	switch (w->value->kind) {
	case LB_FILTER_CONTAINER:
		return error_set(
			err, -ENOENT, "no container is called \"%s\"; %s", asked,
			suggestions_say(&c->containers, text, others, sizeof(others)));
	case LB_FILTER_UNIT:
		return error_set(
			err, -ENOENT, "no unit \"%s\" is running; %s", asked,
			suggestions_say(&c->units, text, others, sizeof(others)));
	default:
		list_beside(c, w, &beside);
		rc = error_set(err, -ENOENT, "there is no cgroup \"%s\"; %s", asked,
			       suggestions_say(&beside,
					       slash && slash[1] ? slash + 1 : text,
					       others, sizeof(others)));
		suggestions_deinit(&beside);
		return rc;
	}
}

/* ---- life ---- */

static int start(struct target_cgroups *c, const struct target_request *r,
		 struct error *err)
{
	int rc = find_values(c, r);

	if (rc)
		return error_set(err, rc, "the path of a cgroup is too long");
	for (size_t i = 0; i < c->mounts.nr; i++)
		if (c->is_walked[i])
			cgroup_watch_add(c->set, &c->mounts.at[i]);
	for (size_t i = 0; i < c->nr_wanted; i++)
		if (!c->wanted[i].is_found && !c->wanted[i].value->excludes)
			return not_there(c, &c->wanted[i], err);
	c->is_started = true;
	suggestions_deinit(&c->containers);
	suggestions_deinit(&c->units);
	return 0;
}

int target_cgroups_new(const struct target_request *r, struct sampler *s,
		       struct target_cgroups **ret, struct error *err)
{
	_cleanup_(target_cgroups_freep) struct target_cgroups *c = NULL;
	struct cgroup_watch_handlers handlers = {.match = on_match, .change = on_change};
	_cleanup_close_ int proc_fd = -1;
	bool is_used = false;
	int rc;

	for (size_t i = 0; i < r->nr_values; i++)
		is_used |= LB_FILTER_CGROUPS & LB_FILTER_IN(r->values[i].kind);
	*ret = NULL;
	if (!is_used)
		return 0;
	c = calloc(1, sizeof(*c));
	proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!c || !(c->names = owner_container_names(proc_fd)))
		return error_set(err, -ENOMEM, "out of memory");
	c->sampler = s;
	handlers.ctx = c;
	rc = cgroup_mounts_read(&c->mounts);
	if (!rc)
		rc = cgroup_watch_new(&c->mounts, &handlers, &c->set);
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot watch cgroups: %m");
	}
	rc = start(c, r, err);
	if (!rc)
		*ret = take_ptr(c);
	return rc;
}

void target_cgroups_free(struct target_cgroups *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nr_wanted; i++)
		for (size_t k = 0; k < CGROUP_MOUNTS_MAX; k++)
			free(c->wanted[i].paths[k]);
	free(c->wanted);
	suggestions_deinit(&c->containers);
	suggestions_deinit(&c->units);
	cgroup_watch_free(c->set);
	container_names_free(c->names);
	cgroup_mounts_deinit(&c->mounts);
	free(c);
}

int target_cgroups_poll_fd(const struct target_cgroups *c)
{
	return c ? cgroup_watch_poll_fd(c->set) : -1;
}

void target_cgroups_look(struct target_cgroups *c)
{
	if (!c)
		return;
	/* A runtime writes a container's name after it has made its cgroup. */
	if (container_names_retry(c->names, clock_now_ns()))
		cgroup_watch_walk_again(c->set);
	cgroup_watch_look(c->set, clock_now_ns());
}

uint64_t target_cgroups_nr_refused(const struct target_cgroups *c)
{
	return c ? c->nr_refused + cgroup_watch_nr_missed(c->set) : 0;
}
