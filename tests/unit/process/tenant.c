// SPDX-License-Identifier: GPL-2.0-or-later
/* Who pays for places in the process table, and that nobody takes those of others. */
#include "process/table.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_proc.h"
#include "process/image.h"

#define TICK     10000000ull
#define MS       1000000ull
#define ID       "3f4b9d2c5a6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7a8"
#define OTHER_ID "0000000000000000000000000000000000000000000000000000000000000001"
#define SLICE    "0::/user.slice/user-1000.slice/"
#define ROOTLESS SLICE "user@1000.service/user.slice/libpod-" ID ".scope\n"
#define SESSION  SLICE "session-3.scope\n"
/* Of alice and bob, of root's containers, and of somebody who has no line in /etc/passwd. */
#define SUBUID                \
	"1000:165000:65536\n" \
	"1001:265000:65536\n" \
	"root:400000:65536\n" \
	"lb-no-such-user:500000:65536\n"
#define LINE "00400000-00500000 r-xp 00001000 00:01 11 /bin/fake\n"

static struct fake_proc fake;
static struct strpool *pool;
static struct process_table *table;
static uint64_t now; /* after the last scan */
static uint64_t start; /* same, since boot */
static char subuid[sizeof(fake.path) + 8];

static void new_table(size_t max_processes, size_t max_mappings)
{
	struct process_table_config config = {.proc_path = fake.proc,
					      .cgroup_mounts = &fake_cgroups,
					      .is_shared = true,
					      .subuid_path = subuid,
					      .max_processes = max_processes,
					      .max_mappings = max_mappings};

	process_table_free(table);
	table = NULL;
	assert_int_equal(process_table_new(&config, pool, &table, NULL), 0);
}

static int setup(void **state)
{
	(void)state;
	fake_proc_init(&fake);
	snprintf(subuid, sizeof(subuid), "%s/subuid", fake.path);
	fake_write(SUBUID, strlen(SUBUID), "%s", subuid);
	fake_process_add(&fake, &(struct fake_process){.pid = 1, .maps = LINE});
	pool = strpool_new(1 << 24);
	new_table(0, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	process_table_free(table);
	table = NULL;
	strpool_free(pool);
	fake_proc_deinit(&fake);
	return 0;
}

static void scan(void)
{
	assert_int_equal(process_table_scan(table, NULL, 0, NULL), 0);
	now = fake_now_ns();
	start = clock_boot_ns();
}

static void add(uint32_t pid, uid_t uid, const char *cgroup)
{
	fake_process_add(&fake, &(struct fake_process){.pid = pid,
						       .start_ticks = 77,
						       .uid = uid,
						       .cgroup = cgroup,
						       .maps = LINE});
}

static struct tenant tenant_of(uint32_t pid)
{
	const struct process *p = process_table_newest(table, pid);

	assert_non_null(p);
	return p->tenant;
}

static void assert_user(uint32_t pid, uint32_t uid)
{
	struct tenant who = tenant_of(pid);

	assert_int_equal(who.container, 0);
	assert_int_equal(who.uid, uid);
}

static void sample(uint32_t pid)
{
	assert_non_null(process_table_first_sample(table, IMAGE(pid, 77 * TICK, 1), now));
}

static void assert_tenants(void)
{
	struct tenant web = tenant_of(20);

	assert_user(10, 0);
	assert_user(11, 1000);
	assert_user(12, TENANT_UNKNOWN_UID);
	assert_int_not_equal(web.container, 0);
	assert_true(tenant_is_same(tenant_of(21), web));
	assert_int_not_equal(tenant_of(22).container, 0);
	assert_false(tenant_is_same(tenant_of(22), web));
	assert_user(23, 1000);
	assert_user(30, 1000);
	assert_user(31, 1000);
	assert_user(32, 1000);
}

/* At the scan, and when the owner is read with the first sample. */
static void the_container_or_the_user_pays(void **state)
{
	(void)state;
	add(10, 0, "0::/system.slice/sshd.service\n");
	add(11, 1000, "0::/\n");
	add(12, 0, "");
	add(20, 0, "0::/docker-" ID ".scope\n");
	add(21, 1000, "0::/docker-" ID ".scope/below\n");
	add(22, 0, "0::/docker-" OTHER_ID ".scope\n");
	/* In a folder that is gone: it may have been his. */
	add(23, 1000, "0::/lineburn-gone/docker-" ID ".scope\n");
	/* Users that he got from /etc/subuid, in a container of his and without one. */
	add(30, 165000, ROOTLESS);
	add(31, 165001, SESSION);
	/* After "su - bob" in root's session: bob's, not root's. */
	add(32, 1000, "0::/user.slice/user-0.slice/session-4.scope\n");
	scan();
	assert_tenants();
	for (uint32_t pid = 10; pid <= 32; pid++)
		if (process_table_newest(table, pid))
			sample(pid);
	assert_tenants();
}

static struct process *forked_at(uint32_t parent, uint32_t pid, uint64_t time_ns)
{
	struct task_event ev = {
		.kind = TASK_EVENT_FORK, .time_ns = time_ns, .pid = pid, .ppid = parent};

	process_table_event(table, &ev);
	return process_table_newest(table, pid);
}

static struct process *forked(uint32_t parent, uint32_t pid)
{
	return forked_at(parent, pid, now + MS);
}

static struct process *told_of(uint32_t pid, uint64_t start_ns, uint32_t uid,
			       uint64_t time_ns)
{
	struct lb_first_sample first = {.start_boottime_ns = start_ns,
					.tgid = pid,
					.exec_id = 1,
					.time_ns = time_ns,
					.ids = {.uid = uid, .gid = uid}};

	return process_table_first_told(table, &first);
}

static void told_in_ours(uint32_t pid, uint32_t uid)
{
	struct lb_first_sample first = {
		.start_boottime_ns = 77 * TICK,
		.tgid = pid,
		.exec_id = 1,
		.time_ns = fake_now_ns(),
		.ids = {.uid = uid, .gid = uid, .user_ns = (uint32_t)table->user_ns}};

	assert_non_null(process_table_first_told(table, &first));
}

static struct process *told(uint32_t pid, uint32_t uid, uint64_t time_ns)
{
	return told_of(pid, 77 * TICK, uid, time_ns);
}

/* Of one that was forked(). */
static struct process *told_child(uint32_t pid, uint32_t uid)
{
	return told_of(pid, start, uid, now + 5 * MS);
}

static void executed(uint32_t pid, uint64_t time_ns)
{
	process_table_event(table, &(struct task_event){.kind = TASK_EVENT_EXEC,
							.time_ns = time_ns,
							.pid = pid,
							.comm = "x"});
}

/* A file of one that is setuid runs also where nobody has a user namespace. */
static void uids_of_a_range_are_its_owners(void **state)
{
	const struct lb_first_sample first = {.start_boottime_ns = 77 * TICK,
					      .tgid = 99,
					      .exec_id = 1,
					      .ids = {.uid = 165003}};

	(void)state;
	add(33, 165002, "0::/system.slice/job.service\n");
	add(34, 265000, "0::/\n");
	add(35, 500001, "0::/\n");
	add(36, 500002, "0::/\n");
	add(37, 265001, "0::/lineburn-gone/docker-" ID ".scope\n");
	/* Containers of root's, whose uids may be those of a user (docker's userns-remap). */
	add(38, 165000, "0::/docker-" ID ".scope\n");
	add(39, 165000, "0::/docker-" OTHER_ID ".scope\n");
	add(40, 400000, "0::/\n");
	add(41, 400001, "0::/\n");
	add(42, 165003, SESSION);
	scan();
	told_in_ours(42, 165003);
	assert_true(process_table_newest(table, 42)->in_our_user_ns);
	assert_user(42, 1000);
	assert_user(33, 1000);
	assert_user(34, 1001);
	assert_true(tenant_is_same(tenant_of(35), tenant_of(36)));
	assert_user(37, 1001);
	assert_int_not_equal(tenant_of(38).container, 0);
	assert_false(tenant_is_same(tenant_of(38), tenant_of(39)));
	assert_user(40, 400000);
	assert_user(41, 400001);
	/* The opener asks before it is looked at, with a cgroup that could not be read. */
	assert_int_equal(process_table_tenant(table, 165004, NULL).uid, 1000);
	assert_true(process_table_announce(table, &first));
	assert_int_equal(table->ahead.nr, 1);
	assert_int_equal(table->ahead.items[0].who.uid, 1000);
}

/* Who is in a user's slice by su is not his user, not even in a user namespace of his own. */
static void others_in_a_slice_pay_themselves(void **state)
{
	struct look cgroup = {.text = (char *)SESSION, .len = strlen(SESSION), .fd = -1};
	const struct passwd *nobody = getpwnam("nobody");

	(void)state;
	assert_non_null(nobody);
	add(33, nobody->pw_uid, SESSION);
	add(34, 265000, SESSION);
	add(35, 0, SESSION);
	/* Of a range that is not in the file. */
	add(36, 70000, SESSION);
	add(37, 70000, SESSION);
	scan();
	assert_user(33, nobody->pw_uid);
	assert_user(34, 1001);
	assert_user(35, 0);
	assert_user(36, 1000);
	told_in_ours(37, 70000);
	assert_user(37, 70000);
	assert_int_equal(process_table_tenant(table, nobody->pw_uid, &cgroup).uid,
			 nobody->pw_uid);
	assert_int_equal(process_table_tenant(table, 265000, &cgroup).uid, 1001);
	assert_int_equal(process_table_tenant(table, 70000, &cgroup).uid, 1000);
}

/* Until it is known who it is, its parent pays. */
static void the_parent_pays_first(void **state)
{
	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	scan();
	sample(10);
	assert_non_null(forked(10, 100));
	assert_user(100, 0);
	told(10, 1000, now + 2 * MS);
	assert_user(10, 1000);
	assert_non_null(forked(10, 101));
	assert_user(101, 1000);
}

struct refusal {
	char what[32];
	struct tenant who;
	uint64_t nr;
};

static void on_refused(void *ctx, const struct quota *q, struct tenant who, uint64_t nr)
{
	struct refusal *r = ctx;

	snprintf(r->what, sizeof(r->what), "%s", q->what);
	r->who = who;
	r->nr = nr;
}

static uint64_t nr_dropped(void)
{
	struct process_table_stats stats;

	process_table_stats(table, &stats);
	return stats.nr_dropped;
}

/* A storm of forks in a container: its own processes are missing, nobody else's. */
static void images_are_left_to_others(void **state)
{
	struct refusal refusal = {0};

	(void)state;
	add(10, 0, "0::/\n");
	add(20, 0, "0::/docker-" ID ".scope\n");
	add(30, 1000, "0::/\n");
	new_table(40, 0);
	scan();
	for (uint32_t pid = 100; pid < 109; pid++)
		assert_non_null(forked(20, pid));
	assert_null(forked(20, 109));
	assert_int_equal(nr_dropped(), 1);
	assert_non_null(forked(30, 200));
	for (uint32_t pid = 300; pid < 320; pid++)
		assert_non_null(forked(10, pid));
	process_table_each_refused(table, on_refused, &refusal);
	assert_string_equal(refusal.what, "program images");
	assert_true(tenant_is_same(refusal.who, tenant_of(20)));
	assert_int_equal(refusal.nr, 1);
	/* Images that have gone give their places back. */
	process_table_event(table, &(struct task_event){.kind = TASK_EVENT_EXIT,
							.time_ns = now + 2 * MS,
							.pid = 100});
	process_table_expire(table, now + 10000 * MS);
	assert_non_null(forked(20, 109));
}

static uint64_t nr_charged(const struct quota *q, uint32_t uid)
{
	for (size_t i = 0; i < q->nr_accounts; i++)
		if (q->accounts[i].tenant.uid == uid)
			return q->accounts[i].nr;
	return 0;
}

/* Processes of which no fork is known, and whose user a sample tells. */
static void who_is_told_later_takes_no_more(void **state)
{
	struct refusal refusal = {0};

	(void)state;
	new_table(40, 0);
	now = fake_now_ns();
	for (uint32_t pid = 100; pid < 160; pid++) {
		struct process *p;

		executed(pid, now + pid);
		p = told(pid, 1000, now + pid);
		assert_true(pid < 110 ? p != NULL : !p);
	}
	assert_int_equal(nr_charged(&table->image_quota, 1000), 10);
	assert_int_equal(nr_dropped(), 50);
	process_table_each_refused(table, on_refused, &refusal);
	assert_string_equal(refusal.what, "program images");
	assert_int_equal(refusal.who.uid, 1000);
	assert_int_equal(refusal.nr, 50);
	executed(200, now + 200);
	assert_non_null(told(200, 1001, now + 200));
	assert_user(200, 1001);
}

/* Whoever is told has a place also where unknown ones have none left. */
static void who_is_told_pays_at_once(void **state)
{
	(void)state;
	add(30, 1000, "0::/\n");
	add(31, 0, "0::/\n");
	new_table(40, 0);
	now = fake_now_ns();
	for (uint32_t pid = 100; pid < 120; pid++)
		executed(pid, now + pid);
	assert_int_equal(nr_dropped(), 10);
	/* It may be root's: that is not known before the look. */
	assert_non_null(told(31, 0, now + 200));
	assert_user(31, 0);
	assert_non_null(told(30, 1000, now + 200));
	/* It was anybody's, and is gone. */
	assert_null(told(32, 0, now + 200));
}

/* Its cgroup is read with the first sample. */
static void a_container_found_later_takes_no_more(void **state)
{
	(void)state;
	for (uint32_t pid = 20; pid < 32; pid++)
		add(pid, 0, "0::/system.slice/docker-" ID ".scope\n");
	new_table(40, 0);
	now = fake_now_ns();
	for (uint32_t pid = 20; pid < 32; pid++)
		assert_true(pid < 30 ? told(pid, 0, now) != NULL : !told(pid, 0, now));
	assert_int_equal(nr_dropped(), 2);
	/* It is not looked at again and again. */
	fake_process_remove(&fake, 20);
	process_table_event(table, &(struct task_event){.kind = TASK_EVENT_EXIT,
							.time_ns = fake_now_ns(),
							.pid = 20});
	process_table_forget_ended(table, now + 60000 * MS);
	now = fake_now_ns();
	process_table_forget_ended(table, now + 60000 * MS);
	assert_null(told(31, 0, now));
	assert_int_equal(nr_dropped(), 3);
	process_table_refresh(table, now);
	assert_non_null(told(31, 0, now));
	assert_null(told(30, 0, now));
}

/* What was sampled stays, and is paid for as before; but root stops paying. */
static void sampled_images_stay(void **state)
{
	const struct image *img;

	(void)state;
	add(10, 0, "0::/\n");
	add(40, 1001, "0::/\n");
	new_table(40, 0);
	scan();
	sample(10);
	sample(40);
	for (uint32_t pid = 100; pid < 110; pid++) {
		executed(pid, now + pid);
		assert_non_null(told(pid, 1000, now + pid));
	}
	img = image_newest(table, 40);
	assert_ptr_equal(told(40, 1000, now + 200), &img->proc);
	assert_user(40, 1000);
	assert_int_equal(img->payer.uid, 1001);
	assert_int_equal(nr_charged(&table->image_quota, 1000), 10);
	assert_null(forked(40, 300));
	img = image_newest(table, 10);
	assert_ptr_equal(told(10, 1000, now + 200), &img->proc);
	assert_int_equal(img->payer.uid, 1000);
	assert_int_equal(nr_charged(&table->image_quota, 1000), 11);
}

/* Samples of an image without a place do not count as those of the one before it. */
static void samples_of_who_has_no_place_have_none(void **state)
{
	const struct lb_image *id = IMAGE(200, 77 * TICK, 1);

	(void)state;
	add(10, 0, "0::/\n");
	new_table(40, 0);
	scan();
	sample(10);
	for (uint32_t pid = 100; pid < 110; pid++) {
		executed(pid, now + pid);
		assert_non_null(told(pid, 1000, now + pid));
	}
	process_table_event(table, &(struct task_event){.kind = TASK_EVENT_EXEC,
							.time_ns = now + 1,
							.pid = 200});
	executed(200, now + 2);
	executed(200, now + 3);
	assert_null(told(200, 1000, now + 4));
	assert_null(process_table_newest(table, 200));
	assert_null(process_table_find(table, id, now + 4, now + 4));
	/* Nor if that one was sampled. */
	executed(201, now + 5);
	assert_non_null(told(201, 1001, now + 6));
	executed(201, now + 7);
	executed(201, now + 8);
	assert_null(process_table_first_told(
		table, &(struct lb_first_sample){.start_boottime_ns = 77 * TICK,
						 .tgid = 201,
						 .exec_id = 2,
						 .time_ns = now + 9,
						 .ids = {.uid = 1000, .gid = 1000}}));
	assert_int_equal(process_table_newest(table, 201)->exec_id, 1);
	process_table_refresh(table, now);
	assert_null(
		process_table_find(table, IMAGE(201, 77 * TICK, 2), now + 9, now + 9));
	assert_int_equal(process_table_newest(table, 201)->exec_id, 1);
}

static uint64_t map(uint32_t pid, uint64_t nr)
{
	static uint64_t i;
	struct process_table_stats stats;

	for (uint64_t end = i + nr; i < end; i++)
		process_table_event(table,
				    &(struct task_event){.kind = TASK_EVENT_MMAP,
							 .time_ns = now + MS + i,
							 .pid = pid,
							 .start = 0x1000000 + i * 0x2000,
							 .end = 0x1001000 + i * 0x2000,
							 .prot = 5,
							 .name = "/lib/a.so"});
	process_table_stats(table, &stats);
	return stats.nr_mappings_dropped;
}

static void mappings_are_left_to_others(void **state)
{
	struct refusal refusal = {0};

	(void)state;
	add(30, 1000, "0::/\n");
	add(40, 1001, "0::/\n");
	new_table(0, 80);
	scan();
	assert_int_equal(map(30, 19), 0);
	assert_int_equal(map(30, 6), 6);
	/* A fork would double them. */
	assert_non_null(forked(30, 31));
	assert_int_equal(map(40, 10), 6 + 20);
	process_table_each_refused(table, on_refused, &refusal);
	assert_string_equal(refusal.what, "mappings");
	assert_int_equal(refusal.who.uid, 1000);
	/* Who changes the user takes them along. */
	sample(30);
	told(30, 1002, now + 2 * MS);
	assert_user(30, 1002);
	assert_int_equal(map(31, 1), 6 + 20);
}

/* A quarter of the pool, also of a process that is known only by its sample. */
static void names_are_left_to_others(void **state)
{
	char maps[512 * 60], name[256];
	const struct process *p;
	size_t len = 0;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (unsigned int i = 0; i < 60; i++)
		len += (size_t)snprintf(maps + len, sizeof(maps) - len,
					"%08x-%08x r-xp 00001000 00:01 11 /%u%s\n",
					0x400000 + i * 0x2000, 0x401000 + i * 0x2000, i,
					name);
	process_table_free(table);
	table = NULL;
	strpool_free(pool);
	pool = strpool_new(1 << 15);
	strpool_share(pool);
	new_table(0, 0);
	scan();
	fake_process_add(
		&fake, &(struct fake_process){
			       .pid = 30, .start_ticks = 77, .uid = 1000, .maps = maps});
	p = told(30, 1000, now);
	assert_non_null(p);
	assert_int_equal(p->maps.nr, 60);
	assert_string_not_equal(p->maps.items[0].path, "[too many names]");
	assert_string_equal(p->maps.items[59].path, "[too many names]");
	assert_string_equal(strpool_add(pool, "root's"), "root's");
}

/* Maps files with names of their own. Return: how many have them. */
static int map_names(uint32_t pid, int nr)
{
	static uint64_t i;
	const struct process *p = process_table_newest(table, pid);
	int nr_named = 0;

	for (uint64_t end = i + (uint64_t)nr; i < end; i++) {
		char name[32];

		snprintf(name, sizeof(name), "/%llu", (unsigned long long)i);
		process_table_event(table,
				    &(struct task_event){.kind = TASK_EVENT_MMAP,
							 .time_ns = now + MS + i,
							 .pid = pid,
							 .start = 0x1000000 + i * 0x2000,
							 .end = 0x1001000 + i * 0x2000,
							 .prot = 5,
							 .name = name});
		nr_named += !strcmp(p->maps.items[p->maps.nr - 1].path, name);
	}
	return nr_named;
}

static void move_names(size_t max_bytes)
{
	struct strpool *next = strpool_new(max_bytes);

	strpool_share(next);
	process_table_set_pool(table, next);
	strpool_free(pool);
	pool = next;
}

/* However often the pool is replaced. */
static void names_that_survive_stay_their_owners(void **state)
{
	const struct process *p;
	int nr_named;

	(void)state;
	add(30, 1000, "0::/\n");
	add(40, 1001, "0::/\n");
	move_names(1 << 14);
	scan();
	p = process_table_newest(table, 30);
	nr_named = map_names(30, 100);
	assert_in_range(nr_named, 50, 99);
	for (int i = 0; i < 4; i++) {
		move_names(1 << 14);
		assert_string_equal(p->maps.items[0].path, "/bin/fake");
		assert_string_equal(p->maps.items[nr_named].path,
				    strpool_add(pool, p->maps.items[nr_named].path));
		assert_string_not_equal(p->maps.items[nr_named].path, "[too many names]");
		assert_int_equal(map_names(30, 50), 0);
	}
	/* None is lost if they are more than the part. */
	move_names(1 << 13);
	assert_string_not_equal(p->maps.items[nr_named].path, "[too many names]");
	assert_int_equal(map_names(30, 1), 0);
	assert_int_equal(map_names(40, 9), 9);
	assert_string_equal(strpool_add(pool, "root's"), "root's");
}

/* What root has mapped for a user's program before it becomes his. */
static void mappings_of_a_new_user_are_limited(void **state)
{
	struct refusal refusal = {0};

	(void)state;
	add(10, 0, "0::/\n");
	new_table(0, 80);
	scan();
	assert_int_equal(map(10, 20), 0);
	assert_non_null(forked(10, 100));
	assert_null(told_child(100, 1000));
	assert_int_equal(nr_charged(&table->image_quota, 1000), 0);
	process_table_each_refused(table, on_refused, &refusal);
	assert_string_equal(refusal.what, "mappings");
	assert_int_equal(refusal.who.uid, 1000);
	assert_int_equal(refusal.nr, 21);
	assert_int_equal(map(10, 58), 0);
}

/* What a service of root's has got before it calls setuid counts as the user's. */
static void code_goes_with_the_user(void **state)
{
	const struct jit_registration r = {.entry_addr = 1, .time_ns = 1};
	const struct lb_interp_code code = {.code_id = 1};
	const struct quota *names, *objects;
	struct process *p;

	(void)state;
	add(10, 0, "0::/\n");
	scan();
	sample(10);
	p = process_table_newest(table, 10);
	names = &table->interp_store->quota;
	objects = &table->jit_store->registration_quota;
	assert_int_equal(process_add_interp_code(table, p, &code, sizeof(code)), 0);
	assert_int_equal(jit_code_register(&p->jit_code, table->jit_store, &r), 0);
	assert_int_equal(names->nr_accounts + objects->nr_accounts, 0);
	told(10, 1000, now + 2 * MS);
	assert_int_equal(nr_charged(names, 1000), table->interp_store->stats.nr_bytes);
	assert_int_equal(nr_charged(objects, 1000), 1);
	told(10, 1001, now + 3 * MS);
	assert_int_equal(nr_charged(names, 1000) + nr_charged(objects, 1000), 0);
	assert_int_equal(nr_charged(names, 1001), table->interp_store->stats.nr_bytes);
	assert_int_equal(nr_charged(objects, 1001), 1);
}

static void add_setuid(uint32_t pid, uint64_t start_ns, uid_t real_uid)
{
	fake_process_add(&fake, &(struct fake_process){.pid = pid,
						       .start_ticks = start_ns / TICK,
						       .real_uid = real_uid,
						       .maps = LINE});
}

/* Of su and the like, at the scan and with the first sample. */
static void who_runs_a_setuid_program_pays(void **state)
{
	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	add(30, 1000, "0::/\n");
	add_setuid(31, 77 * TICK, 1000);
	add_setuid(32, 77 * TICK, 0);
	add_setuid(33, 77 * TICK, 165000);
	scan();
	sample(10);
	sample(30);
	assert_user(31, 1000);
	assert_user(32, 0);
	assert_user(33, 1000);
	for (uint32_t pid = 100; pid < 103; pid++) {
		assert_non_null(forked(30, pid));
		executed(pid, now + 2 * MS);
	}
	add_setuid(100, start, 1000);
	add_setuid(101, start, 0);
	for (uint32_t pid = 100; pid < 103; pid++)
		assert_non_null(told_child(pid, 0));
	assert_user(100, 1000);
	assert_user(101, 0);
	/* It is gone: nobody knows who ran it. */
	assert_user(102, TENANT_UNKNOWN_UID);
}

/* They need no look: root's own commands are many. */
static void what_root_starts_is_roots(void **state)
{
	const struct lb_ids ids = {.uid = 0};

	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	scan();
	sample(10);
	assert_non_null(forked(10, 100));
	executed(100, now + 2 * MS);
	assert_non_null(told_child(100, 0));
	assert_user(100, 0);
	/* Also by way of a shell that executes it. */
	assert_non_null(forked(10, 103));
	executed(103, now + 2 * MS);
	executed(103, now + 3 * MS);
	assert_non_null(told_child(103, 0));
	assert_user(103, 0);
	/* It may have become another's before it started this. */
	assert_non_null(forked(10, 101));
	executed(101, now + 2 * MS);
	assert_non_null(forked(101, 102));
	executed(102, now + 3 * MS);
	assert_non_null(told_child(102, 0));
	assert_user(102, TENANT_UNKNOWN_UID);
	assert_true(image_first_parts(table, image_newest(table, 102), &ids, now) &
		    PROC_VIEW_IDENTITY);
}

/* Root's commands of which only the look tells that, while unknown ones have used up theirs. */
static void roots_are_looked_at_before_they_are_dropped(void **state)
{
	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	new_table(60, 0);
	scan();
	sample(10);
	for (uint32_t pid = 200; pid < 220; pid++)
		executed(pid, now);
	assert_non_null(forked(10, 101));
	executed(101, now + 2 * MS);
	for (uint32_t pid = 102; pid < 105; pid++) {
		assert_non_null(forked(101, pid));
		executed(pid, now + 3 * MS);
	}
	add_setuid(102, start, 0);
	assert_non_null(told_child(102, 0));
	assert_user(102, 0);
	/* A user's setuid program counts as his, and one that is gone has no place. */
	add_setuid(103, start, 1000);
	assert_non_null(told_child(103, 0));
	assert_user(103, 1000);
	assert_int_equal(nr_charged(&table->image_quota, 1000), 1);
	assert_null(told_child(104, 0));
}

/* Also while root pays for them until the look. */
static void setuid_programs_are_no_more_than_the_users_part(void **state)
{
	(void)state;
	new_table(40, 0);
	scan();
	for (uint32_t pid = 200; pid < 220; pid++)
		executed(pid, now);
	for (uint32_t pid = 100; pid < 120; pid++) {
		add_setuid(pid, 77 * TICK, 1000);
		assert_true(pid < 110 ? told(pid, 0, now) != NULL : !told(pid, 0, now));
	}
	assert_int_equal(nr_charged(&table->image_quota, 1000), 10);
}

static void assert_new(uint32_t pid)
{
	assert_true(tenant_is_same(tenant_of(pid), TENANT_NEW));
}

/* A program that cron runs as a user, before anything tells that it is his. */
static void start_job(uint32_t pid)
{
	assert_non_null(forked(10, pid));
	assert_user(pid, 0);
	executed(pid, now + 2 * MS);
}

static void refuse(struct refusal *ret)
{
	*ret = (struct refusal){0};
	process_table_each_refused(table, on_refused, ret);
}

/* Children that sleep are never told of. They may be any user's. */
static void what_root_executes_has_a_part(void **state)
{
	struct refusal refusal;

	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	add(30, 1000, "0::/\n");
	new_table(60, 80);
	scan();
	start_job(100);
	for (uint32_t pid = 101; pid < 121; pid++)
		assert_true(pid < 115 ? forked(100, pid) != NULL : !forked(100, pid));
	refuse(&refusal);
	assert_string_equal(refusal.what, "program images");
	assert_true(tenant_is_same(refusal.who, TENANT_NEW));
	/* A program that it runs in them, too. */
	assert_int_equal(map(100, 30), 10);
	assert_int_equal(map(101, 1), 11);
	refuse(&refusal);
	assert_string_equal(refusal.what, "mappings");
	assert_true(tenant_is_same(refusal.who, TENANT_NEW));
	/* Neither users, nor root's own processes, with any number of workers, lack a place. */
	assert_int_equal(map(30, 10), 11);
	for (uint32_t pid = 200; pid < 220; pid++)
		assert_non_null(forked(10, pid));
	assert_int_equal(map(10, 5), 11);
}

/* Is what its /proc shows known? */
static bool has_its_program(const struct process *p)
{
	const struct mapping *m;

	return maps_find(&p->maps, 0x400000, UINT64_MAX - 1, UINT64_MAX - 1, &m) ==
	       MAPS_FOUND;
}

static void add_child(uint32_t pid, uid_t uid)
{
	fake_process_add(&fake, &(struct fake_process){.pid = pid,
						       .start_ticks = start / TICK,
						       .uid = uid,
						       .maps = LINE});
}

/* Has it no mappings, and the name of the program that it executed()? */
static void assert_executed(uint32_t pid)
{
	const struct process *p = process_table_newest(table, pid);

	assert_string_equal(p->comm, "x");
	assert_int_equal(p->maps.nr, 0);
}

/* A round ends before all were looked at where the machine is busy. */
static void look_at_all(void)
{
	for (int i = 0; i < 20; i++)
		process_table_expire(table, now + 2000 * MS);
}

/* Sleepers of a job fill the part of what root's programs execute. */
static void fill_part(uint32_t job)
{
	start_job(job);
	for (uint32_t pid = job + 1; pid < job + 15; pid++)
		assert_non_null(forked(job, pid));
}

/* Who fills the part gets no forks that count as root's. */
static void a_full_part_makes_nobody_root(void **state)
{
	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	new_table(60, 80);
	scan();
	fill_part(100);
	assert_int_equal(map(100, 20), 0);
	start_job(200);
	assert_new(200);
	assert_executed(200);
	assert_null(forked(200, 201));
	assert_int_equal(map(200, 1), 1);
	assert_int_equal(nr_dropped(), 1);
	/* Also if root's process was sampled before it executed a user's program. */
	assert_non_null(forked(10, 210));
	assert_non_null(told_child(210, 0));
	executed(210, now + 6 * MS);
	assert_new(210);
	assert_executed(210);
	assert_null(forked_at(210, 211, now + 7 * MS));
	/* It is looked at as the others, and its mappings are read then or at a sample. */
	add_child(200, 1000);
	look_at_all();
	assert_user(200, 1000);
	assert_non_null(told_child(200, 1000));
	assert_true(has_its_program(process_table_newest(table, 200)));
}

/* Samples would have the names of the program before. */
static void what_has_no_place_takes_the_one_before(void **state)
{
	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	new_table(60, 0);
	scan();
	fill_part(100);
	assert_int_equal(map(101, 3), 0);
	add_child(101, 1000);
	executed(101, now + 3 * MS);
	assert_new(101);
	assert_executed(101);
	assert_int_equal(image_newest(table, 101)->proc.from_ns, now + 3 * MS);
	assert_int_equal(nr_charged(&table->mapping_quota, 0), 0);
	/* One that was sampled keeps what its samples need. */
	assert_int_equal(map(102, 3), 0);
	assert_non_null(
		process_table_identify(table, IMAGE(102, start, 1), now + 2 * MS));
	executed(102, now + 3 * MS);
	assert_int_equal(process_table_newest(table, 102)->maps.nr, 3);
	assert_non_null(told_child(101, 1000));
	assert_user(101, 1000);
	assert_true(has_its_program(process_table_newest(table, 101)));
}

/* A shell of root's executes a program, and its event is lost or comes later. */
static void who_is_told_after_an_exec_pays_at_once(void **state)
{
	struct lb_first_sample first = {.start_boottime_ns = 77 * TICK,
					.exec_id = 2,
					.ids = {.uid = 0, .gid = 0}};

	(void)state;
	for (uint32_t pid = 10; pid < 13; pid++)
		add(pid, 0, "0::/system.slice/cron.service\n");
	new_table(60, 0);
	scan();
	for (uint32_t pid = 10; pid < 13; pid++)
		sample(pid);
	fill_part(100);
	first.tgid = 11;
	first.time_ns = now + 50 * MS;
	assert_non_null(process_table_first_told(table, &first));
	assert_user(11, 0);
	first.tgid = 12;
	first.ids.uid = first.ids.gid = 1000;
	assert_non_null(process_table_first_told(table, &first));
	assert_user(12, 1000);
	assert_int_equal(nr_charged(&table->image_quota, 1000), 1);
}

static void names_of_what_root_executes_have_a_part(void **state)
{
	char name[256] = "";

	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	process_table_free(table);
	table = NULL;
	strpool_free(pool);
	pool = strpool_new(1 << 15);
	strpool_share(pool);
	new_table(0, 0);
	scan();
	start_job(100);
	for (uint64_t i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "/%0200u", (unsigned int)i);
		process_table_event(table,
				    &(struct task_event){.kind = TASK_EVENT_MMAP,
							 .time_ns = now + 3 * MS + i,
							 .pid = 100,
							 .start = 0x1000000 + i * 0x2000,
							 .end = 0x1001000 + i * 0x2000,
							 .prot = 5,
							 .name = name});
	}
	memset(name, 'r', sizeof(name) - 1);
	assert_string_equal(strpool_add_n(pool, name, sizeof(name) - 1), name);
}

/* What had no room is read when it is known who pays. */
static void what_was_refused_is_read_later(void **state)
{
	const struct process *p;

	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	new_table(60, 84);
	scan();
	start_job(100);
	assert_int_equal(map(100, 20), 0);
	/* Root's own commands: one has a part, and one nothing. */
	for (uint32_t pid = 101; pid < 103; pid++) {
		add_setuid(pid, start, 0);
		start_job(pid);
	}
	assert_int_equal(map(101, 1), 0);
	assert_int_equal(map(101, 1), 1);
	assert_int_equal(map(102, 1), 2);
	for (uint32_t pid = 101; pid < 103; pid++) {
		p = told_child(pid, 0);
		assert_non_null(p);
		assert_user(pid, 0);
		assert_true(has_its_program(p));
	}
	/* They have given the place back. */
	start_job(103);
	assert_int_equal(map(103, 1), 2);
	/* One without a place gets one. */
	for (uint32_t pid = 200; pid < 220; pid++)
		forked(103, pid);
	add_setuid(300, start, 0);
	assert_null(process_table_newest(table, 219));
	p = told_child(300, 0);
	assert_non_null(p);
	assert_user(300, 0);
	assert_true(has_its_program(p));
}

/* A user has sleepers in the part of all, until they are looked at. */
static void sleepers_are_their_users(void **state)
{
	struct refusal refusal;

	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	new_table(60, 0);
	scan();
	start_job(100);
	add_child(100, 1000);
	for (uint32_t pid = 101; pid < 115; pid++) {
		forked(100, pid);
		add_child(pid, pid == 101 ? 0 : 1000);
	}
	process_table_expire(table, now + 500 * MS);
	assert_new(100); /* it is too young for a look */
	look_at_all();
	assert_user(100, 1000);
	assert_user(101, 0);
	assert_int_equal(nr_charged(&table->image_quota, 1000), 14);
	/* What they fork is his from now on. */
	assert_non_null(forked(100, 120));
	assert_user(120, 1000);
	assert_null(forked(100, 121));
	/* The next ones are more than his part, and it is he who is named. */
	start_job(200);
	add_child(200, 1000);
	for (uint32_t pid = 201; pid < 214; pid++) {
		assert_non_null(forked(200, pid));
		add_child(pid, 1000);
	}
	refuse(&refusal);
	look_at_all();
	refuse(&refusal);
	assert_string_equal(refusal.what, "program images");
	assert_int_equal(refusal.who.uid, 1000);
	assert_int_equal(nr_charged(&table->image_quota, 1000), 15);
	start_job(300);
	for (uint32_t pid = 301; pid < 315; pid++)
		assert_non_null(forked(300, pid));
}

/* Its root directory is open before the look tells that it is a user's. */
static void files_of_what_root_executes_have_a_part(void **state)
{
	const struct quota *q = &table->budget.quota;
	char root[160];

	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	scan();
	start_job(100);
	add_child(100, 1000);
	snprintf(root, sizeof(root), "%s/100/root", fake.proc);
	assert_int_equal(unlink(root), 0);
	assert_int_equal(symlink("/", root), 0);
	assert_non_null(process_table_expect(table, IMAGE(100, start, 1), now + 3 * MS));
	assert_user(100, 1000);
	assert_true(tenant_is_same(q->accounts[q->nr_accounts - 1].tenant, TENANT_NEW));
}

/* In a chain each child has forked the next one before its sample is told of. */
static void what_a_user_has_forked_is_his(void **state)
{
	(void)state;
	add(10, 0, "0::/system.slice/cron.service\n");
	scan();
	start_job(100);
	assert_non_null(forked_at(100, 101, now + 3 * MS));
	assert_non_null(forked_at(101, 102, now + 4 * MS));
	executed(102, now + 5 * MS);
	assert_non_null(told_child(100, 1000));
	assert_non_null(forked_at(102, 103, now + 6 * MS));
	assert_user(103, 1000);
	executed(102, now + 7 * MS);
	assert_user(102, 1000);
	/* What another job does is not. */
	start_job(200);
	assert_non_null(forked_at(200, 201, now + 6 * MS));
	assert_new(201);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_container_or_the_user_pays, setup,
						teardown),
		cmocka_unit_test_setup_teardown(uids_of_a_range_are_its_owners, setup,
						teardown),
		cmocka_unit_test_setup_teardown(others_in_a_slice_pay_themselves, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_parent_pays_first, setup, teardown),
		cmocka_unit_test_setup_teardown(images_are_left_to_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(who_is_told_later_takes_no_more, setup,
						teardown),
		cmocka_unit_test_setup_teardown(who_is_told_pays_at_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_container_found_later_takes_no_more,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			roots_are_looked_at_before_they_are_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(
			setuid_programs_are_no_more_than_the_users_part, setup, teardown),
		cmocka_unit_test_setup_teardown(sampled_images_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(samples_of_who_has_no_place_have_none,
						setup, teardown),
		cmocka_unit_test_setup_teardown(mappings_of_a_new_user_are_limited, setup,
						teardown),
		cmocka_unit_test_setup_teardown(who_runs_a_setuid_program_pays, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_root_starts_is_roots, setup,
						teardown),
		cmocka_unit_test_setup_teardown(mappings_are_left_to_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(code_goes_with_the_user, setup, teardown),
		cmocka_unit_test_setup_teardown(names_are_left_to_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(names_that_survive_stay_their_owners,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_root_executes_has_a_part, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_full_part_makes_nobody_root, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_has_no_place_takes_the_one_before,
						setup, teardown),
		cmocka_unit_test_setup_teardown(who_is_told_after_an_exec_pays_at_once,
						setup, teardown),
		cmocka_unit_test_setup_teardown(names_of_what_root_executes_have_a_part,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_refused_is_read_later, setup,
						teardown),
		cmocka_unit_test_setup_teardown(sleepers_are_their_users, setup,
						teardown),
		cmocka_unit_test_setup_teardown(files_of_what_root_executes_have_a_part,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_user_has_forked_is_his, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
