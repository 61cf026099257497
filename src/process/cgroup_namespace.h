/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of cgroups as a cgroup namespace shows them (cgroup_namespaces(7)): its root is
 * "/", and what lies beside or above begins with "/..", once for each level. The root of a
 * mount is told in the same way (proc(5), mountinfo): "/../.." in a namespace that begins
 * two levels below what is mounted there.
 */
#ifndef LB_PROCESS_CGROUP_NAMESPACE_H
#define LB_PROCESS_CGROUP_NAMESPACE_H

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
