/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the container, pod and systemd unit of a cgroup by its path, with a table of the
 * naming schemes of container runtimes and systemd and their sources (cgroup.c). Cgroup
 * names are untrusted text to be escaped. Names by root are trusted; a container or pod
 * that another user named gets that uid as a prefix, "1000/ID". Folders inside a
 * container that root made do not change the owner of its name.
 */
#ifndef LB_PROCESS_CGROUP_H
#define LB_PROCESS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/cgroup_mount.h"

enum container_runtime {
	CONTAINER_NONE,
	CONTAINER_DOCKER,
	CONTAINER_PODMAN,
	CONTAINER_CONTAINERD,
	CONTAINER_CRIO,
	CONTAINER_NSPAWN,
	CONTAINER_LXC,
	CONTAINER_ECS,
	CONTAINER_OTHER, /* a container id under an unknown naming scheme */
	NR_CONTAINER_RUNTIMES,
};

#define CONTAINER_ID_BYTES 128
#define POD_UID_BYTES      40
#define UNIT_BYTES         256
#define CLAIM_BYTES        11 /* in front of an id: "4294967294/" */

/* Texts are "" if the path does not have them. */
struct cgroup_owner {
	enum container_runtime runtime;
	/* Id of the outermost container; nspawn and LXC: its name. */
	char container[CLAIM_BYTES + CONTAINER_ID_BYTES];
	/* A user other than root chose the name; it begins with that uid. */
	bool is_claimed;
	/* Who chose it could not be looked at now: it may be root, or another. */
	bool is_late;
	/* Kubernetes pod uid, with dashes; same prefix */
	char pod[CLAIM_BYTES + POD_UID_BYTES];
	char unit
		[UNIT_BYTES]; /* innermost systemd service or scope, unescaped; no slice */
};

/**
 * Finds the owner that the path names. systemd lets users choose names below
 * /user.slice/user-UID.slice/user@UID.service; elsewhere root counts as who chose it.
 *
 * @path  of a cgroup, "/a/b", as /proc/PID/cgroup has it; need not be terminated
 * Return: whether the path names any owner.
 */
bool cgroup_owner_by_path(const char *path, size_t len, struct cgroup_owner *ret);

/* Of a cgroup whose processes are not known: as TENANT_UNKNOWN_UID. */
#define CGROUP_NO_UID UINT32_MAX

/**
 * The same, and finds by the owners of the folders which user chose its name.
 *
 * @place  of its hierarchy; NULL: its folders cannot be seen
 * @uid    user of a process in it, who counts as the owner of the folders that cannot be
 *         seen or are gone: with it, who is in a cgroup of his own has not got root's name
 */
bool cgroup_owner_at(const struct cgroup_place *place, uint32_t uid, const char *path,
		     size_t len, struct cgroup_owner *ret);

/**
 * Returns whether the path is in the slice that systemd makes for a user who is logged in:
 * "/user.slice/user-1000.slice/...". Root's slice is none: su leaves other users there.
 */
bool cgroup_user(const char *path, size_t len, uint32_t *ret);

/**
 * Finds whose a cgroup is: the owner of the first of the folders above it and its own that
 * is not root's.
 *
 * @top  where @path begins
 * @ret  0: all are root's, or cannot be seen
 * Return: false: they could not be looked at now, with 0 in @ret.
 */
bool cgroup_folder_user(int top, const char *path, uint32_t *ret);

/**
 * Undoes systemd's escapes ("\x2d"), except those of control characters, which
 * legitimate names do not have. Return: false, with "" in @ret, when it is empty or
 * does not fit.
 */
bool cgroup_unescape(const char *text, char *ret, size_t size);

/** Returns "docker", "podman", ...; "" for CONTAINER_NONE. */
const char *container_runtime_name(enum container_runtime runtime);

/**
 * Picks the path with the most owner information from the text of /proc/PID/cgroup
 * (cgroups(7)); cgroup v2 among equals.
 *
 * @ret_len        set to 0 when there is none
 * @ret_hierarchy  its number; 0: that of cgroup v2
 * Return: points into @text
 */
const char *cgroup_path_of(const char *text, size_t len, size_t *ret_len,
			   uint32_t *ret_hierarchy);

#endif
