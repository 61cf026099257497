// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "opener/opener.h"
#include "process/tenant.h"

/* The kernel reports a fork at most this long after the child's start time. */
#define FORK_EVENT_SLACK_NS 1000000000ull

uint64_t boottime_to_monotonic(uint64_t boottime_ns)
{
	uint64_t monotonic_ns = clock_now_ns();
	/* Read after monotonic_ns, so the difference is never too small. */
	uint64_t offset_ns = clock_boot_ns() - monotonic_ns;

	return boottime_ns > offset_ns ? boottime_ns - offset_ns : 0;
}

void image_free(struct process_table *t, struct image *img)
{
	if (!img)
		return;
	image_forget_dir(t, img);
	t->nr_maps_dropped += img->nr_maps_dropped + img->proc.maps.nr_dropped;
	t->nr_mappings -= img->proc.maps.nr;
	quota_give(&t->mapping_quota, img->payer, img->proc.maps.nr);
	quota_give(&t->image_quota, img->payer, 1);
	maps_deinit(&img->proc.maps);
	jit_file_deinit(&img->proc.perf_map, &t->budget);
	jit_file_deinit(&img->proc.jitdump, &t->budget);
	t->nr_jit_lost += img->proc.jit_code.nr_lost;
	t->nr_jit_foreign += img->proc.jit_code.nr_foreign;
	jit_code_deinit(&img->proc.jit_code, t->jit_store);
	t->nr_interp_codes_lost += img->proc.interp_codes.nr_lost;
	interp_codes_deinit(&img->proc.interp_codes);
	replaced_code_deinit(&img->proc.replaced_code);
	roots_put(t->roots, img->root);
	free(img);
}

static bool tgid_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct process_table *t = ctx;

	return t->images[item]->proc.tgid == *(const uint32_t *)key;
}

struct image *image_newest(struct process_table *t, uint32_t tgid)
{
	return image_of(t,
			hashmap_get(&t->by_tgid, hash_u64(0, tgid), tgid_eq, &tgid, t));
}

static int take_id(struct process_table *t, struct tenant who, uint32_t *ret)
{
	if (!quota_take(&t->image_quota, who, 1))
		return -ENOSPC;
	if (t->nr_free) {
		*ret = t->free_ids[--t->nr_free];
		return 0;
	}
	if (vec_grow(&t->images, &t->cap_ids, t->nr_ids + 1, sizeof(*t->images),
		     t->max_images) ||
	    vec_grow(&t->free_ids, &t->cap_free, t->nr_ids + 1, sizeof(*t->free_ids),
		     0) ||
	    vec_grow(&t->active, &t->cap_active, t->nr_ids + 1, sizeof(*t->active), 0)) {
		quota_give(&t->image_quota, who, 1);
		return -ENOSPC;
	}
	*ret = (uint32_t)t->nr_ids++;
	return 0;
}

struct image *image_new(struct process_table *t, uint32_t tgid, uint64_t from_ns,
			struct tenant who)
{
	struct image *older = image_newest(t, tgid);
	struct image *img = calloc(1, sizeof(*img));
	uint32_t id;

	if (!img || take_id(t, who, &id)) {
		free(img);
		t->nr_dropped++;
		return NULL;
	}
	if (older)
		hashmap_remove(&t->by_tgid, hash_u64(0, tgid), older->proc.id);
	if (hashmap_add(&t->by_tgid, hash_u64(0, tgid), id)) {
		/* Fails only without @older: removing that freed a slot. */
		t->free_ids[t->nr_free++] = id;
		quota_give(&t->image_quota, who, 1);
		free(img);
		t->nr_dropped++;
		return NULL;
	}
	*img = (struct image){.older = older ? older->proc.id : IMAGE_NONE,
			      .is_newest = true,
			      .lost_seq = t->lost_seq,
			      .payer = who,
			      .proc_dir = -1,
			      .proc = {.tgid = tgid,
				       .from_ns = from_ns,
				       .until_ns = UINT64_MAX,
				       .uid = (uid_t)-1,
				       .gid = (gid_t)-1,
				       .real_uid = (uid_t)-1,
				       .root_uid = (uid_t)-1,
				       .root_fd = -1,
				       .tenant = who,
				       .id = id}};
	jit_file_init(&img->proc.perf_map);
	jit_file_init(&img->proc.jitdump);
	if (older)
		older->is_newest = false;
	t->images[id] = img;
	return img;
}

void image_activate(struct process_table *t, struct image *img)
{
	if (img->is_active)
		return;
	img->is_active = true;
	t->active[t->nr_active++] = img->proc.id; /* take_id() made room for every id */
}

void image_deactivate(struct process_table *t, struct image *img)
{
	size_t i = 0;

	if (!img->is_active)
		return;
	while (t->active[i] != img->proc.id)
		i++;
	t->active[i] = t->active[--t->nr_active];
	img->is_active = false;
}

struct image *image_at(struct process_table *t, uint32_t tgid, uint64_t time_ns)
{
	struct image *img = image_newest(t, tgid);

	while (img && img->proc.from_ns > time_ns)
		img = image_of(t, img->older);
	return img;
}

static uint64_t identity_hash(const struct lb_image *id)
{
	return hash_u64(hash_u64(1, id->start_boottime_ns),
			(uint64_t)id->tgid << 32 | id->exec_id);
}

static bool identity_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct process *p =
		&((const struct process_table *)ctx)->images[item]->proc;
	const struct lb_image *id = key;

	return p->tgid == id->tgid && p->exec_id == id->exec_id &&
	       p->start_boottime_ns == id->start_boottime_ns;
}

struct image *image_identified(struct process_table *t, const struct lb_image *id)
{
	return image_of(
		t, hashmap_get(&t->by_identity, identity_hash(id), identity_eq, id, t));
}

void image_forget_identity(struct process_table *t, struct image *img)
{
	struct lb_image id = {img->proc.start_boottime_ns, img->proc.tgid,
			      img->proc.exec_id};

	if (img->proc.identified)
		hashmap_remove(&t->by_identity, identity_hash(&id), img->proc.id);
	img->proc.identified = false;
}

void image_identify(struct process_table *t, struct image *img, const struct lb_image *id)
{
	image_forget_identity(t, img);
	img->proc.start_boottime_ns = id->start_boottime_ns;
	img->start_known = true;
	img->proc.exec_id = id->exec_id;
	/* Out of memory for the index: it is still found by time. */
	img->proc.identified =
		!hashmap_add(&t->by_identity, identity_hash(id), img->proc.id);
}

bool image_start_fits(const struct image *img, uint64_t start_boottime_ns)
{
	uint64_t start_ns;

	if (img->proc.identified)
		return img->proc.start_boottime_ns == start_boottime_ns;
	if (img->start_known)
		return img->proc.start_boottime_ns / PROC_TICK_NS ==
		       start_boottime_ns / PROC_TICK_NS;
	if (!img->fork_ns)
		return true;
	start_ns = boottime_to_monotonic(start_boottime_ns);
	return start_ns < img->fork_ns + PROC_TICK_NS &&
	       img->fork_ns < start_ns + FORK_EVENT_SLACK_NS;
}

void image_end(struct image *img, uint64_t time_ns)
{
	if (img->proc.until_ns > time_ns)
		img->proc.until_ns = time_ns;
}

void image_forget(struct process_table *t, struct image *img)
{
	uint32_t id = img->proc.id;

	image_forget_identity(t, img);
	image_deactivate(t, img);
	image_free(t, img);
	t->images[id] = NULL;
	t->free_ids[t->nr_free++] = id; /* take_id() made room for every id */
}

/* Returns the image that has @img as its older one; NULL: none. */
static struct image *newer_of(struct process_table *t, const struct image *img)
{
	struct image *newer = img->is_newest ? NULL : image_newest(t, img->proc.tgid);

	while (newer && newer->older != img->proc.id)
		newer = image_of(t, newer->older);
	return newer;
}

/*
 * Also drops the images before it that were not sampled: further samples of @img would be
 * taken for theirs.
 */
static void drop(struct process_table *t, struct image *img)
{
	struct image *newer = newer_of(t, img), *older;
	uint64_t hash = hash_u64(0, img->proc.tgid);

	if (!newer)
		hashmap_remove(&t->by_tgid, hash, img->proc.id);
	do {
		older = image_of(t, img->older);
		image_forget(t, img);
		img = older;
	} while (img && !img->sampled_ns && !img->proc.exited);
	if (newer)
		newer->older = img ? img->proc.id : IMAGE_NONE;
	else if (img) /* cannot fail: a slot was just freed */
		hashmap_add(&t->by_tgid, hash, img->proc.id);
	if (!img)
		return;
	img->is_newest = !newer;
	img->is_expected = true;
}

static void note_refused(struct process_table *t, const struct process *p)
{
	const struct lb_image id = {p->start_boottime_ns, p->tgid, p->exec_id};
	uint64_t hash = identity_hash(&id);

	t->refused[hash % MAX_REFUSED] = hash;
}

bool image_was_refused(const struct process_table *t, const struct lb_image *id)
{
	uint64_t hash = identity_hash(id);

	return hash && t->refused[hash % MAX_REFUSED] == hash;
}

bool image_drop_refused(struct process_table *t, struct image *img)
{
	if (tenant_is_same(img->payer, img->proc.tenant))
		return false;
	note_refused(t, &img->proc);
	t->nr_dropped++;
	drop(t, img);
	return true;
}

static bool is_machines(const struct process_table *t, const struct root *root)
{
	const struct root_key *machines = &t->machines_root;

	return root && root->key.dev == machines->dev &&
	       root->key.inode == machines->inode &&
	       root->key.mount_id == machines->mount_id;
}

/* Takes the reference; @root may be NULL. */
static void set_root(struct process_table *t, struct image *img, struct root *root)
{
	if (root && img->proc.tgid == 1)
		t->machines_root = root->key;
	roots_put(t->roots, img->root);
	img->root = root;
	img->proc.root_fd = root ? root->fd : -1;
	img->proc.root_id = root ? root->id : 0;
	img->proc.has_machines_root = is_machines(t, root);
}

/* Has root started what forks or executes a program here? As far as is known. */
static bool is_roots(const struct image *from, bool is_exec)
{
	const struct process *p = &from->proc;

	return (image_is_new(from) || tenant_is_same(p->tenant, (struct tenant){0})) &&
	       (!p->uid || (is_exec && p->uid == (uid_t)-1)) && !p->real_uid;
}

void image_inherit(struct image *img, const struct image *from)
{
	if (is_roots(from, img->proc.tgid == from->proc.tgid))
		img->proc.real_uid = 0;
	img->proc.is_kernel_thread = from->proc.is_kernel_thread;
	img->proc.owner = from->proc.owner;
	memcpy(img->proc.comm, from->proc.comm, sizeof(img->proc.comm));
	if (img->proc.tgid != from->proc.tgid)
		return;
	img->proc.owner.exe = NULL;
	img->proc.ns_tgid = from->proc.ns_tgid;
	img->ppid = from->ppid;
}

static bool take_places(struct process_table *t, const struct image *img,
			struct tenant who)
{
	size_t nr_maps = img->proc.maps.nr;

	/* It stays. Nothing would limit what it maps, if root went on to pay. */
	if (img->is_kept && tenant_is_same(img->payer, (struct tenant){0})) {
		quota_add(&t->image_quota, who, 1);
		quota_add(&t->mapping_quota, who, nr_maps);
		return true;
	}
	if (!quota_take(&t->image_quota, who, 1))
		return false;
	if (quota_take(&t->mapping_quota, who, nr_maps))
		return true;
	quota_give(&t->image_quota, who, 1);
	return false;
}

/* Lets its tenant pay for the places that it has, unless they are more than its part. */
static void move_places(struct process_table *t, struct image *img)
{
	struct tenant who = img->proc.tenant;
	size_t nr_maps = img->proc.maps.nr;

	if (tenant_is_same(img->payer, who) || !take_places(t, img, who))
		return;
	quota_give(&t->image_quota, img->payer, 1);
	quota_give(&t->mapping_quota, img->payer, nr_maps);
	img->payer = who;
}

static void set_tenant(struct process_table *t, struct image *img, struct tenant who)
{
	struct process *p = &img->proc;

	if (tenant_is_same(p->tenant, who))
		return;
	p->tenant = who;
	move_places(t, img);
	interp_codes_charge(&p->interp_codes, who);
	jit_code_charge(&p->jit_code, t->jit_store, who);
}

struct tenant image_tenant(const struct process_table *t, const struct process *p,
			   const struct look *cgroup)
{
	if (t->is_shared)
		return tenant_find(&t->places, &t->uid_owners, p, cgroup);
	return p->uid == (uid_t)-1 ? p->tenant : (struct tenant){.uid = p->uid};
}

void image_find_tenant(struct process_table *t, struct image *img,
		       const struct look *cgroup)
{
	set_tenant(t, img, image_tenant(t, &img->proc, cgroup));
}

void image_count_maps(struct process_table *t, const struct image *img, size_t nr_before)
{
	size_t nr = img->proc.maps.nr;

	t->nr_mappings += nr - nr_before;
	if (nr >= nr_before)
		quota_add(&t->mapping_quota, img->payer, nr - nr_before);
	else
		quota_give(&t->mapping_quota, img->payer, nr_before - nr);
}

void image_add_mapping(struct process_table *t, struct image *img,
		       const struct mapping *m)
{
	size_t before = img->proc.maps.nr;

	if (t->nr_mappings >= t->max_mappings ||
	    !quota_take(&t->mapping_quota, img->payer, 1)) {
		img->nr_maps_dropped++;
		/* They are read with its first sample, when it is known who pays. */
		if (image_is_new(img))
			img->maps_known = false;
		return;
	}
	quota_give(&t->mapping_quota, img->payer, 1);
	maps_add(&img->proc.maps, m); /* counts what it refuses, and may split another */
	image_count_maps(t, img, before);
	img->unopened = true;
	img->late_until_ns = 0;
	t->has_unopened |= img->proc.opened;
	img->may_have_jit_code |= mapping_may_be_jit(m);
	img->has_jitdump |= m->kind == MAPPING_JITDUMP;
}

void image_copy_maps(struct process_table *t, struct image *img, const struct image *from)
{
	size_t nr = from->proc.maps.nr_live;
	bool has_room = t->nr_mappings + nr <= t->max_mappings &&
			quota_take(&t->mapping_quota, img->payer, nr);

	if (!has_room || maps_copy(&img->proc.maps, &from->proc.maps)) {
		if (has_room)
			quota_give(&t->mapping_quota, img->payer, nr);
		img->nr_maps_dropped += nr;
		return;
	}
	t->nr_mappings += nr;
	img->maps_known = from->maps_known;
	img->lost_seq = from->lost_seq;
	img->unopened = true;
	img->may_have_jit_code = from->may_have_jit_code;
	img->has_jitdump = from->has_jitdump;
}

/* ---- user, group and root ---- */

/*
 * lineburn opens files as the image's user, so it accepts only ids read from this same
 * image, or sent by the kernel with its sample. Nothing is inherited over fork and exec: a
 * job started by a root daemon has dropped its rights by its first instruction, and may be
 * gone by the time that /proc is read.
 */

/* Uses the root that the kernel reported, if the image's own could not be read. */
static void use_reported_root(struct process_table *t, struct image *img)
{
	if (!img->root && img->told_ns)
		set_root(t, img,
			 roots_find_mount(t->roots, img->told.root_mount, img->told_ns));
}

static void use_reported_ids(const struct process_table *t, struct image *img)
{
	struct process *p = &img->proc;
	bool was_ours = p->in_our_user_ns;

	p->uid = img->told.uid;
	p->gid = img->told.gid;
	if (img->told.ns_tgid)
		p->ns_tgid = img->told.ns_tgid;
	if (img->told_ns < img->ids_ns)
		return; /* it may have left our user namespace since */
	p->in_our_user_ns = img->told.user_ns && img->told.user_ns == t->user_ns;
	if (p->in_our_user_ns)
		p->root_uid = 0;
	else if (was_ours)
		p->root_uid = (uid_t)-1;
}

void image_forget_ids(struct process_table *t, struct image *img)
{
	img->proc.uid = img->proc.real_uid = img->proc.root_uid = (uid_t)-1;
	img->proc.gid = (gid_t)-1;
	img->proc.in_our_user_ns = false;
	img->ids_from_ns = img->ids_ns = 0;
	set_root(t, img, NULL);
	if (img->told_ns)
		use_reported_ids(t, img);
	use_reported_root(t, img);
}

/*
 * In our own user namespace root is uid 0. uid_map cannot tell that: if our namespace
 * is not the initial one, the file shows other ids to a reader inside.
 */
static bool is_in_our_user_ns(const struct process_table *t, const struct image *img,
			      uint64_t user_ns)
{
	/* The process is exiting: keep what the kernel reported. */
	if (!user_ns)
		return img->proc.in_our_user_ns;
	return user_ns == t->user_ns;
}

/*
 * Copies ns_tgid, which exec preserves, to older images of the same process. They may
 * lack it, or have the pid of their parent's namespace (unshare -p).
 */
static void copy_ns_tgid_to_older(struct process_table *t, const struct image *img)
{
	struct image *older = image_of(t, img->older);

	/* One that has it has told it to those before. There may be many. */
	while (older && img->fork_ns && older->fork_ns == img->fork_ns &&
	       older->proc.ns_tgid != img->proc.ns_tgid) {
		older->proc.ns_tgid = img->proc.ns_tgid;
		older = image_of(t, older->older);
	}
}

/* Takes user, group and inner pid as read from /proc, after its root. */
static void use_identity(struct process_table *t, struct image *img,
			 const struct proc_view *view)
{
	const struct proc_identity *id = &view->identity;

	if (view->identity_rc)
		return;
	if (!img->told_ns) {
		img->proc.uid = id->status.uid;
		img->proc.gid = id->status.gid;
	}
	img->proc.real_uid = id->status.real_uid;
	img->proc.ns_tgid = id->status.ns_tgid;
	copy_ns_tgid_to_older(t, img);
	img->proc.in_our_user_ns = is_in_our_user_ns(t, img, id->user_ns);
	/* If the namespace maps no uid 0, the process's own uid counts as its root. */
	img->proc.root_uid = id->maps_root ? id->root_uid : id->status.uid;
	if (img->proc.in_our_user_ns)
		img->proc.root_uid = 0;
	img->ids_ns = view->until_ns;
}

/* Takes its root. Return: whether it changed; then the identity must be read again. */
static bool use_root(struct process_table *t, struct image *img, struct proc_view *view)
{
	struct root *root = roots_take(t->roots, &view->root, img->proc.tenant);

	/* Keep the known root: /proc is incomplete while a process exits. */
	if (!root || root == img->root) {
		roots_put(t->roots, root);
		return false;
	}
	/*
	 * If the root changed since the kernel reported the ids, do not trust the ids.
	 */
	if ((root->is_mount_root ? root->key.mount_id : 0) != img->told.root_mount) {
		img->proc.in_our_user_ns = false;
		img->proc.root_uid = (uid_t)-1;
	}
	set_root(t, img, root);
	img->ids_from_ns = view->from_ns;
	img->ids_ns = view->until_ns;
	return true;
}

/*
 * The owner was read between two times that the kernel told the same: it is that of these
 * cgroups.
 */
static void tell_cgroups(struct image *img, uint64_t cgroups, uint64_t time_ns)
{
	if (!cgroups || time_ns <= img->cgroups_ns)
		return;
	if (cgroups == img->cgroups && img->cgroups_ns < img->owner_ns &&
	    img->owner_until_ns < time_ns) {
		img->owner_cgroups = cgroups;
		img->owner_cgroups_ns = img->owner_ns;
	}
	img->cgroups = cgroups;
	img->cgroups_ns = time_ns;
}

void image_tell_parent(struct process_table *t, const struct lb_ids *ids,
		       uint64_t time_ns)
{
	struct image *parent = ids->ppid ? image_at(t, ids->ppid, time_ns) : NULL;

	if (parent)
		tell_cgroups(parent, ids->parents_cgroups, time_ns);
}

void image_tell_ids(struct process_table *t, struct image *img, const struct lb_ids *ids,
		    uint64_t time_ns)
{
	image_tell_parent(t, ids, time_ns);
	tell_cgroups(img, ids->cgroups, time_ns);
	if (ids->uid == LB_NO_ID || time_ns < img->told_ns || img->proc.is_kernel_thread)
		return;
	img->told = *ids;
	img->told_ns = time_ns;
	use_reported_ids(t, img);
	copy_ns_tgid_to_older(t, img);
	/* Otherwise the root is read from /proc while the process lives. */
	if (img->was_read)
		use_reported_root(t, img);
	image_find_tenant(t, img, NULL);
}

/* ---- reading /proc ---- */

#define READ_IDENTITY (PROC_VIEW_ROOT | PROC_VIEW_IDENTITY)

/* Is the rest of its identity known with these ids? As in use_reported_ids() and -root(). */
static bool is_told(const struct process_table *t, const struct lb_ids *ids,
		    uint64_t time_ns)
{
	return time_ns && ids->uid != LB_NO_ID && ids->ns_tgid && ids->user_ns &&
	       ids->user_ns == t->user_ns &&
	       roots_have_mount(t->roots, ids->root_mount, time_ns);
}

const char *image_exe_by_exec(const struct process_table *t, const struct image *img)
{
	const struct maps *maps = &img->proc.maps;

	if (!img->by_exec || img->read_ns || image_is_stale(t, img) || !maps->nr ||
	    maps->items[0].kind != MAPPING_FILE)
		return NULL;
	return maps->items[0].path;
}

/* Does the process with its number still run, as far as is known? */
static bool is_still(const struct process_table *t, const struct image *img)
{
	return !image_is_ended(img) &&
	       (!image_is_stale(t, img) || img->checked_seq == t->lost_seq);
}

struct image *image_parent_beside(struct process_table *t, const struct lb_ids *ids,
				  uint64_t time_ns)
{
	struct image *parent;

	if (!ids->cgroups || ids->cgroups != ids->parents_cgroups || !ids->ppid)
		return NULL;
	parent = image_at(t, ids->ppid, time_ns);
	return parent && is_still(t, parent) ? parent : NULL;
}

/*
 * A set of cgroups that is freed gives its number to the next one. If the parent went there
 * by way of a third one, while nothing was told of it, children that begin within this time
 * keep the wrong owner.
 */
#define OWNER_IS_NEW_NS 10000000000ull

const struct image *image_told_owner(struct process_table *t, const struct lb_ids *ids,
				     uint64_t time_ns)
{
	const struct image *parent = image_parent_beside(t, ids, time_ns);

	return parent && parent->owner_cgroups == ids->cgroups &&
			       time_ns < parent->owner_cgroups_ns + OWNER_IS_NEW_NS
		       ? parent
		       : NULL;
}

/* The kernel tells the effective one. In a container it does not matter who it is. */
static bool lacks_real_uid(const struct image *img, const struct lb_ids *ids)
{
	return !ids->uid &&
	       (!img || (img->proc.real_uid == (uid_t)-1 &&
			 (!img->proc.tenant.container || image_is_new(img))));
}

unsigned int image_first_parts(struct process_table *t, const struct image *img,
			       const struct lb_ids *ids, uint64_t time_ns)
{
	unsigned int parts = 0;

	if (!is_told(t, ids, time_ns) || (t->is_shared && lacks_real_uid(img, ids)))
		parts |= READ_IDENTITY;
	if (!image_told_owner(t, ids, time_ns))
		parts |= PROC_VIEW_CGROUP;
	if (!img || !image_exe_by_exec(t, img))
		parts |= PROC_VIEW_EXE;
	return parts;
}

static bool is_zombie(const struct proc_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

/* Opens the directory of a live thread of a process whose leader is a zombie. */
static int open_alive(struct process_table *t, int leader, uint32_t tgid,
		      const struct proc_stat *stat)
{
	return stat->nr_threads > 1 ? proc_dir_open_thread(t->proc_fd, leader, tgid)
				    : -ESRCH;
}

/* Returns the directory of @tgid, or of a thread that lives. @opened  taken */
static int pass_alive(struct process_table *t, int opened, uint32_t tgid,
		      const struct proc_stat *stat)
{
	_cleanup_close_ int dir = opened;

	return is_zombie(stat) ? open_alive(t, dir, tgid, stat) : take_fd(&dir);
}

/* After all other errors it may be there, but could not be looked at. */
static int gone_or(int rc)
{
	return rc == -ENOENT ? -ESRCH : rc;
}

/*
 * Is there no such process? Many are asked for after their end, and this is no request to the
 * opener.
 */
static bool is_none(const struct process_table *t, uint32_t tgid)
{
	return t->is_our_proc && getpgid((pid_t)tgid) < 0 && errno == ESRCH;
}

/* Opens the directory of @tgid and reads its stat. Return: -ESRCH: it is gone. */
static int open_process(struct process_table *t, uint32_t tgid, struct proc_stat *stat)
{
	int dir = is_none(t, tgid) ? -ESRCH : proc_dir_open_stat(t->proc_fd, tgid, stat);

	return dir < 0 ? gone_or(dir) : pass_alive(t, dir, tgid, stat);
}

/*
 * Takes what was read ahead, unless the process has called exec since, or more is needed.
 * Return: as ahead_take()
 */
static int take_ahead(struct process_table *t, uint32_t tgid, unsigned int parts,
		      struct proc_view *view)
{
	const struct image *img = image_newest(t, tgid);
	int dir;

	*view = PROC_VIEW_NONE;
	dir = ahead_take(&t->ahead, tgid, view);
	if (dir < 0 ||
	    ((!img || img->proc.from_ns < view->from_ns) && !(parts & ~view->parts)))
		return dir;
	close(dir);
	proc_view_deinit(view);
	return -ESTALE;
}

/*
 * The same with more of it.
 *
 * @view  the caller frees it, whatever this returns
 * Return: -ESRCH: it is gone.
 */
static int view_process(struct process_table *t, uint32_t tgid, unsigned int parts,
			struct proc_view *view)
{
	_cleanup_close_ int dir = take_ahead(t, tgid, parts, view);
	struct proc_stat stat;
	int thread;

	if (dir == -ENOENT)
		return -ESRCH;
	if (dir < 0 && is_none(t, tgid))
		return -ESRCH;
	if (dir < 0) {
		dir = proc_view_open(t->proc_fd, tgid, parts, view);
		if (dir < 0)
			return gone_or(dir);
	}
	if (view->stat_rc)
		return gone_or(view->stat_rc);
	if (!is_zombie(&view->stat))
		return take_fd(&dir);
	stat = view->stat;
	thread = open_alive(t, dir, tgid, &stat);
	if (thread < 0)
		return thread;
	proc_view_deinit(view);
	proc_view_read(thread, parts, view);
	view->stat = stat;
	return thread;
}

static bool is_ticks_of(const struct image *img, const struct proc_stat *stat)
{
	if (img->start_known)
		return img->proc.start_boottime_ns / PROC_TICK_NS == stat->start_ticks;
	return image_start_fits(img, stat->start_ticks * PROC_TICK_NS);
}

int image_open_dir(struct process_table *t, const struct image *img)
{
	struct proc_stat stat;
	int dir = open_process(t, img->proc.tgid, &stat);

	if (dir >= 0 && !is_ticks_of(img, &stat)) {
		close(dir);
		return -ESRCH;
	}
	return dir;
}

void image_forget_dir(struct process_table *t, struct image *img)
{
	if (img->proc_dir < 0)
		return;
	close(img->proc_dir);
	img->proc_dir = -1;
	t->nr_dirs--;
}

struct maps_reading {
	struct process_table *t;
	struct image *img;
};

static int add_read_mapping(void *ctx, const struct mapping *m)
{
	const struct maps_reading *reading = ctx;
	struct image *img = reading->img;
	const struct mapping *known;
	struct mapping add = *m;

	/* maps_add() sets from_ns to at least that of the newest entry. */
	if (maps_find(&img->proc.maps, m->start, UINT64_MAX - 1, UINT64_MAX - 1,
		      &known) == MAPS_NONE)
		add.from_ns = 0;
	image_add_mapping(reading->t, img, &add);
	maps_see(&img->proc.maps, m->start, m->end);
	return 0;
}

/*
 * Reads its mappings. A mapping at an address without a known owner begins at the time
 * of the last known state, others begin now. Those that it has no more end. Return: false
 * when it has no mappings any more.
 */
static bool read_maps(struct process_table *t, struct image *img, int proc_dir)
{
	struct maps_reading reading = {.t = t, .img = img};
	uint64_t now_ns = clock_now_ns();
	ssize_t len =
		proc_dir_maps(proc_dir, now_ns, t->pool, add_read_mapping, &reading);
	size_t nr = img->proc.maps.nr;

	if (len <= 0)
		return false;
	if ((size_t)len < PROC_DIR_WHOLE_MAPS)
		maps_end_unseen(&img->proc.maps, now_ns);
	image_count_maps(t, img, nr);
	img->read_ns = now_ns;
	img->maps_known = true;
	img->lost_seq = t->lost_seq;
	return true;
}

/*
 * Returns the image of a process that /proc shows now: a known one, or a new one, for which
 * @who pays.
 */
static struct image *image_for(struct process_table *t, uint32_t tgid,
			       const struct proc_stat *stat, struct tenant who)
{
	struct image *img = image_newest(t, tgid);
	uint64_t start_ns = stat->start_ticks * PROC_TICK_NS, from_ns = 0;

	if (!img || !is_ticks_of(img, stat)) {
		if (img) {
			from_ns = boottime_to_monotonic(start_ns);
			if (from_ns < img->proc.from_ns)
				from_ns = img->proc.from_ns;
			image_end(img, from_ns);
		}
		img = image_new(t, tgid, from_ns, who);
		if (!img)
			return NULL;
	}
	if (!img->start_known) {
		img->proc.start_boottime_ns = start_ns;
		img->start_known = true;
	}
	/*
	 * An orphan's parent is its reaper (usually pid 1), not the process that forked
	 * it.
	 */
	if (!img->ppid && stat->ppid > 1)
		img->ppid = stat->ppid;
	memcpy(img->proc.comm, stat->comm, sizeof(img->proc.comm));
	img->proc.is_kernel_thread = stat->is_kernel_thread;
	if (stat->is_kernel_thread)
		set_tenant(t, img, (struct tenant){0});
	if (is_zombie(stat)) {
		/*
		 * Its exit event was before this scan and is not repeated: end it here.
		 */
		img->proc.exited = true;
		image_end(img, clock_now_ns());
	}
	return img;
}

static bool has_place(struct process_table *t, struct tenant who)
{
	if (!quota_take(&t->image_quota, who, 1))
		return false;
	quota_give(&t->image_quota, who, 1);
	return t->nr_free || t->nr_ids < t->max_images;
}

struct image *image_from_proc(struct process_table *t, const struct lb_image *id,
			      struct tenant who)
{
	_cleanup_close_ int dir = -1;
	struct proc_stat stat;
	struct image *img;

	/* Before the look: its records come again and again. */
	if (!has_place(t, who)) {
		t->nr_dropped++;
		return NULL;
	}
	dir = ahead_stat(&t->ahead, id->tgid, &stat);
	if (dir == -ENOENT)
		return NULL;
	dir = dir < 0 ? open_process(t, id->tgid, &stat)
		      : pass_alive(t, dir, id->tgid, &stat);
	if (dir < 0 || stat.start_ticks != id->start_boottime_ns / PROC_TICK_NS)
		return NULL;
	img = image_newest(t, id->tgid);
	/* The process is known, but only with images that began after the sample. */
	if (img && is_ticks_of(img, &stat))
		return NULL;
	/* Its mappings are read later, when it is known who pays for their names. */
	return image_for(t, id->tgid, &stat, who);
}

void image_look(struct process_table *t, struct image *img)
{
	_cleanup_(proc_view_deinit) struct proc_view view;
	_cleanup_close_ int dir = view_process(
		t, img->proc.tgid, PROC_VIEW_IDENTITY | PROC_VIEW_CGROUP, &view);

	if (dir < 0 || !is_ticks_of(img, &view.stat))
		return;
	use_identity(t, img, &view);
	image_find_tenant(t, img, &view.cgroup);
	image_drop_refused(t, img);
}

void image_scan(struct process_table *t, uint32_t tgid)
{
	_cleanup_(proc_view_deinit) struct proc_view view;
	unsigned int for_tenant = t->is_shared ? PROC_VIEW_CGROUP : 0;
	_cleanup_close_ int dir =
		view_process(t, tgid, READ_IDENTITY | for_tenant, &view);
	struct image *img = dir < 0 ? NULL
				    : image_for(t, tgid, &view.stat, TENANT_UNKNOWN);

	if (!img)
		return;
	if (view.stat.is_kernel_thread) {
		img->maps_known = true;
		return;
	}
	use_root(t, img, &view);
	use_identity(t, img, &view);
	image_find_tenant(t, img, &view.cgroup);
	if (image_drop_refused(t, img))
		return;
	strpool_serve(t->pool, img->proc.tenant);
	read_maps(t, img, dir);
	strpool_serve(t->pool, (struct tenant){0});
}

/* ---- files ---- */

/*
 * Opens the files of a sampled image while it lives. A command that lives 10 ms may
 * exit right after its first sample, so files that need the live process are opened
 * first.
 */

/* Most files opened, and the longest time, in one refresh; the rest waits for the next. */
#define MAX_OPENS_AT_ONCE 1024
#define IMAGE_OPENS_NS    (50 * CLOCK_MS_NS)
/* Pauses of an image that could not be looked at, or some of whose files could not. */
#define FIRST_LOOK_PAUSE_NS (100 * CLOCK_MS_NS)
#define LOOK_PAUSE_NS       (5 * CLOCK_SECOND_NS)
#define LATE_PAUSE_NS       (10 * CLOCK_SECOND_NS)

static bool wants_file(const struct mapping *m)
{
	return !m->file && (m->kind == MAPPING_FILE || m->kind == MAPPING_MEMFD);
}

struct opening {
	struct process_table *t;
	struct image *img;
	struct file_source source;
	unsigned int nr_left; /* files that may still be opened this time */
	uint64_t until_ns; /* as CLOCK_MONOTONIC: until then */
	bool is_late; /* one could not be looked at */
};

static bool may_open_one(struct opening *o)
{
	bool may = o->nr_left && clock_now_ns() < o->until_ns &&
		   opener_has_time(o->source.tenant);

	o->nr_left = may ? o->nr_left - 1 : 0;
	return may;
}

/* Return: number of mappings that still have no file. */
static size_t open_all(struct opening *o)
{
	struct maps *maps = &o->img->proc.maps;
	size_t nr_without = 0;

	for (size_t i = 0; i < maps->nr; i++) {
		struct mapping *m = &maps->items[i];

		if (!wants_file(m))
			continue;
		if (may_open_one(o)) {
			m->file = file_cache_open(o->t->files, m, &o->source);
			maps->nr_changes += m->file != NULL;
			o->is_late |= !m->file;
		}
		nr_without += !m->file;
	}
	return nr_without;
}

/*
 * Opens the file of one mapping as it is now, which may be a part of a mapping in the
 * log.
 */
static int open_part(void *ctx, const struct mapping *now)
{
	struct opening *o = ctx;
	const struct mapping *found;
	struct mapping *m, named = *now;

	if (maps_find(&o->img->proc.maps, now->start, UINT64_MAX - 1, UINT64_MAX - 1,
		      &found) != MAPS_FOUND)
		return 0;
	m = &o->img->proc.maps.items[found - o->img->proc.maps.items];
	if (!wants_file(m) || m->kind != now->kind ||
	    m->start - m->file_off != now->start - now->file_off || !may_open_one(o))
		return 0;
	named.build_id_len = m->build_id_len;
	memcpy(named.build_id, m->build_id, sizeof(named.build_id));
	m->file = file_cache_open(o->t->files, &named, &o->source);
	o->img->proc.maps.nr_changes += m->file != NULL;
	return 0;
}

/*
 * map_files has an entry for each mapping as it is now. A mapping may have been split
 * since the kernel reported it (Node removes the execute right from a page of its
 * code); then the entries are found through the text of maps.
 * Return: false when some are left for the next time.
 */
static bool open_mapped_files(struct process_table *t, struct image *img, int proc_dir)
{
	struct opening o = {.t = t,
			    .img = img,
			    .source = {.proc_dir = proc_dir,
				       .root = img->root,
				       .tenant = img->proc.tenant,
				       .no_path = proc_dir >= 0},
			    .nr_left = MAX_OPENS_AT_ONCE,
			    .until_ns = clock_now_ns() + IMAGE_OPENS_NS};
	size_t nr_without = open_all(&o);

	if (!nr_without)
		return true;
	if (proc_dir >= 0 && o.nr_left)
		proc_dir_maps(proc_dir, 0, t->pool, open_part, &o);
	o.source.no_path = false;
	o.is_late = false;
	nr_without = open_all(&o);
	if (o.is_late)
		img->late_until_ns = clock_now_ns() + LATE_PAUSE_NS;
	return !nr_without;
}

/*
 * Checks the JIT's files. After exec the pid, and so the names of these files, belong
 * to the next image: this image keeps its open files, but gets no new ones.
 */
static void look_at_jit_files(struct process_table *t, struct image *img, int proc_dir,
			      uint64_t now_ns)
{
	bool has_any = img->may_have_jit_code || img->has_jitdump;

	if (!img->is_newest || !has_any || !opener_has_time(img->proc.tenant))
		return;
	if (img->may_have_jit_code)
		perf_map_look(&img->proc, t->pool, &t->budget, now_ns);
	if (img->has_jitdump)
		jitdump_look(&img->proc, proc_dir, &t->budget);
}

/*
 * Has a sampled image all that is read of /proc at its first sample? Later it may have
 * another root, so it is read when it maps more.
 */
static bool is_all_told(struct process_table *t, const struct image *img)
{
	return !img->was_read && !img->may_have_jit_code && !img->has_jitdump &&
	       !image_first_parts(t, img, &img->told, img->told_ns);
}

/*
 * Opens the files without reading /proc, which saves time for the many processes that
 * end before a sample, or soon after. Works while all its files are in the cache, and it
 * has no sample, or the kernel told the rest. Return: false if it did not work.
 */
static bool open_unread(struct process_table *t, struct image *img)
{
	struct maps *maps = &img->proc.maps;

	if (!img->maps_known || !maps->nr_live || image_is_stale(t, img) ||
	    image_is_ended(img) || (img->sampled_ns && !is_all_told(t, img)))
		return false;
	for (size_t i = 0; i < maps->nr; i++) {
		struct mapping *m = &maps->items[i];

		if (!wants_file(m))
			continue;
		m->file = file_cache_find(t->files, m, img->proc.tenant);
		if (!m->file)
			return false;
		maps->nr_changes++;
	}
	img->unopened = false;
	if (img->sampled_ns) {
		img->was_read = true;
		use_reported_root(t, img);
	}
	return true;
}

static void read_while_alive(struct process_table *t, struct image *img, int proc_dir)
{
	bool stale = image_is_stale(t, img);

	/* After an exec no mapping is known until its events arrive: read them now. */
	if (!img->maps_known || !img->proc.maps.nr_live || stale) {
		read_maps(t, img, proc_dir);
		t->nr_rereads += stale;
		/* These are those of the last program, if the exec of one was lost. */
		img->is_expected |= stale;
	}
}

/*
 * Opens its directory in /proc and keeps it open until image_forget_dir(), because a
 * new process is checked repeatedly while it loads its libraries. Return: borrowed;
 * -ESRCH: it is gone; another negative errno: it may be there.
 */
static int keep_dir(struct process_table *t, struct image *img)
{
	_cleanup_close_ int dir = -1;

	/*
	 * Search again: threads may outlive the leader, and a lost event may have been
	 * its exit.
	 */
	if (image_is_ended(img) || image_is_stale(t, img))
		image_forget_dir(t, img);
	if (img->proc_dir >= 0)
		return img->proc_dir;
	image_forget_view(t);
	dir = view_process(t, img->proc.tgid,
			   img->was_read
				   ? READ_IDENTITY
				   : image_first_parts(t, img, &img->told, img->told_ns),
			   &t->view);
	t->viewed = img;
	if (dir < 0 || !is_ticks_of(img, &t->view.stat)) {
		image_forget_view(t);
		return dir < 0 ? dir : -ESRCH;
	}
	img->proc_dir = take_fd(&dir);
	t->nr_dirs++;
	if (use_root(t, img, &t->view) || !img->was_read)
		use_identity(t, img, &t->view);
	if (!img->was_read)
		image_find_tenant(t, img, &t->view.cgroup);
	return img->proc_dir;
}

void image_forget_view(struct process_table *t)
{
	if (t->viewed)
		proc_view_deinit(&t->view);
	t->viewed = NULL;
}

void image_open_files(struct process_table *t, struct image *img, uint64_t now_ns)
{
	bool wants_dir = !img->was_read || image_is_stale(t, img) ||
			 image_is_ended(img) ||
			 (img->unopened && now_ns >= img->late_until_ns) ||
			 (img->has_jitdump && img->proc.jitdump.fd < 0);
	bool is_gone;
	int dir = -ESRCH;

	img->proc.opened = true;
	if (img->proc.is_kernel_thread)
		return;
	if (!img->done)
		image_activate(t, img);
	if (open_unread(t, img))
		return;
	/* Each look, even one that is refused, takes time that others wait for. */
	if (img->is_newest && wants_dir && now_ns < img->look.until_ns)
		return;
	if (img->is_newest && wants_dir)
		dir = keep_dir(t, img);
	/* It is late, or its tenant is, or no descriptor is free. */
	if (dir < 0 && dir != -ESRCH) {
		retry_pause_begin(&img->look, FIRST_LOOK_PAUSE_NS, LOOK_PAUSE_NS,
				  clock_now_ns());
		return;
	}
	if (dir >= 0)
		img->look = (struct retry_pause){0};
	is_gone = dir < 0 && (!img->is_newest || wants_dir);
	img->was_read = true;
	use_reported_root(t, img);
	strpool_serve(t->pool, img->proc.tenant); /* it may be known only now */
	if (dir >= 0)
		read_while_alive(t, img, dir);
	if (img->unopened && (is_gone || now_ns >= img->late_until_ns) &&
	    open_mapped_files(t, img, dir))
		img->unopened = false;
	look_at_jit_files(t, img, dir, now_ns);
	if (!is_gone)
		return;
	/* The process is gone, but its exit event is late or was lost. */
	image_end(img, now_ns);
	if (!img->gone_ns)
		img->gone_ns = now_ns;
	img->done = !img->unopened;
}
