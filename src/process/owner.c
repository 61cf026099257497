// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "opener/opener.h"
#include "process/cgroup.h"
#include "process/cgroup_folder.h"
#include "process/cgroup_mount.h"
#include "process/container_name.h"

/* Most ancestors searched for a process that is gone. */
#define MAX_ANCESTORS 8
#define MAX_CGROUPS   65536
#define MAX_GONE      4096 /* a power of two */

/* A cgroup that samples were in. */
struct sampled_cgroup {
	uint64_t id;
	struct tenant payer; /* its folder's owner */
	uint64_t used_ns; /* time of the last sample with this id */
	struct process_owner owner; /* exe NULL */
};

struct process_owners {
	struct container_names *containers;
	bool has_late; /* some owner is */
	char *v2; /* path of its mount; heap */
	int v2_fd; /* -1: cgroup ids cannot be resolved */
	struct sampled_cgroup **cgroups; /* separate allocations: rows point at them */
	size_t nr_cgroups, cap_cgroups, max_cgroups;
	struct quota quota; /* of max_cgroups */
	struct hashmap by_id;
	/*
	 * Ids that were not found, each at the place of its hash; 0: none. To look for
	 * one is a request to the opener, and each of the rows of short units has its id.
	 */
	uint64_t gone[MAX_GONE];
	bool has_late_id; /* some of these were late: all are forgotten at the next refresh */
};

struct container_names *owner_container_names(int proc_fd)
{
	int roots[2] = {open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
			proc_root_of_first(proc_fd)};
	struct stat ours, theirs;

	if (roots[0] >= 0 && roots[1] >= 0 && !fstat(roots[0], &ours) &&
	    !fstat(roots[1], &theirs) && ours.st_dev == theirs.st_dev &&
	    ours.st_ino == theirs.st_ino) {
		close(roots[1]);
		roots[1] = -1;
	}
	return container_names_new(roots, ARRAY_SIZE(roots));
}

/*
 * Return: whether kernfs file handles hold the 64-bit inode number, which LOOK_CGROUP_PATH
 * needs (kernel: fs/kernfs/mount.c, since 5.5).
 */
static bool has_numbers(int v2_fd)
{
	union {
		struct file_handle head;
		char bytes[sizeof(struct file_handle) + sizeof(uint64_t)];
	} h = {.head.handle_bytes = sizeof(uint64_t)};
	struct stat st;
	uint64_t id;
	int mount_id;

	if (name_to_handle_at(v2_fd, "", &h.head, &mount_id, AT_EMPTY_PATH) ||
	    h.head.handle_bytes != sizeof(id) || fstat(v2_fd, &st))
		return false;
	memcpy(&id, h.bytes + sizeof(struct file_handle), sizeof(id));
	return id == st.st_ino;
}

struct process_owners *process_owners_new(int proc_fd, const char *v2, size_t max_cgroups)
{
	struct process_owners *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->v2_fd = -1;
	o->max_cgroups = max_cgroups ? max_cgroups : MAX_CGROUPS;
	o->containers = owner_container_names(proc_fd);
	if (!o->containers) {
		free(o);
		return NULL;
	}
	o->v2 = v2 ? strdup(v2) : NULL;
	if (o->v2)
		o->v2_fd = open(o->v2, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->v2_fd >= 0 && !has_numbers(o->v2_fd))
		close(take_fd(&o->v2_fd));
	return o;
}

void process_owners_free(struct process_owners *o)
{
	if (!o)
		return;
	container_names_free(o->containers);
	cleanup_closep(&o->v2_fd);
	for (size_t i = 0; i < o->nr_cgroups; i++)
		free(o->cgroups[i]);
	free(o->cgroups);
	free(o->v2);
	hashmap_deinit(&o->by_id);
	quota_deinit(&o->quota);
	free(o);
}

void process_owners_share(struct process_owners *o)
{
	o->quota = (struct quota){
		.what = "cgroups of samples",
		.loss = "samples in them count for the cgroup of their process",
		.max = o->max_cgroups};
}

struct quota *process_owners_quota(struct process_owners *o)
{
	return &o->quota;
}

/* ---- the owner of a cgroup ---- */

/* LXC and nspawn have names, not ids: no look-up needed. */
static const char *container_name(struct process_table *t,
				  const struct cgroup_owner *found)
{
	bool is_name = found->runtime == CONTAINER_LXC ||
		       found->runtime == CONTAINER_NSPAWN;

	return strpool_add(t->pool, is_name ? found->container
					    : container_names_find(t->owners->containers,
								   found->container,
								   clock_now_ns()));
}

/*
 * Fills all of @owner but exe. @path  below the root of the hierarchy, which is 0 for
 * v2. @uid  of a process in it
 */
static void fill_by_cgroup(struct process_table *t, uint32_t hierarchy, uid_t uid,
			   const char *path, size_t len, struct process_owner *owner)
{
	struct cgroup_owner found;

	cgroup_owner_at(cgroup_place(&t->places, hierarchy), uid, path, len, &found);
	owner->hierarchy = hierarchy;
	owner->by_v2 = !hierarchy;
	owner->is_late = found.is_late;
	t->owners->has_late |= found.is_late;
	owner->cgroup = strpool_add_n(t->pool, path, len);
	owner->container = strpool_add(t->pool, found.container);
	owner->runtime = strpool_add(t->pool, container_runtime_name(found.runtime));
	owner->pod = strpool_add(t->pool, found.pod);
	owner->unit = strpool_add(t->pool, found.unit);
	owner->container_name = container_name(t, &found);
}

/* ---- the owner of an image ---- */

/* @cgroup  was read between @from_ns and @until_ns */
static bool fill_cgroup(struct process_table *t, struct image *img,
			const struct look *cgroup, uint64_t from_ns, uint64_t until_ns)
{
	uint32_t hierarchy;
	size_t len;
	const char *path = proc_dir_cgroup_path(cgroup, &len, &hierarchy);

	if (!path)
		return false;
	fill_by_cgroup(t, hierarchy, img->proc.uid, path, len, &img->proc.owner);
	img->owner_ns = from_ns;
	img->owner_until_ns = until_ns;
	img->owner_cgroups = 0;
	return true;
}

static bool read_cgroup(struct process_table *t, struct image *img, int proc_dir)
{
	_cleanup_(look_deinit) struct look cgroup;
	uint64_t from_ns = clock_now_ns();

	proc_dir_look_at_cgroup(proc_dir, &cgroup);
	return fill_cgroup(t, img, &cgroup, from_ns, clock_now_ns());
}

/*
 * Returns the length of the prefix to remove from a path. The kernel shows paths
 * relative to our root: for a process in a chroot they begin with its root, for one in
 * its own mount namespace they do not.
 */
static size_t without_root(const struct look *root, const char *path, size_t len)
{
	if (!root->rc && root->len > 1 && root->len < len &&
	    !memcmp(path, root->text, root->len) && path[root->len] == '/')
		return root->len;
	return 0;
}

static void fill_exe(struct process_table *t, struct image *img,
		     const struct proc_view *view)
{
	const struct look *exe = &view->exe;
	size_t len, skip;

	if (exe->rc || !exe->len)
		return;
	len = maps_text_without_deleted(exe->text, exe->len);
	skip = without_root(&view->root_path, exe->text, len);
	img->proc.owner.exe = strpool_add_n(t->pool, exe->text + skip, len - skip);
}

/*
 * Returns the first mapped file: exec maps the executable before its libraries, at a
 * lower address.
 */
static const char *exe_by_maps(const struct maps *maps)
{
	for (size_t i = 0; i < maps->nr; i++)
		if (maps->items[i].kind == MAPPING_FILE)
			return maps->items[i].path;
	return NULL;
}

/* Reads the owner, unless it is gone or was read after @since_ns. */
static bool read_owner(struct process_table *t, struct image *img, uint64_t since_ns)
{
	_cleanup_close_ int dir = -1;

	if (img->owner_ns >= since_ns)
		return true;
	if (!img->gone_ns)
		dir = image_open_dir(t, img);
	return dir >= 0 && read_cgroup(t, img, dir);
}

/*
 * Finds the nearest known owner: of the process, its parent, and so on. The owner that
 * the parent has had since the fork takes precedence over the owner inherited at the
 * fork, because the parent may have moved to another cgroup before the fork; owners of
 * more distant ancestors do not.
 */
static const struct image *nearest_known(struct process_table *t, struct image *img)
{
	int max = img->proc.owner.cgroup ? 2 : MAX_ANCESTORS;
	uint64_t since_ns = UINT64_MAX;
	struct image *from = img;

	for (int i = 0; from && i < max; i++) {
		if (read_owner(t, from, since_ns) || (i && from->proc.owner.cgroup))
			return from;
		since_ns = from->fork_ns ? from->fork_ns : UINT64_MAX;
		from = from->ppid ? image_at(t, from->ppid, from->fork_ns) : NULL;
	}
	return img;
}

/*
 * A program that starts a thousand commands a second is not read for each of them, but
 * after the last one of a drain: then it was read since all of their forks. Until then,
 * and if it is gone by then, they have the owner that it had before.
 */
static bool can_wait(struct process_table *t, const struct image *img)
{
	const struct image *parent = img->ppid ? image_at(t, img->ppid, img->fork_ns)
					       : NULL;

	return parent && img->gone_ns && img->proc.owner.cgroup && parent->owner_ns &&
	       parent->owner_ns < img->fork_ns;
}

static void take_over(struct image *img, const struct image *from)
{
	const char *exe = img->proc.owner.exe;

	img->proc.owner = from->proc.owner;
	img->proc.owner.exe = exe;
	img->owner_cgroups = 0;
}

/*
 * A program that starts short commands is in the same cgroups as they, so it is read for the
 * first one, and they need not be read. The cgroup of the command is not used for its parent,
 * because the command may have been moved since it was told of.
 */
static void read_parent(struct process_table *t, const struct image *img)
{
	struct image *parent = image_parent_beside(t, &img->told, img->told_ns);

	if (parent && parent != img)
		read_owner(t, parent, parent->cgroups_ns);
}

bool owner_fill_told(struct process_table *t, struct image *img)
{
	const struct image *parent;

	if (img->owner_cgroups && img->owner_cgroups == img->told.cgroups)
		return true;
	parent = image_told_owner(t, &img->told, img->told_ns);
	if (!parent)
		return false;
	take_over(img, parent);
	img->owner_ns = img->owner_until_ns = img->told_ns;
	img->owner_cgroups = parent->owner_cgroups;
	img->owner_cgroups_ns = parent->owner_cgroups_ns;
	return true;
}

void owner_fill_late(struct process_table *t, struct image *img)
{
	img->owner_waits = false;
	take_over(img, nearest_known(t, img));
}

void owner_fill(struct process_table *t, struct image *img)
{
	struct process_owner *owner = &img->proc.owner;
	const char *none = strpool_add(t->pool, ""), *exe = image_exe_by_exec(t, img);
	const struct proc_view *view = t->viewed == img ? &t->view : NULL;

	if (exe)
		owner->exe = exe;
	else if (view)
		fill_exe(t, img, view);
	if (view && fill_cgroup(t, img, &view->cgroup, view->from_ns, view->until_ns)) {
		read_parent(t, img);
	} else if (!owner_fill_told(t, img)) {
		img->owner_waits = can_wait(t, img);
		if (!img->owner_waits)
			take_over(img, nearest_known(t, img));
	}
	if (!owner->exe)
		owner->exe = exe_by_maps(&img->proc.maps);
	if (!owner->exe)
		owner->exe = none;
	if (!owner->cgroup)
		owner->cgroup = owner->container = owner->container_name =
			owner->runtime = owner->pod = owner->unit = none;
}

/* ---- owners by cgroup id ---- */

/*
 * Finds the path below the mount, "/a/b" or "/", terminated. Return: 0, or -errno: it is gone
 * (-ESTALE), not accessible, or late (cgroup_folder_is_late()).
 */
static int find_path(const struct process_owners *o, uint64_t id, char *path, size_t size)
{
	_cleanup_(look_deinit) struct look look = {
		.where = LOOK_BELOW, .what = LOOK_CGROUP_PATH, .fd = -1};
	size_t skip = strlen(o->v2), len;
	char number[24];
	int rc;

	snprintf(number, sizeof(number), "%" PRIu64, id);
	look.name = number;
	rc = opener_look_at(o->v2_fd, TENANT_OF_FOLDERS(TENANT_UNKNOWN_UID), &look);
	if (rc)
		return rc;
	len = maps_text_without_deleted(look.text, look.len);
	if (len < skip || memcmp(look.text, o->v2, skip) || len - skip + 1 >= size ||
	    (len > skip && look.text[skip] != '/'))
		return -ENOENT;
	snprintf(path, size, "%.*s", (int)(len - skip), look.text + skip);
	if (len == skip)
		strcpy(path, "/");
	return 0;
}

/* Return: 0; -ENOENT: no place is left for it, or for its user; or as find_path(). */
static int keep_cgroup(struct process_owners *o, struct sampled_cgroup *known)
{
	if (!quota_take(&o->quota, known->payer, 1))
		return -ENOENT;
	if (!vec_grow(&o->cgroups, &o->cap_cgroups, o->nr_cgroups + 1,
		      sizeof(*o->cgroups), o->max_cgroups) &&
	    !hashmap_add(&o->by_id, hash_u64(0, known->id), (uint32_t)o->nr_cgroups)) {
		o->cgroups[o->nr_cgroups++] = known;
		return 0;
	}
	quota_refuse_full(&o->quota, known->payer, 1);
	quota_give(&o->quota, known->payer, 1);
	return -ENOENT;
}

static int add_cgroup(struct process_table *t, uint64_t id, struct sampled_cgroup **ret)
{
	_cleanup_free_ struct sampled_cgroup *known = calloc(1, sizeof(*known));
	struct process_owners *o = t->owners;
	char path[PATH_MAX];
	int rc = known ? find_path(o, id, path, sizeof(path)) : -ENOMEM;

	if (rc)
		return rc;
	known->id = id;
	if (!cgroup_folder_user(o->v2_fd, path, &known->payer.uid))
		return -EBUSY;
	strpool_serve(t->pool, known->payer);
	fill_by_cgroup(t, 0, CGROUP_NO_UID, path, strlen(path), &known->owner);
	strpool_serve(t->pool, (struct tenant){0});
	rc = known->owner.is_late ? -EBUSY : keep_cgroup(o, known);
	*ret = rc ? NULL : take_ptr(known);
	return rc;
}

static bool is_id(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct process_owners *)ctx)->cgroups[item]->id ==
	       *(const uint64_t *)key;
}

const struct process_owner *process_owners_find(struct process_table *t,
						uint64_t cgroup_id, uint64_t time_ns)
{
	struct process_owners *o = t->owners;
	uint64_t hash = hash_u64(0, cgroup_id), *gone = &o->gone[hash % MAX_GONE];
	struct sampled_cgroup *known = NULL;
	uint32_t item;
	int rc = 0;

	if (o->v2_fd < 0 || !cgroup_id || *gone == cgroup_id)
		return NULL;
	item = hashmap_get(&o->by_id, hash, is_id, &cgroup_id, o);
	if (item == HASHMAP_NONE)
		rc = add_cgroup(t, cgroup_id, &known);
	else
		known = o->cgroups[item];
	if (!known) {
		*gone = cgroup_id;
		o->has_late_id |= cgroup_folder_is_late(rc);
		return NULL;
	}
	if (known->used_ns < time_ns)
		known->used_ns = time_ns;
	return &known->owner;
}

void process_owners_forget(struct process_owners *o, uint64_t before_ns)
{
	size_t nr = 0;

	memset(o->gone, 0, sizeof(o->gone));
	for (size_t i = 0; i < o->nr_cgroups; i++) {
		struct sampled_cgroup *known = o->cgroups[i];
		uint64_t hash = hash_u64(0, known->id);

		hashmap_remove(&o->by_id, hash, (uint32_t)i);
		if (known->used_ns < before_ns) {
			quota_give(&o->quota, known->payer, 1);
			free(known);
			continue;
		}
		/*
		 * Out of memory: the id is looked up again; this entry stays, as rows
		 * may point at it.
		 */
		hashmap_add(&o->by_id, hash, (uint32_t)nr);
		o->cgroups[nr++] = known;
	}
	o->nr_cgroups = nr;
}

/* ---- all ---- */

static void refresh(struct process_table *t, struct process_owner *owner, uint64_t now_ns)
{
	if (owner->container && !*owner->container_name)
		owner->container_name = strpool_add(
			t->pool, container_names_find(t->owners->containers,
						      owner->container, now_ns));
}

/* Return: false: it is late still. */
static bool fill_again(struct process_table *t, struct image *img)
{
	struct process_owner *owner = &img->proc.owner, next = *owner;

	if (!owner->is_late)
		return true;
	strpool_serve(t->pool, img->proc.tenant);
	fill_by_cgroup(t, owner->hierarchy, img->proc.uid, owner->cgroup,
		       strlen(owner->cgroup), &next);
	if (!next.is_late) {
		*owner = next;
		image_find_tenant(t, img, NULL);
	}
	strpool_serve(t->pool, (struct tenant){0});
	return !next.is_late;
}

/* If one is late, so are all: they are on one account. */
static void refresh_late(struct process_table *t)
{
	struct process_owners *o = t->owners;
	bool has_late = o->has_late;

	if (o->has_late_id)
		memset(o->gone, 0, sizeof(o->gone));
	o->has_late = o->has_late_id = false;
	for (size_t i = 0; has_late && i < t->nr_ids; i++)
		if (t->images[i] && !fill_again(t, t->images[i]))
			return;
}

void process_owners_refresh(struct process_table *t, uint64_t now_ns)
{
	refresh_late(t);
	if (!container_names_retry(t->owners->containers, now_ns))
		return;
	for (size_t i = 0; i < t->nr_ids; i++)
		if (t->images[i])
			refresh(t, &t->images[i]->proc.owner, now_ns);
	for (size_t i = 0; i < t->owners->nr_cgroups; i++)
		refresh(t, &t->owners->cgroups[i]->owner, now_ns);
}

void owner_set_pool(struct process_owner *owner, struct strpool *pool)
{
	const char **names[] = {
		&owner->cgroup,  &owner->container, &owner->container_name,
		&owner->runtime, &owner->pod,       &owner->unit,
		&owner->exe,
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (*names[i])
			*names[i] = strpool_move(pool, *names[i]);
}

void process_owners_set_pool(struct process_owners *o, struct strpool *pool)
{
	for (size_t i = 0; i < o->nr_cgroups; i++) {
		strpool_serve(pool, o->cgroups[i]->payer);
		owner_set_pool(&o->cgroups[i]->owner, pool);
	}
}
