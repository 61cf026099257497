// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/cgroup_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "base/vec.h"

#define WALK_AGAIN_NS 2000000000ULL
/* Walks take at most 1/WALK_SHARE of the time. */
#define WALK_SHARE 20

/* A directory that is watched, reported, or both. */
struct known {
	int wd; /* -1: not watched */
	const struct cgroup_mount *mount;
	char *path; /* below the mount; heap */
	uint64_t id;
	uint32_t mask; /* mask last reported */
	uint32_t above; /* mask reported for its ancestors */
	uint32_t walk; /* number of the last full walk that saw it */
};

struct cgroup_watch {
	const struct cgroup_mounts *mounts;
	struct cgroup_watch_handlers handlers;
	int inotify_fd;
	bool is_added[CGROUP_MOUNTS_MAX];
	struct known *dirs;
	size_t nr_dirs, cap_dirs, nr_watched;
	struct hashmap by_wd, by_path;
	bool is_incomplete; /* some are not watched or reported, or events were lost */
	bool is_asked; /* a full walk is requested; done as soon as allowed */
	bool is_cut; /* the current walk missed something */
	uint32_t walk;
	uint64_t walked_ns, walk_took_ns;
	uint64_t nr_missed_now, nr_missed; /* in the last walk; in the worst walk */
	char path[PATH_MAX]; /* current directory, below its mount */
};

int cgroup_watch_new(const struct cgroup_mounts *mounts,
		     const struct cgroup_watch_handlers *handlers,
		     struct cgroup_watch **ret)
{
	_cleanup_(cgroup_watch_freep) struct cgroup_watch *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->mounts = mounts;
	set->handlers = *handlers;
	set->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (set->inotify_fd < 0)
		return -errno;
	*ret = take_ptr(set);
	return 0;
}

void cgroup_watch_free(struct cgroup_watch *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->nr_dirs; i++)
		free(set->dirs[i].path);
	free(set->dirs);
	hashmap_deinit(&set->by_wd);
	hashmap_deinit(&set->by_path);
	if (set->inotify_fd >= 0)
		close(set->inotify_fd);
	free(set);
}

/* ---- known directories ---- */

static uint64_t hash_wd(int wd)
{
	return hash_number((uint64_t)wd);
}

static uint64_t hash_path(const struct cgroup_mount *mount, const char *path)
{
	return hash_bytes(mount->hierarchy, path, strlen(path));
}

static struct known *find_wd(struct cgroup_watch *set, int wd)
{
	uint32_t i = hashmap_get(&set->by_wd, hash_wd(wd), NULL, NULL, NULL);

	return i == HASHMAP_NONE ? NULL : &set->dirs[i];
}

static bool is_at(uint32_t item, const void *key, const void *ctx)
{
	const struct known *dir = &((const struct cgroup_watch *)ctx)->dirs[item];
	const struct known *wanted = key;

	return dir->mount == wanted->mount && !strcmp(dir->path, wanted->path);
}

/* Returns the entry of the current directory. */
static struct known *find_here(struct cgroup_watch *set, const struct cgroup_mount *mount)
{
	struct known here = {.mount = mount, .path = set->path};
	uint32_t i = hashmap_get(&set->by_path, hash_path(mount, set->path), is_at, &here,
				 set);

	return i == HASHMAP_NONE ? NULL : &set->dirs[i];
}

/* Adds the current directory. Return: NULL: out of memory, or too many. */
static struct known *add_entry(struct cgroup_watch *set, const struct cgroup_mount *mount,
			       uint64_t id)
{
	struct known *dir;

	if (vec_grow(&set->dirs, &set->cap_dirs, set->nr_dirs + 1, sizeof(*set->dirs),
		     CGROUP_SET_MAX_KNOWN))
		return NULL;
	dir = &set->dirs[set->nr_dirs];
	*dir = (struct known){
		.wd = -1, .mount = mount, .path = strdup(set->path), .id = id};
	if (!dir->path || hashmap_add(&set->by_path, hash_path(mount, dir->path),
				      (uint32_t)set->nr_dirs)) {
		free(dir->path);
		return NULL;
	}
	set->nr_dirs++;
	return dir;
}

static void leave_index(struct cgroup_watch *set, const struct known *dir)
{
	uint32_t i = (uint32_t)(dir - set->dirs);

	hashmap_remove(&set->by_path, hash_path(dir->mount, dir->path), i);
	if (dir->wd >= 0)
		hashmap_remove(&set->by_wd, hash_wd(dir->wd), i);
}

/* Removes an entry. The last entry takes its place. */
static void forget(struct cgroup_watch *set, struct known *dir)
{
	struct known *last = &set->dirs[set->nr_dirs - 1];

	if (dir->mask)
		set->handlers.change(set->handlers.ctx, dir->mount, dir->id, 0);
	leave_index(set, dir);
	if (dir->wd >= 0) {
		/* Removing a cgroup does not remove its watch (kernfs). */
		inotify_rm_watch(set->inotify_fd, dir->wd);
		set->nr_watched--;
	}
	free(dir->path);
	if (dir != last) {
		uint32_t i = (uint32_t)(dir - set->dirs);

		leave_index(set, last);
		*dir = *last;
		/* Cannot fail: the removals freed slots. */
		if (hashmap_add(&set->by_path, hash_path(dir->mount, dir->path), i) ||
		    (dir->wd >= 0 && hashmap_add(&set->by_wd, hash_wd(dir->wd), i)))
			set->is_incomplete = true;
	}
	set->nr_dirs--;
}

/*
 * Removes the current directory and all below it; pointers to entries become invalid.
 */
static void forget_tree(struct cgroup_watch *set, const struct cgroup_mount *mount)
{
	size_t len = strlen(set->path);

	for (size_t i = set->nr_dirs; i-- > 0;) {
		struct known *dir = &set->dirs[i];

		if (dir->mount == mount && !strncmp(dir->path, set->path, len) &&
		    (!dir->path[len] || dir->path[len] == '/'))
			forget(set, dir);
	}
}

/* Removes the entries that the full walk did not see. */
static void sweep(struct cgroup_watch *set)
{
	for (size_t i = set->nr_dirs; i-- > 0;)
		if (set->dirs[i].walk != set->walk)
			forget(set, &set->dirs[i]);
}

/* ---- walks ---- */

static void miss(struct cgroup_watch *set)
{
	if (++set->nr_missed_now > set->nr_missed)
		set->nr_missed = set->nr_missed_now;
	set->is_incomplete = true;
}

/* Watches the current directory, open as @fd. Return: the watch descriptor, or -1. */
static int watch(struct cgroup_watch *set, int fd)
{
	const uint32_t mask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
			      IN_ONLYDIR;
	struct known *before;
	char link[64];
	int wd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (set->nr_watched >= CGROUP_SET_MAX_WATCHES)
		return -1;
	wd = inotify_add_watch(set->inotify_fd, link, mask);
	before = wd < 0 ? NULL : find_wd(set, wd);
	if (!before)
		return wd;
	/* The directory was renamed, and the event was lost. */
	forget(set, before);
	return inotify_add_watch(set->inotify_fd, link, mask);
}

static struct known *add_watched_entry(struct cgroup_watch *set,
				       const struct cgroup_mount *mount, int fd,
				       uint64_t id)
{
	int wd = watch(set, fd);
	struct known *dir = find_here(set, mount);

	if (!dir)
		dir = add_entry(set, mount, id);
	if (wd < 0)
		return dir;
	if (!dir || hashmap_add(&set->by_wd, hash_wd(wd), (uint32_t)(dir - set->dirs))) {
		inotify_rm_watch(set->inotify_fd, wd);
		return dir;
	}
	dir->wd = wd;
	set->nr_watched++;
	return dir;
}

static void walk(struct cgroup_watch *set, const struct cgroup_mount *mount, int fd,
		 uint32_t above, unsigned int depth);

/* set->path is the path of @dir. */
static void walk_children(struct cgroup_watch *set, const struct cgroup_mount *mount,
			  DIR *dir, uint32_t above, unsigned int depth)
{
	size_t len = strlen(set->path);
	struct dirent *entry;

	if (len == 1)
		len = 0; /* "/" */
	while ((entry = readdir(dir))) {
		int fd;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, "..") ||
		    len + 1 + strlen(entry->d_name) >= sizeof(set->path))
			continue;
		fd = openat(dirfd(dir), entry->d_name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0) {
			/* ENOENT: it was just removed */
			set->is_cut |= errno != ENOENT;
			continue;
		}
		set->path[len] = '/';
		strcpy(set->path + len + 1, entry->d_name);
		walk(set, mount, fd, above, depth + 1);
		set->path[len] = '\0';
	}
	if (!len)
		strcpy(set->path, "/");
}

/* Matches the current directory, open as @fd. Return: its mask. */
static uint32_t match_current(struct cgroup_watch *set, const struct cgroup_mount *mount,
			      int fd, uint64_t id, uint32_t above, bool *ret_descend)
{
	struct known *dir = find_here(set, mount);
	uint32_t mask;

	mask = set->handlers.match(set->handlers.ctx, mount, set->path, ret_descend) &
	       ~above;
	/* Another cgroup has this name now, or it no longer matches. */
	if (dir && (dir->id != id || (!*ret_descend && !mask))) {
		forget_tree(set, mount);
		dir = NULL;
	}
	/*
	 * Watch it before reading it, so that events report children created meanwhile.
	 */
	if (*ret_descend && (!dir || dir->wd < 0)) {
		dir = add_watched_entry(set, mount, fd, id);
		if (!dir || dir->wd < 0)
			miss(set);
	} else if (!dir && mask) {
		dir = add_entry(set, mount, id);
		if (!dir)
			miss(set);
	}
	/*
	 * Without an entry its removal could not be reported, so do not report it;
	 * cgroups below it may still be reported.
	 */
	if (!dir)
		return 0;
	dir->above = above;
	dir->walk = set->walk;
	if ((mask || dir->mask) &&
	    !set->handlers.change(set->handlers.ctx, mount, id, mask))
		miss(set);
	dir->mask = mask;
	return mask;
}

/* Takes @fd, which is open on the directory of set->path. */
static void walk(struct cgroup_watch *set, const struct cgroup_mount *mount, int fd,
		 uint32_t above, unsigned int depth)
{
	_cleanup_close_ int owned_fd = fd;
	_cleanup_closedir_ DIR *dir = NULL;
	bool descend = true;
	struct stat st;
	uint32_t mask;

	if (fstat(fd, &st)) {
		set->is_cut = true;
		return;
	}
	mask = match_current(set, mount, fd, st.st_ino, above, &descend);
	if (!descend)
		return;
	if (depth >= CGROUP_SET_MAX_DEPTH) {
		/* Each subdirectory adds a link (kernfs). */
		if (st.st_nlink > 2)
			miss(set);
		return;
	}
	dir = fdopendir(fd);
	if (!dir) {
		set->is_cut = true;
		return;
	}
	owned_fd = -1;
	walk_children(set, mount, dir, above | mask, depth);
}

static void walk_mount(struct cgroup_watch *set, const struct cgroup_mount *mount)
{
	int fd = open(mount->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		log_debug("cgroups below %s cannot be read: %m, skipping", mount->path);
		set->is_cut = true;
		return;
	}
	strcpy(set->path, "/");
	walk(set, mount, fd, 0, 0);
}

static void walk_all(struct cgroup_watch *set)
{
	uint64_t begin_ns = clock_now_ns();

	set->is_incomplete = set->is_asked = set->is_cut = false;
	set->nr_missed_now = 0;
	set->walk++;
	for (size_t i = 0; i < set->mounts->nr; i++)
		if (set->is_added[i])
			walk_mount(set, &set->mounts->at[i]);
	if (set->is_cut)
		set->is_incomplete = true;
	else
		sweep(set);
	set->walked_ns = clock_now_ns();
	set->walk_took_ns = set->walked_ns - begin_ns;
}

void cgroup_watch_add(struct cgroup_watch *set, const struct cgroup_mount *mount)
{
	size_t i = (size_t)(mount - set->mounts->at);

	if (set->is_added[i])
		return;
	set->is_added[i] = true;
	set->is_cut = false;
	walk_mount(set, mount);
	set->is_incomplete |= set->is_cut;
}

/* ---- events ---- */

/* Sets the current path to @name in @parent. Return: false if it does not fit. */
static bool go_to(struct cgroup_watch *set, const struct known *parent, const char *name)
{
	int len = snprintf(set->path, sizeof(set->path), "%s/%s",
			   strcmp(parent->path, "/") ? parent->path : "", name);

	return len >= 0 && (size_t)len < sizeof(set->path);
}

static void appeared(struct cgroup_watch *set, const struct known *parent,
		     const char *name)
{
	const struct cgroup_mount *mount = parent->mount;
	uint32_t above = parent->above | parent->mask;
	unsigned int depth = 0;
	char path[2 * PATH_MAX];
	int fd;

	if (!go_to(set, parent, name))
		return;
	for (const char *c = set->path; *c; c++)
		depth += *c == '/';
	snprintf(path, sizeof(path), "%s%s", mount->path, set->path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		walk(set, mount, fd, above, depth);
}

/*
 * Removing a cgroup directory causes an event only in its parent (kernfs). Its children
 * were removed before, and reported one by one.
 */
static void vanished(struct cgroup_watch *set, const struct known *parent,
		     const char *name, bool with_all_below)
{
	const struct cgroup_mount *mount = parent->mount;
	struct known *dir;

	if (!go_to(set, parent, name))
		return;
	if (with_all_below) {
		forget_tree(set, mount);
		return;
	}
	dir = find_here(set, mount);
	if (dir)
		forget(set, dir);
}

static void on_event(struct cgroup_watch *set, const struct inotify_event *ev)
{
	struct known *dir = find_wd(set, ev->wd);

	if (ev->mask & IN_Q_OVERFLOW)
		set->is_incomplete = true;
	if (!dir)
		return;
	if (ev->mask & IN_IGNORED)
		forget(set, dir);
	else if (!(ev->mask & IN_ISDIR) || !ev->len)
		return;
	else if (ev->mask & (IN_DELETE | IN_MOVED_FROM))
		vanished(set, dir, ev->name, ev->mask & IN_MOVED_FROM);
	else
		appeared(set, dir, ev->name);
}

int cgroup_watch_poll_fd(const struct cgroup_watch *set)
{
	return set->inotify_fd;
}

void cgroup_watch_look(struct cgroup_watch *set, uint64_t now_ns)
{
	char buf[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len;

	/* One buffer per call: endless creation of cgroups must not block us here. */
	len = read(set->inotify_fd, buf, sizeof(buf));
	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *ev = (const void *)(buf + at);

		on_event(set, ev);
		at += (ssize_t)(sizeof(*ev) + ev->len);
	}
	if (now_ns < set->walked_ns + WALK_SHARE * set->walk_took_ns)
		return;
	if (set->is_asked ||
	    (set->is_incomplete && now_ns >= set->walked_ns + WALK_AGAIN_NS))
		walk_all(set);
}

void cgroup_watch_walk_again(struct cgroup_watch *set)
{
	set->is_asked = true;
}

uint64_t cgroup_watch_nr_missed(const struct cgroup_watch *set)
{
	return set->nr_missed;
}
