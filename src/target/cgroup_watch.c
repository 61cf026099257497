// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/cgroup_watch.h"

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
#include "base/io.h"
#include "base/log.h"
#include "base/vec.h"
#include "process/cgroup.h"
#include "process/cgroup_folder.h"

#define WALK_AGAIN_NS (2 * CLOCK_SECOND_NS)
/* Walks take at most 1/WALK_SHARE of the time. */
#define WALK_SHARE 20
/* Of a look, at most half of it for events. What is left is done in the next looks. */
#define LOOK_NS (20 * CLOCK_MS_NS)

/* A directory that is watched, reported, or both. */
struct known {
	int wd; /* -1: not watched */
	const struct cgroup_mount *mount;
	char *path; /* below the mount; heap */
	uint64_t id;
	uint32_t uid; /* who pays for it (base/quota.h); 0: root, who pays for nothing */
	uint32_t mask; /* mask last reported */
	uint32_t above; /* mask reported for its ancestors */
	uint32_t walk; /* number of the last full walk that saw it */
	bool has_rule; /* its mask has a place on the kernel side */
	bool is_pending; /* those in it have not been looked at */
};

/* What those in a directory have of it. */
struct above {
	const struct cgroup_mount *mount;
	uint32_t mask; /* reported for it and its ancestors */
	uint32_t uid; /* who pays for it; 0: root */
};

/* A directory that was read; as many of its names in a look as there is time for. */
struct dir_reader {
	char *names; /* heap; NULL: none */
	char *next; /* of them */
	struct above above;
	char path[PATH_MAX];
};

/* Users in whose folders something did not answer in this walk; of more nothing is forgotten. */
#define MAX_LATE_USERS 16

/* Those of root come first, so that no number of others keeps them waiting. */
enum kind {
	OF_ROOT,
	OF_USERS,
	NR_KINDS
};

struct cgroup_watch {
	const struct cgroup_mounts *mounts;
	struct cgroup_watch_handlers handlers;
	int inotify_fd;
	bool is_added[CGROUP_MOUNTS_MAX];
	int tops[CGROUP_MOUNTS_MAX]; /* of those added; O_PATH, or -errno */
	struct known *dirs;
	size_t nr_dirs, cap_dirs, nr_watched;
	struct quota places, watches, rules; /* of the tables of directories */
	struct hashmap by_wd, by_path;
	struct dir_reader readers[NR_KINDS];
	size_t nr_pending[NR_KINDS];
	size_t cursor; /* where the next pending directory is searched */
	bool is_incomplete; /* some are not watched or reported, or events were lost */
	bool is_asked; /* a full walk is requested; done as soon as allowed */
	bool is_walking; /* the walk goes on in the next look */
	bool is_cut; /* the current walk missed something */
	bool has_late; /* a folder did not answer in it */
	uint32_t late_users[MAX_LATE_USERS]; /* whose it was in */
	size_t nr_late_users;
	uint32_t walk;
	size_t nr_unswept; /* entries that this walk may have to remove */
	uint64_t walked_ns, walk_took_ns;
	uint64_t nr_missed_now, nr_missed; /* in the last walk; in the worst walk */
	char path[PATH_MAX]; /* current directory, below its mount */
	/* Read from inotify, and not handled yet. */
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	size_t events_at, events_len;
};

/* Returns how many directories may be watched here; other programs of root count, too. */
static uint64_t max_watches(uint64_t limit)
{
	_cleanup_free_ char *text = NULL;
	uint64_t allowed = 0;
	size_t len;

	if (!io_read_file("/proc/sys/fs/inotify/max_user_watches", 32, &text, &len))
		allowed = strtoul(text, NULL, 10);
	return allowed && allowed < limit ? allowed : limit;
}

int cgroup_watch_new(const struct cgroup_mounts *mounts,
		     const struct cgroup_watch_handlers *handlers,
		     const struct cgroup_watch_limits *limits, struct cgroup_watch **ret)
{
	_cleanup_(cgroup_watch_freep) struct cgroup_watch *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->mounts = mounts;
	set->handlers = *handlers;
	set->places =
		(struct quota){.what = "known cgroups",
			       .loss = "options that choose by cgroup do not find them",
			       .max = limits->known};
	set->watches = (struct quota){.what = "watched cgroups",
				      .loss = "new cgroups in them are found late",
				      .max = max_watches(limits->watched)};
	set->rules = (struct quota){
		.what = "rules of cgroups",
		.loss = "options that choose by cgroup do not apply to them",
		.max = limits->reported};
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
	for (size_t i = 0; i < NR_KINDS; i++)
		free(set->readers[i].names);
	for (size_t i = 0; i < CGROUP_MOUNTS_MAX; i++)
		if (set->is_added[i])
			cleanup_closep(&set->tops[i]);
	quota_deinit(&set->places);
	quota_deinit(&set->watches);
	quota_deinit(&set->rules);
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

static struct tenant tenant_of(uint32_t uid)
{
	return (struct tenant){.uid = uid};
}

static enum kind kind_of(const struct known *dir)
{
	return dir->uid ? OF_USERS : OF_ROOT;
}

static void set_pending(struct cgroup_watch *set, struct known *dir, bool is_pending)
{
	if (dir->is_pending == is_pending)
		return;
	dir->is_pending = is_pending;
	if (is_pending)
		set->nr_pending[kind_of(dir)]++;
	else
		set->nr_pending[kind_of(dir)]--;
}

/*
 * Adds the current directory. Return: NULL: out of memory, or too many, of all or of its
 * owner.
 */
static struct known *add_entry(struct cgroup_watch *set, const struct cgroup_mount *mount,
			       uint64_t id, uint32_t uid)
{
	struct known *dir;

	if (!quota_take(&set->places, tenant_of(uid), 1))
		return NULL;
	if (vec_grow(&set->dirs, &set->cap_dirs, set->nr_dirs + 1, sizeof(*set->dirs),
		     set->places.max)) {
		quota_refuse_full(&set->places, tenant_of(uid), 1);
		quota_give(&set->places, tenant_of(uid), 1);
		return NULL;
	}
	dir = &set->dirs[set->nr_dirs];
	*dir = (struct known){.wd = -1,
			      .mount = mount,
			      .path = strdup(set->path),
			      .id = id,
			      .uid = uid};
	if (!dir->path || hashmap_add(&set->by_path, hash_path(mount, dir->path),
				      (uint32_t)set->nr_dirs)) {
		free(dir->path);
		quota_give(&set->places, tenant_of(uid), 1);
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
	set_pending(set, dir, false);
	if (dir->wd >= 0) {
		/* Removing a cgroup does not remove its watch (kernfs). */
		inotify_rm_watch(set->inotify_fd, dir->wd);
		set->nr_watched--;
		quota_give(&set->watches, tenant_of(dir->uid), 1);
	}
	if (dir->has_rule)
		quota_give(&set->rules, tenant_of(dir->uid), 1);
	quota_give(&set->places, tenant_of(dir->uid), 1);
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

static bool is_late_user(const struct cgroup_watch *set, uint32_t uid)
{
	for (size_t i = 0; i < set->nr_late_users; i++)
		if (set->late_users[i] == uid)
			return true;
	return false;
}

/* Removes an entry that the full walk did not see. Return: false: there is none. */
static bool sweep_one(struct cgroup_watch *set)
{
	if (set->nr_unswept > set->nr_dirs)
		set->nr_unswept = set->nr_dirs;
	while (set->nr_unswept) {
		struct known *dir = &set->dirs[--set->nr_unswept];

		if (dir->walk != set->walk && !is_late_user(set, dir->uid)) {
			forget(set, dir);
			return true;
		}
	}
	return false;
}

/* ---- walks ---- */

static void miss(struct cgroup_watch *set)
{
	if (++set->nr_missed_now > set->nr_missed)
		set->nr_missed = set->nr_missed_now;
	set->is_incomplete = true;
}

/*
 * Something in a directory of @uid's cannot be looked at now. Who holds it is not known, so
 * nobody's are forgotten for that.
 */
static void put_off(struct cgroup_watch *set, uint32_t uid)
{
	set->is_incomplete = set->has_late = true;
	if (!uid || set->nr_late_users == MAX_LATE_USERS)
		set->is_cut = true;
	else if (!is_late_user(set, uid))
		set->late_users[set->nr_late_users++] = uid;
}

/*
 * The current directory, in one of @uid's. One that has gone is not missed. @rc  why: -errno
 */
static void cannot_read(struct cgroup_watch *set, const struct cgroup_mount *mount,
			uint32_t uid, int rc)
{
	if (rc == -ENOENT)
		return;
	log_debug("cgroup %s%s cannot be read: %s, skipping", mount->path, set->path,
		  strerror(-rc));
	/*
	 * Who closes a cgroup of his own, or nests many, shall not keep all others from being
	 * forgotten.
	 */
	if (cgroup_folder_is_late(rc))
		put_off(set, uid); /* the opener counts it */
	else if (uid || rc == -EACCES || rc == -ENAMETOOLONG)
		miss(set);
	else
		set->is_cut = set->is_incomplete = true;
}

/* Watches the current directory, @dir, open as @fd. Return: @dir, which may have moved. */
static struct known *watch(struct cgroup_watch *set, struct known *dir, int fd)
{
	const uint32_t mask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
			      IN_ONLYDIR;
	const struct cgroup_mount *mount = dir->mount;
	struct tenant who = tenant_of(dir->uid);
	bool is_full = set->nr_watched >= set->watches.max;
	struct known *before;
	char link[64];
	int wd = -1;

	if (!quota_take(&set->watches, who, 1))
		return dir;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!is_full)
		wd = inotify_add_watch(set->inotify_fd, link, mask);
	before = wd < 0 ? NULL : find_wd(set, wd);
	if (before) {
		/* The directory was renamed, and the event was lost. */
		forget(set, before);
		dir = find_here(set, mount);
		wd = inotify_add_watch(set->inotify_fd, link, mask);
	}
	if (wd >= 0 &&
	    !hashmap_add(&set->by_wd, hash_wd(wd), (uint32_t)(dir - set->dirs))) {
		dir->wd = wd;
		set->nr_watched++;
		return dir;
	}
	if (wd >= 0)
		inotify_rm_watch(set->inotify_fd, wd);
	/* One that its user has closed to others cannot be watched. */
	if (wd >= 0 || is_full || errno == ENOSPC || errno == ENOMEM)
		quota_refuse_full(&set->watches, who, 1);
	quota_give(&set->watches, who, 1);
	return dir;
}

static unsigned int depth_of(const char *path)
{
	unsigned int depth = 0;

	for (const char *c = path; *c; c++)
		depth += *c == '/' && c[1];
	return depth;
}

/*
 * Those in the current directory, @dir, open as @fd, may match. Watches it before it is read,
 * so that events report those created meanwhile.
 */
static void follow(struct cgroup_watch *set, struct known *dir, int fd)
{
	struct stat st;

	if (dir->wd < 0) {
		dir = watch(set, dir, fd);
		if (dir->wd < 0)
			miss(set);
	}
	/* Each subdirectory adds a link (kernfs). */
	if (fstat(fd, &st) || st.st_nlink == 2)
		return;
	if (depth_of(dir->path) < CGROUP_SET_MAX_DEPTH)
		set_pending(set, dir, true);
	else if (st.st_nlink > 2)
		miss(set);
}

/* Reports the mask of @dir, if it has one or had one. */
static void tell(struct cgroup_watch *set, struct known *dir, uint32_t mask)
{
	struct tenant who = tenant_of(dir->uid);
	bool is_new = mask && !dir->has_rule;
	bool had_mask = dir->mask;

	dir->mask = mask;
	if (!mask && !had_mask)
		return;
	if (is_new && !quota_take(&set->rules, who, 1)) {
		miss(set);
		return;
	}
	if (set->handlers.change(set->handlers.ctx, dir->mount, dir->id, mask)) {
		if (!mask && dir->has_rule)
			quota_give(&set->rules, who, 1);
		dir->has_rule = mask;
		return;
	}
	miss(set);
	if (!is_new)
		return;
	quota_refuse_full(&set->rules, who, 1);
	quota_give(&set->rules, who, 1);
}

static int top_of(const struct cgroup_watch *set, const struct cgroup_mount *mount)
{
	return set->tops[mount - set->mounts->at];
}

/*
 * Whose is the current directory? One above may have got its owner after it was looked at.
 * Return: false: it is not known now.
 */
static bool find_owner(const struct cgroup_watch *set, const struct above *above,
		       const struct look_facts *facts, uint32_t *ret)
{
	*ret = above->uid;
	if (above->uid || !facts->uid)
		return true;
	if (!cgroup_folder_user(top_of(set, above->mount), set->path, ret))
		return false;
	if (!*ret)
		*ret = facts->uid;
	return true;
}

/* May another one in a directory of @uid's be known? No: counted. */
static bool has_place(struct cgroup_watch *set, uint32_t uid)
{
	if (!quota_take(&set->places, tenant_of(uid), 1))
		return false;
	quota_give(&set->places, tenant_of(uid), 1);
	return true;
}

/* Looks at the current directory. */
static void visit(struct cgroup_watch *set, const struct above *above)
{
	const struct cgroup_mount *mount = above->mount;
	struct known *dir = find_here(set, mount);
	_cleanup_close_ int fd = -1;
	struct look_facts facts = {0};
	uint32_t mask, owner;
	bool descend = true, is_unknown;

	mask = set->handlers.match(set->handlers.ctx, mount, set->path, &descend);
	is_unknown = mask & CGROUP_WATCH_UNKNOWN;
	if (is_unknown) {
		put_off(set, above->uid);
		mask |= dir ? dir->mask : 0;
	}
	mask &= ~(above->mask | CGROUP_WATCH_UNKNOWN);
	if (!descend && !mask) {
		if (dir)
			forget_tree(set, mount);
		return;
	}
	/* Without opening it, as there may be any number of them. */
	if (!dir && !has_place(set, above->uid)) {
		miss(set);
		return;
	}
	fd = cgroup_folder_open(top_of(set, mount), set->path, above->uid, &facts);
	if (fd < 0) {
		cannot_read(set, mount, above->uid, fd);
		return;
	}
	/* Another cgroup has this name now. */
	if (dir && dir->id != facts.inode) {
		forget_tree(set, mount);
		dir = NULL;
		if (is_unknown) /* the mask is that of the other one */
			return;
	}
	/*
	 * Without an entry its removal could not be reported, so do not report it. Those
	 * below it would have none either.
	 */
	if (!dir && !find_owner(set, above, &facts, &owner)) {
		put_off(set, above->uid);
		return;
	}
	if (!dir)
		dir = add_entry(set, mount, facts.inode, owner);
	if (!dir) {
		miss(set);
		return;
	}
	dir->above = above->mask;
	dir->walk = set->walk;
	tell(set, dir, mask);
	if (descend)
		follow(set, dir, fd);
}

/* There must be one. */
static struct known *next_pending(struct cgroup_watch *set, enum kind kind)
{
	for (;;) {
		struct known *dir;

		if (set->cursor >= set->nr_dirs)
			set->cursor = 0;
		dir = &set->dirs[set->cursor++];
		if (dir->is_pending && kind_of(dir) == kind)
			return dir;
	}
}

/* Begins to read a pending directory. */
static void begin_reading(struct cgroup_watch *set, struct dir_reader *reader,
			  enum kind kind)
{
	struct known *dir = next_pending(set, kind);
	int rc;

	set_pending(set, dir, false);
	reader->above = (struct above){
		.mount = dir->mount, .mask = dir->above | dir->mask, .uid = dir->uid};
	strcpy(reader->path, dir->path);
	strcpy(set->path, dir->path);
	rc = cgroup_folder_list(top_of(set, dir->mount), set->path, dir->uid, dir->id,
				&reader->names);
	reader->next = reader->names;
	if (rc == -EFBIG) {
		miss(set);
		set->is_cut |= !dir->uid;
	} else if (rc == -ESTALE) { /* its event or the next walk tells of it */
		set->is_incomplete = true;
	} else if (rc) {
		cannot_read(set, dir->mount, dir->uid, rc);
	}
}

/* Sets the current path to @name in @parent. Return: false if it does not fit. */
static bool go_to(struct cgroup_watch *set, const char *parent, const char *name)
{
	int len = snprintf(set->path, sizeof(set->path), "%s/%s",
			   strcmp(parent, "/") ? parent : "", name);

	return len >= 0 && (size_t)len < sizeof(set->path);
}

/* Is there a directory whose children have not been looked at? */
static bool has_more(const struct cgroup_watch *set, enum kind kind)
{
	return set->readers[kind].names || set->nr_pending[kind];
}

/* Opens one of them, or looks at one child. */
static void step(struct cgroup_watch *set)
{
	enum kind kind = has_more(set, OF_ROOT) ? OF_ROOT : OF_USERS;
	struct dir_reader *reader = &set->readers[kind];

	if (!reader->names) {
		begin_reading(set, reader, kind);
	} else if (!reader->next || !*reader->next) {
		free(take_ptr(reader->names));
	} else if (go_to(set, reader->path, strsep(&reader->next, "\n"))) {
		visit(set, &reader->above);
	}
}

static void begin_walk(struct cgroup_watch *set)
{
	set->is_incomplete = set->is_asked = set->is_cut = set->has_late = false;
	set->is_walking = true;
	set->nr_missed_now = set->walk_took_ns = set->nr_late_users = 0;
	set->nr_unswept = SIZE_MAX;
	quota_begin_round(&set->places);
	quota_begin_round(&set->watches);
	quota_begin_round(&set->rules);
	set->walk++;
	for (size_t i = 0; i < set->mounts->nr; i++) {
		const struct above top = {.mount = &set->mounts->at[i]};

		if (!set->is_added[i])
			continue;
		strcpy(set->path, "/");
		visit(set, &top);
	}
}

/* Return: false: nothing is left. */
static bool do_next(struct cgroup_watch *set)
{
	if (has_more(set, OF_ROOT) || has_more(set, OF_USERS)) {
		step(set);
		return true;
	}
	return set->is_walking && !set->is_cut && sweep_one(set);
}

/* Goes on until @until_ns, by at least one step. */
static void go_on(struct cgroup_watch *set, uint64_t until_ns)
{
	uint64_t begin_ns = clock_now_ns(), now_ns = begin_ns;
	bool has_next;

	do {
		has_next = do_next(set);
		now_ns = clock_now_ns();
	} while (has_next && now_ns < until_ns);
	if (!set->is_walking)
		return;
	set->walked_ns = now_ns;
	set->walk_took_ns += now_ns - begin_ns;
	set->is_walking = has_next;
}

void cgroup_watch_add(struct cgroup_watch *set, const struct cgroup_mount *mount)
{
	size_t i = (size_t)(mount - set->mounts->at);

	if (set->is_added[i])
		return;
	set->is_added[i] = true;
	set->tops[i] = open(mount->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (set->tops[i] < 0)
		set->tops[i] = -errno;
}

bool cgroup_watch_walk(struct cgroup_watch *set, uint64_t time_ns)
{
	uint64_t begin_ns = clock_now_ns();

	begin_walk(set);
	go_on(set, begin_ns + time_ns);
	return !set->is_walking;
}

/* ---- events ---- */

static void appeared(struct cgroup_watch *set, const struct known *parent,
		     const char *name)
{
	const struct above above = {.mount = parent->mount,
				    .mask = parent->above | parent->mask,
				    .uid = parent->uid};

	if (go_to(set, parent->path, name))
		visit(set, &above);
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

	if (!go_to(set, parent->path, name))
		return;
	if (with_all_below) {
		/* Directories that are being read may have another path now. */
		set->is_incomplete |= set->readers[OF_ROOT].names ||
				      set->readers[OF_USERS].names;
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

static bool next_event(struct cgroup_watch *set, const struct inotify_event **ret)
{
	ssize_t len;

	if (set->events_at == set->events_len) {
		len = read(set->inotify_fd, set->events, sizeof(set->events));
		if (len <= 0)
			return false;
		set->events_at = 0;
		set->events_len = (size_t)len;
	}
	*ret = (const void *)(set->events + set->events_at);
	set->events_at += sizeof(**ret) + (*ret)->len;
	return true;
}

void cgroup_watch_look(struct cgroup_watch *set, uint64_t now_ns)
{
	uint64_t begin_ns = clock_now_ns();
	const struct inotify_event *ev;

	/* Endless creation of cgroups must not block us here. */
	while (next_event(set, &ev)) {
		on_event(set, ev);
		if (clock_now_ns() >= begin_ns + LOOK_NS / 2)
			break;
	}
	if (!set->is_walking &&
	    now_ns >= set->walked_ns + WALK_SHARE * set->walk_took_ns &&
	    (set->is_asked ||
	     (set->is_incomplete && now_ns >= set->walked_ns + WALK_AGAIN_NS)))
		begin_walk(set);
	go_on(set, begin_ns + LOOK_NS);
}

bool cgroup_watch_has_late(const struct cgroup_watch *set)
{
	return set->has_late;
}

bool cgroup_watch_is_busy(const struct cgroup_watch *set)
{
	return set->is_walking || set->events_at < set->events_len ||
	       has_more(set, OF_ROOT) || has_more(set, OF_USERS);
}

void cgroup_watch_walk_again(struct cgroup_watch *set)
{
	set->is_asked = true;
}

uint64_t cgroup_watch_nr_missed(const struct cgroup_watch *set)
{
	return set->nr_missed;
}

void cgroup_watch_each_refused(struct cgroup_watch *set, quota_refused_fn fn, void *ctx)
{
	quota_each_refused(&set->places, fn, ctx);
	quota_each_refused(&set->watches, fn, ctx);
	quota_each_refused(&set->rules, fn, ctx);
}
