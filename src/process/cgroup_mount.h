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

#include "opener/look.h"

#define CGROUP_MOUNTS_MAX 32

struct cgroup_mount {
	uint32_t hierarchy; /* first number of its line in /proc/PID/cgroup; v2: 0 */
	uint32_t id; /* of the mount, as in fdinfo */
	dev_t dev; /* of its files */
	bool is_part; /* shows only a part of the hierarchy, as in a container */
	char *path; /* where it is; heap */
	char *root; /* the mounted cgroup, as a cgroup namespace shows it (below); heap */
	char *own; /* our path in the hierarchy, same; heap; NULL: not known */
	char *base; /* from there to our namespace's root, same; heap; NULL: not known */
	char name[64]; /* of v1: its name: "memory", "name=systemd" */
};

struct cgroup_mounts {
	struct cgroup_mount at[CGROUP_MOUNTS_MAX];
	size_t nr;
	bool is_late; /* folders did not answer, so that base may be missing */
};

/**
 * Finds one mount per hierarchy: v2 first, then v1 by usefulness: systemd's own,
 * memory, the others. If a hierarchy is mounted several times, picks the mount that
 * shows most of it.
 *
 * @mountinfo, @cgroup  texts of /proc/self/mountinfo and /proc/self/cgroup, terminated
 * Return: 0, or -ENOMEM with @ret empty. Malformed lines are skipped.
 */
int cgroup_mounts_parse(const char *mountinfo, const char *cgroup,
			struct cgroup_mounts *ret);
/** Finds our own mounts that no other mount hides. Return: as above, or -errno. */
int cgroup_mounts_read(struct cgroup_mounts *ret);
/**
 * Returns the mount path of v2 if it is whole and the only hierarchy, borrowed; else
 * NULL.
 */
const char *cgroup_mounts_only_v2(const struct cgroup_mounts *mounts);
void cgroup_mounts_deinit(struct cgroup_mounts *mounts);

/* Owners of folders that were read last (cgroup.c). */
struct cgroup_owners {
	char *path; /* of the innermost one; heap; NULL: none were */
	struct look look;
	uint64_t read_ns; /* CLOCK_MONOTONIC */
};

/* Of so many parents at a time: each pod has its own. */
#define CGROUP_OWNERS_KEPT 32

/* Where the folders of a hierarchy are, from its top on, to check their owners. */
struct cgroup_place {
	uint32_t hierarchy;
	int fd; /* O_PATH */
	char *root, *base; /* as in struct cgroup_mount; heap */
	struct cgroup_owners *last; /* CGROUP_OWNERS_KEPT; heap; NULL: read each time */
};

/**
 * Opens the folders of @mount, which paths begin at, whatever it shows of its hierarchy.
 * Return: false: they cannot be seen.
 */
bool cgroup_place_open(struct cgroup_place *place, const struct cgroup_mount *mount);
void cgroup_place_close(struct cgroup_place *place);

/* Of each hierarchy that is mounted as a whole. Zero-initialise. */
struct cgroup_places {
	struct cgroup_place at[CGROUP_MOUNTS_MAX];
	size_t nr;
};

void cgroup_places_open(struct cgroup_places *places, const struct cgroup_mounts *mounts);
void cgroup_places_close(struct cgroup_places *places);
/** Returns that of a hierarchy, borrowed; NULL: its folders cannot be seen. */
const struct cgroup_place *cgroup_place(const struct cgroup_places *places,
					uint32_t hierarchy);

/*
 * Paths of cgroups as a cgroup namespace shows them (cgroup_namespaces(7)): its root is
 * "/", and paths outside of it begin with "/..", once for each level. mountinfo shows the
 * root of a mount in the same way (proc(5)): "/../.." in a namespace whose root is two
 * levels below the mounted cgroup.
 */

/**
 * Translates a cgroup path to a path below a mount.
 * @root  of a mount
 * @base  from @root to the root of the namespace, if that is below it: "/a/b" for
 *        "/../.."; NULL: not known
 * @path  of /proc/PID/cgroup, clean: "/", "/x", "/../x"
 * Return: @path below the mount, "/" for its root, heap; NULL: not below it, not known,
 * or out of memory.
 */
char *cgroup_namespace_to_mount(const char *root, const char *base, const char *path);

/**
 * Finds @base for cgroup_namespace_to_mount() by searching for the cgroup of the
 * calling process.
 *
 * @mount  path of the mount
 * @own    our path in its hierarchy, from /proc/self/cgroup
 * @ret_is_late  set to true if a folder did not answer, else left
 * Return: heap; NULL: @root is not above the namespace, or the search found nothing in
 * the first 4096 directories.
 */
char *cgroup_namespace_find(const char *mount, const char *root, const char *own,
			    bool *ret_is_late);

#endif
