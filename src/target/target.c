// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/match.h"
#include "base/suggest.h"
#include "base/user.h"
#include "base/vec.h"
#include "collect/filter.h"
#include "process/cgroup.h"
#include "process/cgroup_folder.h"
#include "process/cgroup_mount.h"
#include "process/container_name.h"
#include "process/owner.h"
#include "process/proc_dir.h"
#include "target/cgroup_watch.h"
#include "target/comm_glob.h"
#include "target/explain.h"

static uint32_t mask_of(const struct target_value *v)
{
	return v->excludes ? LB_FILTER_OUT(v->kind) : LB_FILTER_IN(v->kind);
}

#define MAX_READS 16 /* limit for a process tree that grows while it is read */

/* Sets the mask of a process, unless it has exited and its pid was reused. */
static int set_mask(struct sampler *s, const struct proc_tree_item *m, uint32_t mask,
		    struct error *err)
{
	int rc = sampler_filter_task(s, m->tgid, mask, err);
	_cleanup_close_ int dir = proc_dir_open_here(m->tgid);
	struct proc_stat stat = {0};
	int stat_rc = dir < 0 ? dir : proc_dir_stat(dir, &stat);

	if (!rc && (stat_rc ? !proc_dir_is_late(stat_rc)
			    : m->start_ticks && stat.start_ticks != m->start_ticks))
		sampler_forget_task(s, m->tgid);
	return rc;
}

/**
 * Sets @mask of @tgid and, with @children, of its descendants. Reads /proc until there
 * is no new one, because a process without the mask does not pass it to its children.
 * Return: 0, -ESRCH if there is no such process, or -errno; with a message.
 */
static int target_add_family(struct sampler *s, uint32_t tgid, uint32_t mask,
			     bool children, struct error *err)
{
	_cleanup_(proc_tree_deinit) struct proc_tree tree = {0};
	size_t nr_before = 0, nr = 0;

	for (int turn = 0; turn < MAX_READS; turn++) {
		int rc = proc_tree_read(AT_FDCWD, &tree);

		if (rc)
			return error_set(err, rc, "cannot read /proc");
		if (!proc_tree_mark(&tree, tgid))
			return explain_no_process(tgid, err);
		if (children)
			proc_tree_mark_descendants(&tree);
		nr = 0;
		for (size_t i = 0; i < tree.nr && !rc; i++)
			if (tree.items[i].is_marked) {
				rc = set_mask(s, &tree.items[i], mask, err);
				nr++;
			}
		if (rc || nr <= nr_before)
			return rc;
		nr_before = nr;
	}
	return 0;
}

#define MAX_THREADS 4096

struct thread {
	uint32_t tid;
	uint64_t start_ticks; /* since boot */
	uint64_t zombie_ns; /* when it was first seen as a zombie; 0: it is not one */
};

/*
 * A leader that exits stays a zombie until the other threads have ended. If one of them
 * calls exec, it takes over the leader's tid and stays a target. The kernel kills the
 * leader first, and /proc does not say why. So for this long, the leader may come back.
 */
#define ZOMBIE_NS           (2 * CLOCK_SECOND_NS)

#define MAX_KNOWN_CGROUPS   65536
#define MAX_WATCHED_CGROUPS 32768

/*
 * The first walk takes no longer. Sampling begins then, and who is not found yet is found as
 * a new cgroup is.
 */
#define FIRST_WALK_NS (CLOCK_SECOND_NS / 2)

/* Containers and units are searched only in the first v1 hierarchies, this many. */
#define V1_LOOKED_AT 2

/* A value, and where to search its cgroup. */
struct wanted_cgroup {
	const struct target_value *value;
	/*
	 * For -G: path below each mount, by its number; heap; NULL: not in that mount.
	 */
	char *paths[CGROUP_MOUNTS_MAX];
	bool is_found;
};

struct target_cgroups {
	struct sampler *sampler;
	struct cgroup_mounts mounts;
	struct cgroup_place places[CGROUP_MOUNTS_MAX]; /* of these */
	struct cgroup_watch *set;
	struct container_names *names;
	struct wanted_cgroup *wanted;
	size_t nr_wanted;
	bool has_owners; /* --container or --unit is given */
	bool is_walked[CGROUP_MOUNTS_MAX];
	size_t nr_walked;
	uint32_t hierarchies[LB_FILTER_HIERARCHIES]; /* hierarchies with matches */
	size_t nr_hierarchies;
	/* directories whose path below the walked mount is unknown */
	uint64_t nr_refused;
	struct suggestions containers,
		units; /* existing ones, until the first walk ends */
	bool is_started;
};

struct target {
	const struct target_request *request; /* borrowed */
	struct sampler *sampler;
	struct target_cgroups cgroups; /* zero-initialised: none requested */
	struct thread *threads; /* included threads; heap */
	size_t nr_threads, cap_threads;
	uint32_t *tgids; /* of the threads, parallel; heap */
	size_t cap_tgids;
};

bool target_follows_processes(const struct target_request *r)
{
	return r->is_command || r->nr_pids;
}

bool target_has_families(const struct target_request *r)
{
	bool has_rules = target_follows_processes(r);

	for (size_t i = 0; i < r->nr_values; i++)
		has_rules |= r->values[i].kind == LB_FILTER_PROCESS;
	return has_rules && !r->no_children;
}

/* ---- threads ---- */

/* What /proc/TID says; it exists for each thread. */
enum thread_presence {
	THREAD_GONE,
	THREAD_ZOMBIE, /* of a process that has other threads; or it cannot be read */
	THREAD_ALIVE
};

static bool is_of_the_gone(int rc)
{
	return rc == -ENOENT || rc == -ESRCH;
}

static enum thread_presence read_thread(uint32_t tid, uint64_t *ret_start,
					uint32_t *ret_tgid)
{
	_cleanup_close_ int dir = proc_dir_open_here(tid);
	struct proc_status status;
	struct proc_stat stat;

	int rc = dir < 0 ? dir : proc_dir_stat(dir, &stat);

	if (!rc)
		rc = proc_dir_status(dir, &status);
	if (rc)
		return is_of_the_gone(rc) ? THREAD_GONE : THREAD_ZOMBIE;
	*ret_start = stat.start_ticks;
	*ret_tgid = status.tgid;
	if (stat.state != 'Z')
		return THREAD_ALIVE;
	/* While the kernel removes the old leader, there are 0. */
	return stat.nr_threads == 1 ? THREAD_GONE : THREAD_ZOMBIE;
}

static int no_thread(uint32_t tid, struct error *err)
{
	return error_set(err, -ESRCH,
			 "there is no thread %u; see \"ps -eL\" for what runs", tid);
}

static enum thread_presence presence_of(const struct thread *thread)
{
	uint64_t start = thread->start_ticks;
	uint32_t tgid;
	enum thread_presence presence = read_thread(thread->tid, &start, &tgid);

	return start == thread->start_ticks ? presence : THREAD_GONE;
}

static int add_thread(struct target *c, const struct target_value *v, struct error *err)
{
	struct thread thread = {.tid = v->number};
	uint32_t tgid;
	int rc;

	if (read_thread(thread.tid, &thread.start_ticks, &tgid) != THREAD_ALIVE)
		return no_thread(thread.tid, err);
	rc = sampler_filter_task(c->sampler, thread.tid | LB_TARGET_THREAD, mask_of(v),
				 err);
	if (rc)
		return rc;
	/* The tid may have been reused before the kernel side took it. */
	if (presence_of(&thread) != THREAD_ALIVE) {
		sampler_forget_task(c->sampler, thread.tid | LB_TARGET_THREAD);
		return no_thread(thread.tid, err);
	}
	if (v->excludes)
		return 0;
	if (vec_grow(&c->threads, &c->cap_threads, c->nr_threads + 1, sizeof(*c->threads),
		     MAX_THREADS) ||
	    vec_grow(&c->tgids, &c->cap_tgids, c->nr_threads + 1, sizeof(*c->tgids),
		     MAX_THREADS))
		return error_set(err, -ENOMEM, "out of memory");
	c->tgids[c->nr_threads] = tgid;
	c->threads[c->nr_threads++] = thread;
	return 0;
}

static bool is_gone(struct thread *thread)
{
	enum thread_presence presence = presence_of(thread);

	if (presence != THREAD_ZOMBIE)
		thread->zombie_ns = 0;
	else if (!thread->zombie_ns)
		thread->zombie_ns = clock_now_ns();
	else if (clock_now_ns() - thread->zombie_ns > ZOMBIE_NS)
		return true;
	return presence == THREAD_GONE;
}

bool target_threads_are_gone(struct target *c)
{
	for (size_t i = 0; i < c->nr_threads; i++)
		if (!is_gone(&c->threads[i]))
			return false;
	return c->nr_threads;
}

/* ---- users ---- */

/* @why  of user_by_name() */
static int no_user(const char *name, int why, struct error *err)
{
	struct suggestions users = {0};
	char asked[128], others[512];
	int rc;

	escape_terminal_buf(asked, sizeof(asked), name);
	if (why != -ENOENT)
		return error_set(
			err, why,
			"there is no user \"%s\" in /etc/passwd, and %s; give the "
			"user's number",
			asked,
			why == -ENOSYS ? "no /usr/bin/getent here that knows "
					 "others"
				       : "getent(1), which knows others, did not "
					 "answer");
	users_suggest(&users);
	rc = error_set(err, -ENOENT,
		       "there is no user \"%s\" on this system; %s; users of containers "
		       "are known by their numbers",
		       asked, suggestions_say(&users, name, others, sizeof(others)));
	suggestions_deinit(&users);
	return rc;
}

static int add_user(struct target *c, const struct target_value *v, struct error *err)
{
	struct user user;
	unsigned long uid;
	char *end;
	int rc = user_by_name(v->text, USER_ASK_MS, &user);

	if (!rc)
		return sampler_filter_user(c->sampler, user.uid, mask_of(v), err);
	uid = strtoul(v->text, &end, 10);
	if (*end || *v->text < '0' || *v->text > '9' || uid >= UINT32_MAX)
		return no_user(v->text, rc, err);
	return sampler_filter_user(c->sampler, (uint32_t)uid, mask_of(v), err);
}

/* ---- cgroups ---- */

static void target_cgroups_deinit(struct target_cgroups *c)
{
	for (size_t i = 0; i < c->nr_wanted; i++)
		for (size_t k = 0; k < CGROUP_MOUNTS_MAX; k++)
			free(c->wanted[i].paths[k]);
	free(c->wanted);
	suggestions_deinit(&c->containers);
	suggestions_deinit(&c->units);
	cgroup_watch_free(c->set);
	container_names_free(c->names);
	for (size_t i = 0; i < c->mounts.nr; i++)
		cgroup_place_close(&c->places[i]);
	cgroup_mounts_deinit(&c->mounts);
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
	const struct cgroup_place *place = &c->places[mount - c->mounts.at];
	struct cgroup_owner owner;
	const char *name = "";
	uint32_t mask = 0;

	if (!c->has_owners || !cgroup_owner_by_path(path, strlen(path), &owner))
		return 0;
	cgroup_owner_at(place->root ? place : NULL, CGROUP_NO_UID, path, strlen(path),
			&owner);
	if (owner.container[0])
		name = container_names_find(c->names, owner.container, clock_now_ns());
	if (!c->is_started) {
		suggestions_add(&c->containers, *name ? name : owner.container);
		suggestions_add(&c->units, owner.unit);
	}
	for (size_t i = 0; i < c->nr_wanted; i++) {
		const struct target_value *v = c->wanted[i].value;

		if (v->kind == LB_FILTER_CONTAINER && owner.is_late)
			mask |= CGROUP_WATCH_UNKNOWN;
		else if ((v->kind == LB_FILTER_CONTAINER &&
			  names_container(v->text, &owner, name)) ||
			 (v->kind == LB_FILTER_UNIT && names_unit(v->text, &owner))) {
			c->wanted[i].is_found = true;
			mask |= mask_of(v);
		}
	}
	return mask;
}

/* Checks each hierarchy, because a path may have different processes in each. */
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

/* Then no name of it need be looked up: there are no links in it. */
static bool is_in_mount(const struct target_cgroups *c, const char *path)
{
	return mount_above(c, path) && !strstr(path, "/.");
}

/*
 * Resolves a directory of the file system that is elsewhere, such as a link to one of
 * cgroups. Return: 0, or -ENOENT.
 */
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
	/*
	 * It is below another mount of the hierarchy: its path below the walked mount
	 * is unknown.
	 */
	if (!*ret) {
		w->is_found = true;
		if (!on_change(c, mount, st.st_ino, mask_of(w->value)))
			c->nr_refused++;
	}
	walk_in(c, mount);
	return 0;
}

/* One that does not answer may be there. */
static bool mount_has(const struct target_cgroups *c, const struct cgroup_mount *mount,
		      const char *path)
{
	struct look_facts facts;
	int fd = cgroup_folder_open(c->places[mount - c->mounts.at].fd, path,
				    CGROUP_NO_UID, &facts);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || cgroup_folder_is_late(fd);
}

/*
 * Converts a path of /proc/PID/cgroup to a path below the mount; they differ in a
 * cgroup namespace. Also accepts a path below the mount. NULL: not below it.
 */
static char *path_below(const struct target_cgroups *c, const struct cgroup_mount *mount,
			const char *clean)
{
	char *path = cgroup_namespace_to_mount(mount->root, mount->base, clean);

	if ((path && mount_has(c, mount, path)) || !strncmp(clean, "/..", 3) ||
	    !mount_has(c, mount, clean))
		return path;
	free(path);
	return strdup(clean);
}

/*
 * Resolves a path below the root of all hierarchies, or of one if it begins with its
 * mount.
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
		w->paths[i] = path_below(c, &c->mounts.at[i], clean);
	return 0;
}

/*
 * For paths that name no hierarchy: walks all hierarchies that have the path, in order
 * of use, while there is room. v1 may have more, but the first ones have the same
 * processes.
 * @now  walks hierarchies that have the path now; else those where it may appear
 */
static void walk_for_paths(struct target_cgroups *c, bool now)
{
	for (size_t i = 0; i < c->nr_wanted; i++) {
		const struct wanted_cgroup *w = &c->wanted[i];

		for (size_t k = 0; k < c->mounts.nr; k++) {
			const struct cgroup_mount *m = &c->mounts.at[k];

			if (c->is_walked[k] || !w->paths[k] ||
			    mount_has(c, m, w->paths[k]) != now)
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
		else if (is_in_mount(c, w->value->text) || find_directory(c, w))
			rc = find_path(c, w);
	}
	for (size_t i = 0, nr_v1 = 0; i < c->mounts.nr && c->has_owners; i++)
		if (!c->mounts.at[i].hierarchy || nr_v1++ < V1_LOOKED_AT)
			walk_in(c, &c->mounts.at[i]);
	walk_for_paths(c, true);
	walk_for_paths(c, false);
	return rc;
}

/* Lists the siblings of a missing cgroup. */
static void list_beside(const struct target_cgroups *c, const struct wanted_cgroup *w,
			struct suggestions *ret)
{
	for (size_t i = 0; i < c->mounts.nr; i++) {
		_cleanup_free_ char *names = NULL;
		char path[PATH_MAX], *next;

		if (!c->is_walked[i])
			continue;
		snprintf(path, sizeof(path), "%s", w->paths[i] ? w->paths[i] : "/");
		for (;;) {
			int rc = cgroup_folder_list(c->places[i].fd, path, CGROUP_NO_UID,
						    0, &names);

			if (!rc || rc == -EFBIG || !strcmp(path, "/"))
				break;
			next = strrchr(path, '/');
			next[next == path] = '\0';
		}
		next = names;
		while (next && *next)
			suggestions_add(ret, strsep(&next, "\n"));
	}
}

static int explain_missing(struct target_cgroups *c, const struct wanted_cgroup *w,
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

static void warn_late(const struct wanted_cgroup *w, const char *why)
{
	char asked[256];

	log_warning(
		"\"%s\" was not found in half a second, as %s; it is sampled from when "
		"it is found",
		escape_terminal_buf(asked, sizeof(asked), w->value->text), why);
}

/* Finds the cgroups of -G, --container and --unit. */
static int find_cgroups(struct target_cgroups *c, const struct target_request *r,
			struct error *err)
{
	int rc = find_values(c, r);
	bool is_whole, has_late;

	if (rc)
		return error_set(err, rc, "the path of a cgroup is too long");
	for (size_t i = 0; i < c->mounts.nr; i++)
		if (c->is_walked[i])
			cgroup_watch_add(c->set, &c->mounts.at[i]);
	is_whole = cgroup_watch_walk(c->set, FIRST_WALK_NS);
	has_late = cgroup_watch_has_late(c->set);
	for (size_t i = 0; i < c->nr_wanted; i++) {
		if (c->wanted[i].is_found || c->wanted[i].value->excludes)
			continue;
		if (is_whole && !has_late)
			return explain_missing(c, &c->wanted[i], err);
		warn_late(&c->wanted[i], has_late ? "folders of cgroups do not answer"
						  : "there are very many cgroups here");
	}
	c->is_started = true;
	suggestions_deinit(&c->containers);
	suggestions_deinit(&c->units);
	return 0;
}

/* @c stays zeroed if no option needs it. Return: 0, or -errno with a message. */
static int target_cgroups_init(struct target_cgroups *c, const struct target_request *r,
			       struct sampler *s, struct error *err)
{
	struct cgroup_watch_handlers handlers = {
		.ctx = c, .match = on_match, .change = on_change};
	static const struct cgroup_watch_limits limits = {
		.known = MAX_KNOWN_CGROUPS,
		.watched = MAX_WATCHED_CGROUPS,
		.reported = LB_FILTER_MAX_CGROUPS};
	_cleanup_close_ int proc_fd = -1;
	bool is_used = false;
	int rc;

	for (size_t i = 0; i < r->nr_values; i++)
		is_used |= LB_FILTER_CGROUPS & LB_FILTER_IN(r->values[i].kind);
	if (!is_used)
		return 0;
	c->sampler = s;
	proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	c->names = owner_container_names(proc_fd);
	if (!c->names)
		return error_set(err, -ENOMEM, "out of memory");
	rc = cgroup_mounts_read(&c->mounts);
	for (size_t i = 0; i < c->mounts.nr; i++)
		cgroup_place_open(&c->places[i], &c->mounts.at[i]);
	if (!rc)
		rc = cgroup_watch_new(&c->mounts, &handlers, &limits, &c->set);
	errno = -rc;
	return rc ? error_set(err, rc, "cannot watch cgroups: %m")
		  : find_cgroups(c, r, err);
}

/* ---- all values ---- */

static int add_comms(struct target *c, struct error *err)
{
	_cleanup_free_ struct lb_comm_table *table = calloc(1, sizeof(*table));
	int rc = table ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->request->nr_values && !rc; i++) {
		const struct target_value *v = &c->request->values[i];

		if (v->kind == LB_FILTER_COMM)
			rc = comm_glob_add(table, v->text, v->excludes);
	}
	if (!rc && table->nr_words)
		rc = sampler_filter_comms(c->sampler, table);
	errno = -rc;
	return rc ? error_set(err, rc, "cannot sample by thread name: %m") : 0;
}

static int add_value(struct target *c, const struct target_value *v, struct error *err)
{
	switch (v->kind) {
	case LB_FILTER_THREAD:
		return add_thread(c, v, err);
	case LB_FILTER_USER:
		return add_user(c, v, err);
	case LB_FILTER_PROCESS:
		return target_add_family(c->sampler, v->number,
					 LB_FILTER_OUT(LB_FILTER_PROCESS),
					 !c->request->no_children, err);
	default:
		return 0; /* cgroups and names are added together */
	}
}

static void use(struct target *c)
{
	const struct target_request *r = c->request;
	uint32_t uses = 0, wanted = 0;

	for (size_t i = 0; i < r->nr_values; i++) {
		uses |= LB_FILTER_IN(r->values[i].kind);
		if (!r->values[i].excludes)
			wanted |= LB_FILTER_IN(r->values[i].kind);
	}
	if (target_follows_processes(r)) {
		uses |= LB_FILTER_IN(LB_FILTER_PROCESS);
		wanted |= LB_FILTER_IN(LB_FILTER_PROCESS);
	}
	sampler_use_filter(c->sampler, uses, wanted, r->no_children);
}

int target_new(const struct target_request *r, struct sampler *s, struct target **ret,
	       struct error *err)
{
	_cleanup_(target_freep) struct target *c = calloc(1, sizeof(*c));
	int rc = 0;

	if (!c)
		return error_set(err, -ENOMEM, "out of memory");
	c->request = r;
	c->sampler = s;
	/* First, so that the kernel side follows forks from now on. */
	use(c);
	for (size_t i = 0; i < r->nr_values && !rc; i++)
		rc = add_value(c, &r->values[i], err);
	if (!rc)
		rc = add_comms(c, err);
	if (!rc)
		rc = target_cgroups_init(&c->cgroups, r, s, err);
	if (!rc)
		*ret = take_ptr(c);
	return rc;
}

void target_free(struct target *c)
{
	if (!c)
		return;
	target_cgroups_deinit(&c->cgroups);
	free(c->threads);
	free(c->tgids);
	free(c);
}

const uint32_t *target_tgids(const struct target *c, size_t *ret_nr)
{
	*ret_nr = c->request->nr_pids ? c->request->nr_pids : c->nr_threads;
	return c->request->nr_pids ? c->request->pids : c->tgids;
}

int target_poll_fd(const struct target *c)
{
	return c->cgroups.set ? cgroup_watch_poll_fd(c->cgroups.set) : -1;
}

void target_look(struct target *c)
{
	struct target_cgroups *cgroups = &c->cgroups;

	if (!cgroups->set)
		return;
	/* A runtime writes a container's name after creating its cgroup. */
	if (container_names_retry(cgroups->names, clock_now_ns()))
		cgroup_watch_walk_again(cgroups->set);
	cgroup_watch_look(cgroups->set, clock_now_ns());
}

bool target_is_looking(const struct target *c)
{
	return c->cgroups.set && cgroup_watch_is_busy(c->cgroups.set);
}

uint64_t target_nr_refused(const struct target *c)
{
	const struct target_cgroups *cgroups = &c->cgroups;

	return cgroups->set ? cgroups->nr_refused + cgroup_watch_nr_missed(cgroups->set)
			    : 0;
}

void target_each_refused(struct target *c, quota_refused_fn fn, void *ctx)
{
	if (c->cgroups.set)
		cgroup_watch_each_refused(c->cgroups.set, fn, ctx);
}

const char *target_describe(const struct target_request *r, struct strpool *pool)
{
	static const char *const kinds[LB_NR_FILTER_KINDS] = {
		[LB_FILTER_THREAD] = "thread",
		[LB_FILTER_PROCESS] = "process",
		[LB_FILTER_USER] = "user",
		[LB_FILTER_CGROUP] = "cgroup",
		[LB_FILTER_CONTAINER] = "container",
		[LB_FILTER_UNIT] = "unit",
		[LB_FILTER_COMM] = "name"};
	char text[512], value[128];

	snprintf(text, sizeof(text), "%s",
		 r->is_command
			 ? r->no_children ? "the command" : "the command and its children"
		 : r->nr_pids       ? "process"
		 : r->whole_machine ? "the whole machine"
				    : "threads");
	for (size_t i = 0; i < r->nr_pids && strlen(text) < sizeof(text) - 16; i++)
		text_append(text, sizeof(text), " %u", r->pids[i]);
	for (size_t i = 0;
	     i < r->nr_values && strlen(text) < sizeof(text) - sizeof(value) - 32; i++)
		text_append(text, sizeof(text), "%s %s%s %s", i ? "," : ":",
			    r->values[i].excludes ? "not " : "", kinds[r->values[i].kind],
			    escape_terminal_buf(value, sizeof(value), r->values[i].text));
	return strpool_add(pool, text);
}
