// SPDX-License-Identifier: GPL-2.0-or-later
#include "doctor/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

const char *machine_path(const struct machine *m, const char *path, char *buf,
			 size_t size)
{
	if (snprintf(buf, size, "%s%s", m->root, path) >= (int)size)
		buf[0] = '\0';
	return buf;
}

ssize_t machine_line(const struct machine *m, const char *path, char *buf, size_t size)
{
	_cleanup_close_ int fd = -1;
	char full[PATH_MAX];
	ssize_t n;

	buf[0] = '\0';
	fd = open(machine_path(m, path, full, sizeof(full)), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return (ssize_t)strlen(buf);
}

int machine_number(const struct machine *m, const char *path, long *ret)
{
	char buf[64], *end;
	ssize_t n = machine_line(m, path, buf, sizeof(buf));
	long v;

	if (n < 0)
		return (int)n;
	v = strtol(buf, &end, 10);
	if (end == buf || *end)
		return -EINVAL;
	*ret = v;
	return 0;
}

bool machine_has(const struct machine *m, const char *path)
{
	char full[PATH_MAX];

	return !access(machine_path(m, path, full, sizeof(full)), F_OK);
}

bool machine_has_cap(const struct machine *m, int cap)
{
	return m->caps >> cap & 1;
}

/* Reads CapEff and Uid of /proc/self/status. */
static void read_status(struct machine *m)
{
	_cleanup_fclose_ FILE *f = NULL;
	char full[PATH_MAX], line[512];

	f = fopen(machine_path(m, "/proc/self/status", full, sizeof(full)), "re");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned int uid;

		if (!strncmp(line, "CapEff:", 7))
			m->caps = strtoull(line + 7, NULL, 16);
		else if (sscanf(line, "Uid: %*u %u", &uid) == 1)
			m->uid = uid;
	}
}

/* "pid:[4026531836]": compared with the initial namespace's number. */
static enum placement read_placement(const struct machine *m, const char *kind,
				     unsigned int initial)
{
	char path[64], full[PATH_MAX], link[64], expected[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	snprintf(expected, sizeof(expected), "%s:[%u]", kind, initial);
	n = readlink(machine_path(m, path, full, sizeof(full)), link, sizeof(link) - 1);
	if (n < 0)
		return PLACE_UNKNOWN;
	link[n] = '\0';
	return strcmp(link, expected) ? PLACE_NESTED : PLACE_INITIAL;
}

/* Parts of container managers' cgroup paths, and files that they create. */
static const struct {
	const char *name, *file, *cgroup;
} containers[] = {
	{"Kubernetes", "/var/run/secrets/kubernetes.io", "kubepods"},
	{"Podman", "/run/.containerenv", "libpod-"},
	{"Docker", "/.dockerenv", "docker-"},
	{"Docker", NULL, "/docker/"},
	{"containerd", NULL, "cri-containerd"},
	{"LXC", "/dev/lxd", "lxc.payload"},
	{"systemd-nspawn", NULL, "machine.slice/machine-"},
};

/*
 * Checks the cgroup first. In its own cgroup namespace a container sees only "/", and
 * then the file decides. Otherwise a file proves nothing, because virtual machine images
 * are made from container images.
 */
static const char *read_container(const struct machine *m)
{
	_cleanup_fclose_ FILE *f = NULL;
	char full[PATH_MAX], line[1024];

	f = fopen(machine_path(m, "/proc/self/cgroup", full, sizeof(full)), "re");
	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < ARRAY_SIZE(containers); i++)
			if (strstr(line, containers[i].cgroup))
				return containers[i].name;
	if (m->user_ns != PLACE_NESTED && m->pid_ns != PLACE_NESTED &&
	    m->cgroup_ns != PLACE_NESTED)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(containers); i++)
		if (containers[i].file && machine_has(m, containers[i].file))
			return containers[i].name;
	return NULL;
}

void machine_read(const char *root, struct machine *ret)
{
	*ret = (struct machine){.root = root, .uid = UINT32_MAX};
	read_status(ret);
	ret->user_ns = read_placement(ret, "user", INITIAL_USER_NS);
	ret->pid_ns = read_placement(ret, "pid", INITIAL_PID_NS);
	ret->cgroup_ns = read_placement(ret, "cgroup", INITIAL_CGROUP_NS);
	ret->container = read_container(ret);
	kernel_texts_read(root, ret->release, ret->version);
	ret->level_known = kernel_level_find(ret->release, ret->version, &ret->level);
}
