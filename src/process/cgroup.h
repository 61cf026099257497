/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose a cgroup is, by its path: container runtimes and systemd have their ways to name
 * them. The table of these is data (cgroup.c), with its source for each. Cgroup names come
 * from whoever may make cgroups, and are text to be escaped. Root's are believed: a container
 * and a pod that somebody else has named are told with who did, "1000/ID", and what is named
 * inside of a container that root has made is that container's own affair.
 */
#ifndef LB_PROCESS_CGROUP_H
#define LB_PROCESS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum container_runtime {
	CONTAINER_NONE,
	CONTAINER_DOCKER,
	CONTAINER_PODMAN,
	CONTAINER_CONTAINERD,
	CONTAINER_CRIO,
	CONTAINER_NSPAWN,
	CONTAINER_LXC,
	CONTAINER_ECS,
	CONTAINER_OTHER, /* an id like theirs, under a name that is not known */
	NR_CONTAINER_RUNTIMES,
};

#define CONTAINER_ID_BYTES 128
#define POD_UID_BYTES      40
#define UNIT_BYTES         256
#define CLAIM_BYTES        11 /* in front of an id: "4294967294/" */

/* Each text is "" where the path does not tell. */
struct cgroup_owner {
	enum container_runtime runtime;
	/* Outermost: its id; of nspawn and LXC the name. */
	char container[CLAIM_BYTES + CONTAINER_ID_BYTES];
	/* It was named by another user than root, whose uid is in front of it. */
	bool is_claimed;
	char pod[CLAIM_BYTES + POD_UID_BYTES]; /* Kubernetes pod uid, with dashes; same */
	char unit
		[UNIT_BYTES]; /* innermost systemd service or scope, unescaped; no slice */
};

/**
 * By the path alone, which tells what systemd lets users name: all below
 * /user.slice/user-UID.slice/user@UID.service.
 *
 * @path  of a cgroup below the root of its hierarchy, "/a/b"; need not be terminated
 * Return: does it tell anything?
 */
bool cgroup_owner_of(const char *path, size_t len, struct cgroup_owner *ret);

/**
 * Same, and looks at whose the folders are in which a container is named.
 * @dir  where the path begins, O_PATH; -1: it is not to be had. What is gone tells nothing
 */
bool cgroup_owner_at(int dir, const char *path, size_t len, struct cgroup_owner *ret);

/**
 * Undoes systemd's escapes ("\x2d"), but for those of control characters: whoever wrote
 * them did not want a name. Return: false, with "" in @ret: it is empty or does not fit.
 */
bool cgroup_unescape(const char *text, char *ret, size_t size);

/** "docker", "podman", ...; "" for CONTAINER_NONE. */
const char *container_runtime_name(enum container_runtime runtime);

/**
 * The path to ask, out of the text of /proc/PID/cgroup (cgroups(7)): of all hierarchies
 * the one that tells most; cgroup v2 if they tell the same.
 *
 * @ret_len        set to 0 when there is none
 * @ret_hierarchy  its number; 0: that of cgroup v2
 * Return: points into @text
 */
const char *cgroup_path_of(const char *text, size_t len, size_t *ret_len,
			   uint32_t *ret_hierarchy);

#endif
