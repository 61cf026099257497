/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the owner of a sample's cgroup id: the cgroup of the process at that moment, even
 * if it is gone or the process moved since. Only where cgroup v2 is the only hierarchy
 * mounted: with v1 the id is often that of the v2 root.
 */
#ifndef LB_PROCESS_CGROUP_ID_H
#define LB_PROCESS_CGROUP_ID_H

#include "base/hashmap.h"
#include "process/cgroup_mount.h"
#include "process/process.h"

struct cgroup_id {
	uint64_t id;
	uint64_t used_ns; /* time of the last sample with this id */
	struct process_owner owner; /* exe NULL */
};

struct cgroup_ids {
	int mount_fd; /* of cgroup v2; -1: ids are not usable */
	char *mount; /* its path; heap */
	int handle_type;
	struct cgroup_id **items; /* that rows point at */
	size_t nr, cap;
	struct hashmap index; /* by id */
	/* Mount of each hierarchy, to check who owns its folders. */
	struct {
		uint32_t hierarchy;
		int fd; /* O_PATH; -1 */
	} places[CGROUP_MOUNTS_MAX];
	size_t nr_places;
};

/** @mounts, @v2  as cgroup_mounts and cgroups of struct process_table_config; may be NULL */
void cgroup_ids_init(struct cgroup_ids *ids, const struct cgroup_mounts *mounts,
		     const char *v2);
void cgroup_ids_deinit(struct cgroup_ids *ids);

/** Returns the mount of a hierarchy, O_PATH; -1: not known. Borrowed. */
int cgroup_ids_place(const struct cgroup_ids *ids, uint32_t hierarchy);

/** Fills in the owner of the cgroup at @path, all of @owner but exe. */
typedef void (*cgroup_owner_fn)(void *ctx, const char *path, size_t len,
				struct process_owner *owner);
/** As process_table_cgroup(). @fill is called when @id is met for the first time. */
const struct process_owner *cgroup_ids_owner(struct cgroup_ids *ids, uint64_t id,
					     uint64_t time_ns, cgroup_owner_fn fill,
					     void *ctx);

/** Forgets ids that no sample has had since @before_ns. */
void cgroup_ids_forget(struct cgroup_ids *ids, uint64_t before_ns);

#endif
