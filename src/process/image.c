// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "process/jit_file.h"

/* A fork's event comes within this time of the start time that the kernel noted. */
#define FORK_EVENT_SLACK_NS 1000000000ull

uint64_t boottime_to_monotonic(uint64_t boottime_ns)
{
	uint64_t monotonic_ns = clock_now_ns();
	/* Read later, so never less. */
	uint64_t offset_ns = clock_boot_ns() - monotonic_ns;

	return boottime_ns > offset_ns ? boottime_ns - offset_ns : 0;
}

void image_free(struct process_table *t, struct image *img)
{
	if (!img)
		return;
	image_forget_dir(t, img);
	t->nr_mappings -= img->proc.maps.nr;
	t->nr_maps_dropped += img->nr_maps_dropped + img->proc.maps.nr_dropped;
	maps_deinit(&img->proc.maps);
	jit_file_deinit(&img->proc.perf_map, &t->budget);
	jit_file_deinit(&img->proc.jitdump, &t->budget);
	t->nr_jit_lost += img->proc.jit_code.nr_lost;
	t->nr_jit_foreign += img->proc.jit_code.nr_foreign;
	jit_code_deinit(&img->proc.jit_code, t->jit_store);
	t->nr_interp_codes_lost += img->proc.interp_codes.nr_lost;
	interp_codes_deinit(&img->proc.interp_codes);
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
			hashmap_find(&t->by_tgid, hash_u64(0, tgid), tgid_eq, &tgid, t));
}

static int take_id(struct process_table *t, uint32_t *ret)
{
	if (t->nr_free) {
		*ret = t->free_ids[--t->nr_free];
		return 0;
	}
	if (vec_grow(&t->images, &t->cap_ids, t->nr_ids + 1, sizeof(*t->images),
		     t->max_images) ||
	    vec_grow(&t->free_ids, &t->cap_free, t->nr_ids + 1, sizeof(*t->free_ids),
		     0) ||
	    vec_grow(&t->active, &t->cap_active, t->nr_ids + 1, sizeof(*t->active), 0))
		return -ENOSPC;
	*ret = (uint32_t)t->nr_ids++;
	return 0;
}

struct image *image_new(struct process_table *t, uint32_t tgid, uint64_t from_ns)
{
	struct image *older = image_newest(t, tgid);
	struct image *img = calloc(1, sizeof(*img));
	uint32_t id;

	if (!img || take_id(t, &id)) {
		free(img);
		t->nr_dropped++;
		return NULL;
	}
	if (older)
		hashmap_remove(&t->by_tgid, hash_u64(0, tgid), older->proc.id);
	if (hashmap_add(&t->by_tgid, hash_u64(0, tgid), id)) {
		/* Only possible without @older: a removal makes room. */
		t->free_ids[t->nr_free++] = id;
		free(img);
		t->nr_dropped++;
		return NULL;
	}
	*img = (struct image){.older = older ? older->proc.id : IMAGE_NONE,
			      .is_newest = true,
			      .lost_seq = t->lost_seq,
			      .proc_dir = -1,
			      .proc = {.tgid = tgid,
				       .from_ns = from_ns,
				       .until_ns = UINT64_MAX,
				       .uid = (uid_t)-1,
				       .gid = (gid_t)-1,
				       .root_uid = (uid_t)-1,
				       .root_fd = -1,
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

struct image_identity {
	uint32_t tgid, exec_id;
	uint64_t start_boottime_ns;
};

static uint64_t identity_hash(const struct image_identity *id)
{
	return hash_u64(hash_u64(1, id->start_boottime_ns),
			(uint64_t)id->tgid << 32 | id->exec_id);
}

static bool identity_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct process *p =
		&((const struct process_table *)ctx)->images[item]->proc;
	const struct image_identity *id = key;

	return p->tgid == id->tgid && p->exec_id == id->exec_id &&
	       p->start_boottime_ns == id->start_boottime_ns;
}

struct image *image_identified(struct process_table *t, uint32_t tgid,
			       uint64_t start_boottime_ns, uint32_t exec_id)
{
	struct image_identity id = {tgid, exec_id, start_boottime_ns};

	return image_of(t, hashmap_find(&t->by_identity, identity_hash(&id), identity_eq,
					&id, t));
}

void image_forget_identity(struct process_table *t, struct image *img)
{
	struct image_identity id = {img->proc.tgid, img->proc.exec_id,
				    img->proc.start_boottime_ns};

	if (img->proc.identified)
		hashmap_remove(&t->by_identity, identity_hash(&id), img->proc.id);
	img->proc.identified = false;
}

void image_identify(struct process_table *t, struct image *img,
		    uint64_t start_boottime_ns, uint32_t exec_id)
{
	struct image_identity id = {img->proc.tgid, exec_id, start_boottime_ns};

	image_forget_identity(t, img);
	img->proc.start_boottime_ns = start_boottime_ns;
	img->start_known = true;
	img->proc.exec_id = exec_id;
	/* Without memory for the index it goes on being found by time. */
	img->proc.identified =
		!hashmap_add(&t->by_identity, identity_hash(&id), img->proc.id);
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

void image_set_root(struct process_table *t, struct image *img, struct root *root)
{
	struct root *old = img->root;

	img->root = root_ref(root);
	img->proc.root_fd = root_fd(img->root);
	img->proc.root_id = root_id(img->root);
	roots_put(t->roots, old);
}

void image_inherit(struct image *img, const struct image *from)
{
	img->proc.is_kernel_thread = from->proc.is_kernel_thread;
	img->proc.owner = from->proc.owner;
	if (img->proc.tgid == from->proc.tgid)
		img->proc.owner.exe = NULL;
	memcpy(img->proc.comm, from->proc.comm, sizeof(img->proc.comm));
}

void image_add_mapping(struct process_table *t, struct image *img,
		       const struct mapping *m)
{
	size_t before = img->proc.maps.nr;

	if (t->nr_mappings >= t->max_mappings) {
		img->nr_maps_dropped++;
		return;
	}
	maps_add(&img->proc.maps, m); /* counts what it refuses */
	t->nr_mappings += img->proc.maps.nr - before;
	img->unopened = true;
	t->has_unopened |= img->proc.opened;
	img->may_have_jit_code |= mapping_may_be_jit(m);
	img->has_jitdump |= m->kind == MAPPING_JITDUMP;
}

void image_copy_maps(struct process_table *t, struct image *img, const struct image *from)
{
	size_t nr = from->proc.maps.nr_live;

	if (t->nr_mappings + nr > t->max_mappings ||
	    maps_copy(&img->proc.maps, &from->proc.maps)) {
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
