/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds where the hierarchies of cgroups are mounted: v2, v1, or both (proc(5),
 * cgroups(7)).
 */
#ifndef LB_PROCESS_CGROUP_MOUNT_H
#define LB_PROCESS_CGROUP_MOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_MOUNTS_MAX 32

struct cgroup_mount {
	uint32_t hierarchy; /* first number of its line in /proc/PID/cgroup; v2: 0 */
	uint32_t id; /* of the mount, as fdinfo has it, too */
	dev_t dev; /* of its files */
	bool is_part; /* of the hierarchy: a container sees no more than itself */
	char *path; /* where it is; heap */
	char *root; /* what is there, as a cgroup namespace shows it, see below; heap */
	char *base; /* same: from there to our namespace's root; heap; NULL: not known */
	char name[64]; /* of v1: what of its line tells it: "memory", "name=systemd" */
};

struct cgroup_mounts {
	struct cgroup_mount at[CGROUP_MOUNTS_MAX];
	size_t nr;
};

/**
 * One mount of each hierarchy, v2 first, then those of v1 in order of use: where systemd
 * keeps its units, memory, and the others. Of several mounts of a hierarchy the one that
 * shows most of it.
 *
 * @mountinfo, @cgroup  texts of /proc/self/mountinfo and /proc/self/cgroup, terminated
 * Return: 0, or -ENOMEM with @ret empty. A line that makes no sense is skipped.
 */
int cgroup_mounts_parse(const char *mountinfo, const char *cgroup,
			struct cgroup_mounts *ret);
/** Of ours, those that other mounts do not hide. Return: as above, or -errno. */
int cgroup_mounts_read(struct cgroup_mounts *ret);
/** Where v2 is, whole, if no other hierarchy is mounted: borrowed; else NULL. */
const char *cgroup_mounts_only_v2(const struct cgroup_mounts *mounts);
void cgroup_mounts_deinit(struct cgroup_mounts *mounts);

/*
 * Paths of cgroups as a cgroup namespace shows them (cgroup_namespaces(7)): its root is
 * "/", and what lies beside or above begins with "/..", once for each level. The root of a
 * mount is told in the same way (proc(5), mountinfo): "/../.." in a namespace that begins
 * two levels below what is mounted there.
 */

/**
 * @root  of a mount
 * @base  from there to the root of the namespace, where @root is above that: "/a/b" for
 *        "/../.."; NULL: not known
 * @path  of /proc/PID/cgroup, clean: "/", "/x", "/../x"
 * Return: @path below the mount, "/" for its root, heap; NULL: it is not below it, that
 * is not known, or there is no memory.
 */
char *cgroup_namespace_to_mount(const char *root, const char *base, const char *path);

/**
 * Finds @base above by looking where the calling process is.
 *
 * @mount  path of the mount
 * @own    what /proc/self/cgroup says of us in its hierarchy
 * Return: heap; NULL: @root is not above the namespace, or it was not found among the
 * first 4096 directories.
 */
char *cgroup_namespace_find(const char *mount, const char *root, const char *own);

#endif
