/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine built by hand: samples with labels of their owners. */
#ifndef LB_TESTS_PROFILE_OWNERS_H
#define LB_TESTS_PROFILE_OWNERS_H

#include "unit/profile/fixture.h"

#include "profile/labels.h"

#define WEB_ID   "3f2a8c9d0e1f4455667788990011223344556677889900112233445566778899"
#define DB_ID    "3f91cc09a1b2d3445566778899001122334455667788990011223344556677aa"
#define CACHE_ID "77aa8c9d0e1f4455667788990011223344556677889900112233445566778899"
#define POD_UID  "0c5b2c6e-8a55-4a5e-9d0f-5a7f7c1d2e3f"

/* Labels of one sample; NULL and 0: no such label. */
struct owner {
	int64_t pid, tid, cgroup_id;
	const char *comm, *exe, *user, *cgroup, *container, *name, *runtime, *pod, *unit;
};

static inline size_t put_text(struct profile *p, struct profile_label *labels, size_t nr,
			      const char *key, const char *text)
{
	if (text)
		labels[nr++] = (struct profile_label){.key = strpool_add(p->pool, key),
						      .str = strpool_add(p->pool, text),
						      .unit = strpool_add(p->pool, "")};
	return nr;
}

static inline size_t put_number(struct profile *p, struct profile_label *labels,
				size_t nr, const char *key, int64_t number)
{
	if (number)
		labels[nr++] = (struct profile_label){.key = strpool_add(p->pool, key),
						      .str = strpool_add(p->pool, ""),
						      .num = number,
						      .unit = strpool_add(p->pool, "")};
	return nr;
}

static inline void add_owned(struct profile *p, uint32_t location, int64_t count,
			     const struct owner *o)
{
	struct profile_label labels[12];
	size_t nr = put_number(p, labels, 0, LABEL_PID, o->pid);

	nr = put_number(p, labels, nr, LABEL_TID, o->tid);
	nr = put_number(p, labels, nr, LABEL_CGROUP_ID, o->cgroup_id);
	nr = put_text(p, labels, nr, LABEL_COMM, o->comm);
	nr = put_text(p, labels, nr, LABEL_EXE, o->exe);
	nr = put_text(p, labels, nr, LABEL_USER, o->user);
	nr = put_text(p, labels, nr, LABEL_CGROUP, o->cgroup);
	nr = put_text(p, labels, nr, LABEL_CONTAINER, o->container);
	nr = put_text(p, labels, nr, LABEL_CONTAINER_NAME, o->name);
	nr = put_text(p, labels, nr, LABEL_RUNTIME, o->runtime);
	nr = put_text(p, labels, nr, LABEL_POD, o->pod);
	nr = put_text(p, labels, nr, LABEL_UNIT, o->unit);
	assert_int_not_equal(profile_add_sample(p, &location, 1, labels, nr, 0,
						(int64_t[]){count, count * PERIOD_NS}),
			     PROFILE_NONE);
}

/*
 * 1000 samples: the containers web 400, db 300, one without a name 50, one of a pod 20;
 * the service ssh 100, and one of the same name in a container 30; the kernel 100.
 */
static inline void add_machine(struct profile *p)
{
	const struct owner web = {.pid = 100,
				  .tid = 100,
				  .comm = "nginx",
				  .exe = "/usr/sbin/nginx",
				  .user = "www-data",
				  .cgroup = "/system.slice/docker-" WEB_ID ".scope",
				  .container = WEB_ID,
				  .name = "web",
				  .runtime = "docker",
				  .unit = "docker-" WEB_ID ".scope"};
	const struct owner db = {.pid = 200,
				 .tid = 201,
				 .comm = "postgres",
				 .exe = "/usr/lib/postgresql/15/bin/postgres",
				 .user = "999",
				 .cgroup = "/machine.slice/libpod-" DB_ID
					   ".scope/container",
				 .container = DB_ID,
				 .name = "db",
				 .runtime = "podman",
				 .unit = "libpod-" DB_ID ".scope"};
	const struct owner ssh = {.pid = 300,
				  .tid = 300,
				  .comm = "sshd",
				  .exe = "/usr/sbin/sshd",
				  .user = "root",
				  .cgroup = "/system.slice/ssh.service",
				  .unit = "ssh.service"};
	const struct owner kernel = {.pid = 20, .tid = 20, .comm = "kworker/0:1"};
	uint32_t app = add_mapping(p, "/usr/sbin/app");
	uint32_t line = add_location(p, app, 1, MISS_NONE, "serve@/src/app.c:10");
	uint32_t bare = add_location(p, app, 2, MISS_NO_DEBUG_INFO, "memcpy");
	struct owner o = web;

	add_owned(p, line, 290, &web);
	o.comm = "nginx-log"; /* another thread of nginx */
	o.tid = 101;
	add_owned(p, bare, 110, &o);
	add_owned(p, line, 300, &db);
	o = web;
	o.pid = o.tid = 100; /* the pid is reused */
	o.exe = "/usr/bin/redis-server";
	o.comm = "redis-server";
	o.container = CACHE_ID;
	o.name = NULL;
	o.cgroup = NULL;
	o.cgroup_id = 4242;
	o.unit = NULL;
	add_owned(p, line, 50, &o);
	o.pid = o.tid = 500;
	o.container = "77bb8c9d0e1f445566778899001122aa";
	o.runtime = "containerd";
	o.name = "sidecar";
	o.pod = POD_UID;
	o.cgroup = "/kubepods.slice/pod" POD_UID "/77bb";
	add_owned(p, bare, 20, &o);
	add_owned(p, line, 100, &ssh);
	o = ssh;
	o.pid = o.tid = 600;
	o.container = o.name = "debian";
	o.runtime = "nspawn";
	o.cgroup = "/machine.slice/systemd-nspawn@debian.service/payload/system.slice/"
		   "ssh.service";
	add_owned(p, line, 30, &o);
	add_owned(p, bare, 100, &kernel);
}

#endif
