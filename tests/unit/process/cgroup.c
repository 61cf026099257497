// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths of cgroups as runtimes and systemd make them, and unusual ones. */
#include "process/cgroup.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/scratch.h"
#include "lib/slow_opener.h"

#define ID    "3f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8"
#define ID2   "a8f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f73"
#define TASK  "ceee02dc7551175fde817107c625607d"
#define UID   "6f2c1d3e-4b5a-4c7d-8e9f-0123456789ab"
#define UID_  "6f2c1d3e_4b5a_4c7d_8e9f_0123456789ab"
#define BUILD "k3v9x0q2m7z1a8b4c6d5e9f2g"
#define QOS \
	"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/"
#define SESSION "/user.slice/user-1000.slice/user@1000.service/"

static const struct known {
	const char *path;
	enum container_runtime runtime;
	const char *container, *pod, *unit;
} known[] = {
	/* docker */
	{"/docker/" ID, CONTAINER_DOCKER, ID, "", ""},
	{"/docker/" ID "/init", CONTAINER_DOCKER, ID, "", ""},
	{"/docker/" ID "/system.slice/nginx.service", CONTAINER_DOCKER, ID, "",
	 "nginx.service"},
	{"/docker/" ID "/supervisor", CONTAINER_DOCKER, ID, "", ""},
	{"/system.slice/docker-" ID ".scope", CONTAINER_DOCKER, ID, "",
	 "docker-" ID ".scope"},
	{"/system.slice/docker-" ID ".scope/init", CONTAINER_DOCKER, ID, "",
	 "docker-" ID ".scope"},
	{SESSION "user.slice/docker-" ID ".scope", CONTAINER_DOCKER, "1000/" ID, "",
	 "docker-" ID ".scope"},
	/* names inside a container do not count */
	{"/docker/" ID "/docker/" ID2, CONTAINER_DOCKER, ID, "", ""},
	{"/docker/" ID "/kubepods/pod" UID "/" ID2, CONTAINER_DOCKER, ID, "", ""},
	{QOS "crio-" ID ".scope/kubepods/pod" TASK "/" ID2, CONTAINER_CRIO, ID, UID,
	 "crio-" ID ".scope"},
	/* cgroups named by a user */
	{SESSION "docker-" ID ".scope", CONTAINER_DOCKER, "1000/" ID, "",
	 "docker-" ID ".scope"},
	{SESSION "lxc.payload.web", CONTAINER_LXC, "1000/web", "", "user@1000.service"},
	{SESSION "kubepods/pod" UID "/" ID, CONTAINER_CONTAINERD, "1000/" ID, "1000/" UID,
	 "user@1000.service"},
	{"/../.." SESSION "docker/" ID, CONTAINER_DOCKER, "1000/" ID, "",
	 "user@1000.service"},
	{"/user.slice/user-4294967294.slice/user@4294967294.service/docker/" ID,
	 CONTAINER_DOCKER, "4294967294/" ID, "", "user@4294967294.service"},
	/* cgroups named by root: in another user's slice, and in its own */
	{"/user.slice/user-1000.slice/user@1001.service/docker/" ID, CONTAINER_DOCKER, ID,
	 "", "user@1001.service"},
	{"/user.slice/user-0.slice/user@0.service/docker/" ID, CONTAINER_DOCKER, ID, "",
	 "user@0.service"},
	{"/user.slice/user-1000.slice/docker-" ID ".scope", CONTAINER_DOCKER, ID, "",
	 "docker-" ID ".scope"},
	{"/system.slice/system.slice:docker:" ID, CONTAINER_DOCKER, ID, "", ""},
	{"/docker/buildkit/" BUILD, CONTAINER_DOCKER, BUILD, "", ""},
	{"/system.slice/docker-" BUILD ".scope", CONTAINER_DOCKER, BUILD, "",
	 "docker-" BUILD ".scope"},
	/* Kubernetes: containerd, cri-dockerd, CRI-O; both cgroup drivers */
	{QOS "cri-containerd-" ID ".scope", CONTAINER_CONTAINERD, ID, UID,
	 "cri-containerd-" ID ".scope"},
	{"/kubepods/besteffort/pod" UID "/" ID, CONTAINER_CONTAINERD, ID, UID, ""},
	{"/kubepods/pod" UID "/" ID, CONTAINER_CONTAINERD, ID, UID, ""},
	{"/kubelet/kubepods/burstable/pod" TASK "/" ID, CONTAINER_CONTAINERD, ID, TASK,
	 ""},
	{"/system.slice/containerd.service/kubepods-besteffort-pod" UID_
	 ".slice:cri-containerd:" ID,
	 CONTAINER_CONTAINERD, ID, UID, "containerd.service"},
	{"/docker/" ID2
	 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice"
	 "/kubelet-kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	 CONTAINER_DOCKER, ID2, "", "cri-containerd-" ID ".scope"},
	{QOS "docker-" ID ".scope", CONTAINER_DOCKER, ID, UID, "docker-" ID ".scope"},
	{QOS "crio-" ID ".scope", CONTAINER_CRIO, ID, UID, "crio-" ID ".scope"},
	{QOS "crio-" ID ".scope/container", CONTAINER_CRIO, ID, UID, "crio-" ID ".scope"},
	{"/kubepods/burstable/pod" UID "/crio-" ID, CONTAINER_CRIO, ID, UID, ""},
	{QOS "crio-conmon-" ID ".scope", CONTAINER_NONE, "", UID,
	 "crio-conmon-" ID ".scope"},
	{"/kubepods/burstable/pod" UID "/crio-conmon-" ID, CONTAINER_NONE, "", UID, ""},
	{"/kubepods.slice/kubepods-pod" TASK ".slice", CONTAINER_NONE, "", TASK, ""},
	/* containerd without Kubernetes */
	{"/default/" ID, CONTAINER_CONTAINERD, ID, "", ""},
	{"/system.slice/nerdctl-" ID ".scope", CONTAINER_CONTAINERD, ID, "",
	 "nerdctl-" ID ".scope"},
	/* podman: as root, as a user, in a pod, in a service, with cgroupfs */
	{"/machine.slice/libpod-" ID ".scope", CONTAINER_PODMAN, ID, "",
	 "libpod-" ID ".scope"},
	{"/machine.slice/libpod-" ID ".scope/container", CONTAINER_PODMAN, ID, "",
	 "libpod-" ID ".scope"},
	{SESSION "user.slice/libpod-" ID ".scope/container", CONTAINER_PODMAN, "1000/" ID,
	 "", "libpod-" ID ".scope"},
	{"/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID ".scope",
	 CONTAINER_PODMAN, ID, "", "libpod-" ID ".scope"},
	{"/system.slice/web.service/libpod-payload-" ID, CONTAINER_PODMAN, ID, "",
	 "web.service"},
	{"/libpod_parent/libpod-" ID, CONTAINER_PODMAN, ID, "", ""},
	{"/libpod_parent/conmon", CONTAINER_NONE, "", "", ""},
	{"/machine.slice/libpod-conmon-" ID ".scope", CONTAINER_NONE, "", "",
	 "libpod-conmon-" ID ".scope"},
	{"/docker/" ID2 "/libpod-conmon-" ID ".scope", CONTAINER_DOCKER, ID2, "",
	 "libpod-conmon-" ID ".scope"},
	/* ECS */
	{"/ecs/" TASK "/" ID, CONTAINER_ECS, ID, "", ""},
	{"/ecs/my-cluster/" TASK "/" ID, CONTAINER_ECS, ID, "", ""},
	{"/ecs/" TASK "/" TASK "-1234567890", CONTAINER_ECS, TASK "-1234567890", "", ""},
	{"/ecstasks.slice/ecstasks-" TASK ".slice/docker-" ID ".scope", CONTAINER_DOCKER,
	 ID, "", "docker-" ID ".scope"},
	/* LXC, Proxmox, libvirt */
	{"/lxc.payload.web1", CONTAINER_LXC, "web1", "", ""},
	{"/lxc.payload.web-1/system.slice/ssh.service", CONTAINER_LXC, "web-1", "",
	 "ssh.service"},
	{"/lxc.payload/db", CONTAINER_LXC, "db", "", ""},
	{"/lxc/101/ns/init.scope", CONTAINER_LXC, "101", "", "init.scope"},
	{"/lxc.monitor.web1", CONTAINER_NONE, "", "", ""},
	{"/srv/lxc/not", CONTAINER_NONE, "", "", ""},
	{"/machine.slice/machine-lxc\\x2d42\\x2dold.scope", CONTAINER_LXC, "old", "",
	 "machine-lxc-42-old.scope"},
	{"/machine.slice/machine-qemu\\x2d3\\x2dvm.scope/libvirt/emulator",
	 CONTAINER_NONE, "", "", "machine-qemu-3-vm.scope"},
	/* nspawn */
	{"/machine.slice/machine-deb\\x2d12.scope/payload", CONTAINER_NSPAWN, "deb-12",
	 "", "machine-deb-12.scope"},
	{"/machine.slice/systemd-nspawn@arch.service/payload/system.slice/a.service",
	 CONTAINER_NSPAWN, "arch", "", "a.service"},
	{"/machine.slice/systemd-nspawn@arch.service/supervisor", CONTAINER_NONE, "", "",
	 "systemd-nspawn@arch.service"},
	{"/machine.slice/machine-qemu-lab.scope", CONTAINER_NSPAWN, "qemu-lab", "",
	 "machine-qemu-lab.scope"},
	/* other names with such an id */
	{"/actions_job/" ID, CONTAINER_OTHER, ID, "", ""},
	{"/system.slice/whatever-" ID ".scope", CONTAINER_OTHER, ID, "",
	 "whatever-" ID ".scope"},
	{"/system.slice/" ID ".scope", CONTAINER_OTHER, ID, "", ID ".scope"},
	/* systemd */
	{"/system.slice/ssh.service", CONTAINER_NONE, "", "", "ssh.service"},
	{"/system.slice/system-getty.slice/getty@tty1.service", CONTAINER_NONE, "", "",
	 "getty@tty1.service"},
	{"/system.slice/foo\\x2dbar.service", CONTAINER_NONE, "", "", "foo-bar.service"},
	{"/system.slice/_cpu.service", CONTAINER_NONE, "", "", "cpu.service"},
	{SESSION "app.slice/app-org.gnome.Terminal.slice"
		 "/vte-spawn-6f2c1d3e-4b5a-4c7d-8e9f-0123456789ab.scope",
	 CONTAINER_NONE, "", "", "vte-spawn-" UID ".scope"},
	{SESSION "app.slice", CONTAINER_NONE, "", "", "user@1000.service"},
	{"/system.slice/run-r" TASK ".scope", CONTAINER_NONE, "", "",
	 "run-r" TASK ".scope"},
	{"/system.slice/" ID ".service", CONTAINER_NONE, "", "", ID ".service"},
	{"/init.scope", CONTAINER_NONE, "", "", "init.scope"},
	/* no container or unit */
	{"", CONTAINER_NONE, "", "", ""},
	{"/", CONTAINER_NONE, "", "", ""},
	{"////", CONTAINER_NONE, "", "", ""},
	{"/../..", CONTAINER_NONE, "", "", ""},
	{"/user.slice/user-1000.slice", CONTAINER_NONE, "", "", ""},
	{"/process_api/" TASK, CONTAINER_NONE, "", "", ""},
	{"/" UID, CONTAINER_NONE, "", "", ""},
	{"/docker/" ID "a", CONTAINER_NONE, "", "", ""},
	{"/docker/short", CONTAINER_NONE, "", "", ""},
	{"/docker-.scope", CONTAINER_NONE, "", "", "docker-.scope"},
	{"/.service", CONTAINER_NONE, "", "", ""},
	{"/_.scope", CONTAINER_NONE, "", "", ""},
	{"/machine-.scope", CONTAINER_NONE, "", "", "machine-.scope"},
	{"/lxc.payload.", CONTAINER_NONE, "", "", ""},
	{"/podman/x", CONTAINER_NONE, "", "", ""},
	{"/pod" UID "/x", CONTAINER_NONE, "", "", ""},
	{"/kubepods/pod" UID "x/a", CONTAINER_NONE, "", "", ""},
	{"/kubepods/pod6f2c1d3e-4b5a-4c7d-8e9f-0123456789ag", CONTAINER_NONE, "", "", ""},
	/* seen from a sibling cgroup namespace */
	{"/../docker-" ID ".scope", CONTAINER_DOCKER, ID, "", "docker-" ID ".scope"},
	/* hostile: names are kept as they are */
	{"/a\nb;c)\x1b[31m.service", CONTAINER_NONE, "", "", "a\nb;c)\x1b[31m.service"},
	{"/\xff\xfe\x80.scope", CONTAINER_NONE, "", "", "\xff\xfe\x80.scope"},
	{"/a\\x0a\\x1b\\x00\\x7fz.service", CONTAINER_NONE, "", "",
	 "a\\x0a\\x1b\\x00\\x7fz.service"},
	{"/caf\\xc3\\xa9\\x.service", CONTAINER_NONE, "", "", "caf\xc3\xa9\\x.service"},
	{"/lxc.payload.;rm)\n", CONTAINER_LXC, ";rm)\n", "", ""},
};

/* Parses a copy without a NUL, so that AddressSanitizer sees reads past its end. */
static bool owner_of(const char *path, struct cgroup_owner *ret)
{
	size_t len = strlen(path);
	_cleanup_free_ char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, path, len);
	return cgroup_owner_by_path(copy, len, ret);
}

static void shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const struct known *k = &known[i];
		struct cgroup_owner owner;
		bool tells = owner_of(k->path, &owner);

		if (owner.runtime != k->runtime || strcmp(owner.container, k->container))
			fail_msg("%s: %s %s", k->path,
				 container_runtime_name(owner.runtime), owner.container);
		if (strcmp(owner.pod, k->pod) || strcmp(owner.unit, k->unit))
			fail_msg("%s: pod %s unit %s", k->path, owner.pod, owner.unit);
		assert_int_equal(tells, k->runtime || *k->pod || *k->unit);
	}
}

#define SOMEBODY 1001 /* the user of a process in the cgroup */

/* @above  prefix of the id */
static void assert_container(const struct cgroup_place *place, const char *path,
			     const char *above)
{
	struct cgroup_owner owner;
	char expected[128];

	snprintf(expected, sizeof(expected), "%s" ID, above);
	assert_true(cgroup_owner_at(place, SOMEBODY, path, strlen(path), &owner));
	assert_string_equal(owner.container, expected);
	assert_int_equal(owner.is_claimed, *above != '\0');
	assert_int_equal(owner.runtime, CONTAINER_DOCKER);
}

/* No folder can be seen, and no process of it is known. */
static void who_named_it_may_be_unknown(void **state)
{
	static const char path[] = "/docker/" ID;
	struct cgroup_owner owner;

	(void)state;
	assert_true(cgroup_owner_at(NULL, CGROUP_NO_UID, path, strlen(path), &owner));
	assert_string_equal(owner.container, "?/" ID);
	assert_true(owner.is_claimed);
}

/* The same folders, as namespaces of cgroups show them. @ours  prefix of our names */
static void assert_in_namespaces(int dir, const char *ours)
{
	char two_up[] = "/../..", up[] = "/..", a[] = "/a.slice";
	const struct cgroup_place above = {.fd = dir, .root = two_up},
				  inside = {.fd = dir, .root = up, .base = a};

	assert_container(&above, "/../../a.slice/docker-" ID ".scope", ours);
	assert_container(&inside, "/../a.slice/docker-" ID ".scope", ours);
	assert_container(&inside, "/docker-" ID ".scope", ours);
	/* Where the namespace's root is below the top is not known. */
	assert_container(&above, "/../a.slice/docker-" ID ".scope", "1001/");
	assert_container(&above, "/docker-" ID ".scope", "1001/");
	assert_container(&above, "/../../../docker-" ID ".scope", "1001/");
	if (geteuid())
		return;
	assert_container(&above, "/../../a.slice/b.service/docker-" ID ".scope",
			 "65534/");
	assert_container(&inside, "/../a.slice/b.service/docker-" ID ".scope", "65534/");
	assert_container(&inside, "/b.service/docker-" ID ".scope", "65534/");
}

/* @ours  prefix of our names */
static void assert_in_folders(const struct cgroup_place *place, const char *ours)
{
	assert_container(place, "/a.slice/docker-" ID ".scope", ours);
	/*
	 * The container's own directory may belong to its user: its name was given by
	 * the parent's owner.
	 */
	assert_container(place, "/a.slice/docker-" ID ".scope/b", ours);
	assert_container(place, "/docker-" ID ".scope/gone/b", ours);
	if (!geteuid()) {
		assert_container(place, "/a.slice/b.service/docker-" ID ".scope",
				 "65534/");
		assert_container(place, "/a.slice/b.service/c/docker-" ID ".scope",
				 "65534/");
		assert_container(place, "/open/docker-" ID ".scope", "0/");
	}
	/* Folders that cannot be seen, or are gone. */
	assert_container(place, "/../docker-" ID ".scope", "1001/");
	assert_container(place, "/a.slice/gone/docker-" ID ".scope",
			 geteuid() ? ours : "1001/");
	assert_container(place, SESSION "docker-" ID ".scope", "1000/");
}

/*
 * Names inside a user's directory are the user's, also where owners that were just read count.
 * Uses a tree like that of cgroups.
 */
static void names_in_folders_of_users(void **state)
{
	char top[SCRATCH_BYTES], ours[16] = "", root[] = "/";
	struct cgroup_place whole = {.fd = -1, .root = root}, kept = {.fd = -1};
	struct cgroup_mount mount = {.path = top};
	_cleanup_close_ int dir = -1;
	uid_t other = geteuid() ? geteuid() : 65534;

	(void)state;
	scratch_make(top, 0755);
	dir = whole.fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(mkdirat(dir, "a.slice", 0755), 0);
	assert_int_equal(mkdirat(dir, "a.slice/b.service", 0755), 0);
	assert_int_equal(mkdirat(dir, "a.slice/docker-" ID ".scope", 0755), 0);
	assert_int_equal(mkdirat(dir, "open", 0755), 0);
	assert_int_equal(fchmodat(dir, "open", 0777, 0), 0);
	assert_int_equal(fchownat(dir, "a.slice/b.service", other, (gid_t)-1, 0), 0);
	assert_int_equal(
		fchownat(dir, "a.slice/docker-" ID ".scope", other, (gid_t)-1, 0), 0);
	/* Without root, all directories belong to our user. */
	if (geteuid())
		snprintf(ours, sizeof(ours), "%u/", geteuid());
	assert_in_folders(&whole, ours);
	assert_true(cgroup_place_open(&kept, &mount));
	assert_in_folders(&kept, ours);
	cgroup_place_close(&kept);
	/* The standard input was not one of its descriptors. */
	assert_true(fcntl(0, F_GETFD) >= 0);
	assert_in_namespaces(dir, ours);
	assert_container(NULL, "/docker-" ID ".scope", "1001/");
	assert_container(NULL, SESSION "docker-" ID ".scope", "1000/");
	assert_int_equal(unlinkat(dir, "a.slice/docker-" ID ".scope", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(dir, "a.slice/b.service", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(dir, "a.slice", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(dir, "open", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(top), 0);
}

static uint32_t user_of(int top, const char *path)
{
	uint32_t user;

	assert_true(cgroup_folder_user(top, path, &user));
	return user;
}

/* The first folder from the top that is not root's decides, whoever has those in it. */
static void whose_a_folder_is(void **state)
{
	_cleanup_close_ int dir = -1;
	char top[SCRATCH_BYTES];

	(void)state;
	scratch_make(top, 0755);
	dir = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(mkdirat(dir, "a", 0755), 0);
	assert_int_equal(mkdirat(dir, "a/b", 0755), 0);
	assert_int_equal(mkdirat(dir, "a/b/c", 0755), 0);
	assert_int_equal(user_of(dir, "/"), geteuid());
	assert_int_equal(user_of(dir, "/a/b"), geteuid());
	if (!geteuid()) {
		assert_int_equal(fchownat(dir, "a/b", 1000, (gid_t)-1, 0), 0);
		assert_int_equal(fchownat(dir, "a/b/c", 100000, (gid_t)-1, 0), 0);
		assert_int_equal(user_of(dir, "/a"), 0);
		assert_int_equal(user_of(dir, "/a/b"), 1000);
		assert_int_equal(user_of(dir, "/a/b/c"), 1000);
		assert_int_equal(user_of(dir, "/a/b/gone/c"), 1000);
		assert_int_equal(user_of(dir, "/gone/c"), 0);
		assert_int_equal(user_of(-1, "/a/b"), 0);
	}
	scratch_remove(top);
}

static void repeat(char *to, size_t size, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i + 1 < size; i++)
		to[i] = what[i % n];
	to[size - 1] = '\0';
}

/* Until it is looked at again. */
static void a_late_owner_is_said_to_be_late(void **state)
{
	struct cgroup_place place = {.fd = -1};
	char top[SCRATCH_BYTES], expected[128];
	struct cgroup_mount mount = {.path = top};
	const char *path = "/docker-" ID ".scope";
	struct cgroup_owner owner;
	uint32_t user;

	(void)state;
	scratch_make(top, 0755);
	assert_true(cgroup_place_open(&place, &mount));
	assert_int_equal(opener_begin(NULL), 0);
	assert_true(cgroup_folder_user(place.fd, "/", &user));
	kill(slow_opener_pid(), SIGSTOP);
	assert_true(cgroup_owner_at(&place, SOMEBODY, path, strlen(path), &owner));
	assert_true(owner.is_late);
	assert_string_equal(owner.container, "1001/" ID);
	assert_false(cgroup_folder_user(place.fd, "/", &user));
	opener_end();
	assert_true(cgroup_owner_at(&place, SOMEBODY, path, strlen(path), &owner));
	assert_false(owner.is_late);
	snprintf(expected, sizeof(expected), geteuid() ? "%u/" ID : ID, geteuid());
	assert_string_equal(owner.container, expected);
	cgroup_place_close(&place);
	scratch_remove(top);
}

static void long_paths(void **state)
{
	static const char *const what[] = {
		"/",     "/a",   "a",        "/x.service",
		"\\x2d", "/pod", "/docker-", "/kubepods-pod" UID_};
	struct cgroup_owner owner;
	char path[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(what); i++) {
		repeat(path, sizeof(path), what[i]);
		owner_of(path, &owner);
		assert_int_equal(owner.runtime, CONTAINER_NONE);
	}
	/* A container is found below 4,000 bytes of other directories. */
	repeat(path, 4000, "/folder");
	strcpy(path + 3999, "/libpod-" ID);
	assert_true(owner_of(path, &owner));
	assert_string_equal(owner.container, ID);
	/* A name that is too long is dropped: truncated it would be another name. */
	strcpy(path, "/lxc.payload.");
	memset(path + 13, 'n', 200);
	path[213] = '\0';
	assert_false(owner_of(path, &owner));
	path[13 + CONTAINER_ID_BYTES - 1] = '\0';
	assert_true(owner_of(path, &owner));
	assert_int_equal(strlen(owner.container), CONTAINER_ID_BYTES - 1);
	memset(path + 1, 'u', 260);
	strcpy(path + 261, ".service");
	assert_false(owner_of(path, &owner));
}

static const struct known_text {
	const char *text, *path; /* NULL: none */
} known_texts[] = {
	/* v2 only */
	{"0::/system.slice/ssh.service\n", "/system.slice/ssh.service"},
	{"0::/\n", "/"},
	{"0::/../..\n", "/../.."},
	{"0::/a:b/c:d", "/a:b/c:d"},
	{"0::/gone.service (deleted)\n", "/gone.service"},
	/* v1: systemd's hierarchy is preferred to others that say as much */
	{"12:memory:/user.slice\n2:cpu,cpuacct:/\n1:name=systemd:/user.slice/x\n",
	 "/user.slice/x"},
	{"3:cpuset:/a\n2:memory:/b\n", "/b"},
	{"3:pids:/docker/" ID "\n2:cpu:/\n1:name=systemd:/system.slice/docker.service\n",
	 "/docker/" ID},
	/* hybrid: v2 is preferred if it says as much */
	{"9:name=systemd:/x.service\n4:memory:/y/" TASK "\n0::/z.service\n",
	 "/z.service"},
	{"9:name=systemd:/\n4:memory:/process_api/" TASK "\n1:cpu:/\n0::/\n",
	 "/process_api/" TASK},
	{"9:name=systemd:/\n4:memory:/\n0::/own\n", "/own"},
	{"4:memory:/kubepods/burstable/pod" UID "/" ID "\n0::/system.slice/x.service\n",
	 "/kubepods/burstable/pod" UID "/" ID},
	{"1:name=systemd:/\n0::/\n", "/"},
	/* invalid text */
	{"", NULL},
	{"\n\n\n", NULL},
	{"0::", NULL},
	{"0:/a", NULL},
	{"0::relative\n", NULL},
	{"garbage\n0::/ok\n:::\n", "/ok"},
};

static void hierarchies(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known_texts); i++) {
		const struct known_text *k = &known_texts[i];
		size_t len = strlen(k->text), path_len = 77;
		_cleanup_free_ char *copy = malloc(len ? len : 1);
		const char *path;
		uint32_t hierarchy;

		assert_non_null(copy);
		memcpy(copy, k->text, len);
		path = cgroup_path_of(copy, len, &path_len, &hierarchy);
		assert_int_equal(path_len, k->path ? strlen(k->path) : 0);
		if (k->path && memcmp(path, k->path, path_len))
			fail_msg("%s: %.*s", k->text, (int)path_len, path);
		assert_true(path >= copy && path + path_len <= copy + len);
		assert_int_equal(!hierarchy && path_len,
				 path_len && path - copy >= 2 && path[-2] == ':');
	}
}

/* Whoever is in no user's slice stays who he is. */
static void slices_of_users(void **state)
{
	static const struct {
		const char *path;
		uint32_t uid; /* 77: none */
	} slices[] = {
		{"/user.slice/user-1000.slice/session-3.scope", 1000},
		{"/../../user.slice/user-1000.slice/session-3.scope", 1000},
		{"/user.slice/user-0.slice/session-4.scope", 77},
		{"/user.slice/user-1000.slice", 77},
		{"/user.slice/user-1000.service/x", 77},
		{"/user.slice/user-01000.slice/x", 77},
		{"/user.slice/user-4294968296.slice/x", 77}, /* 2^32 + 1000 */
		{"/user.slice/user-.slice/x", 77},
		{"/a/user.slice/user-1000.slice/x", 77},
		{"/", 77},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(slices); i++) {
		const char *path = slices[i].path;
		uint32_t uid = 77;
		bool is_user = cgroup_user(path, strlen(path), &uid);

		if (uid != slices[i].uid || is_user != (uid != 77))
			fail_msg("%s: %d %u", path, is_user, uid);
	}
}

static void runtimes_have_names(void **state)
{
	(void)state;
	assert_string_equal(container_runtime_name(CONTAINER_NONE), "");
	assert_string_equal(container_runtime_name(CONTAINER_DOCKER), "docker");
	for (int i = CONTAINER_NONE + 1; i < NR_CONTAINER_RUNTIMES; i++)
		assert_true(*container_runtime_name((enum container_runtime)i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(who_named_it_may_be_unknown),
		cmocka_unit_test(names_in_folders_of_users),
		cmocka_unit_test(whose_a_folder_is),
		cmocka_unit_test(a_late_owner_is_said_to_be_late),
		cmocka_unit_test(long_paths),
		cmocka_unit_test(hierarchies),
		cmocka_unit_test(slices_of_users),
		cmocka_unit_test(runtimes_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
