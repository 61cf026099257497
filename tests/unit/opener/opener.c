// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "decode/requests.h"
#include "opener/opener.h"
#include "worker/child.h"
#include "worker/message.h"

#include "lib/freezer.h"
#include "lib/held_births.h"
#include "lib/slow_opener.h"

static struct tenant user(uint32_t uid)
{
	return (struct tenant){.uid = uid};
}

static int begin(void **state)
{
	(void)state;
	return opener_begin(NULL);
}

static int end(void **state)
{
	(void)state;
	opener_end();
	return 0;
}

static int dir_of(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static struct look stat_look(void)
{
	return (struct look){.where = LOOK_BELOW,
			     .what = LOOK_PROC_TEXT,
			     .name = "stat",
			     .max_bytes = 4096};
}

/* The comparison: a process that sleeps, so that nothing of it changes. */
static void looks_are_the_same_in_the_opener(void **state)
{
	struct look looks[] = {
		{.what = LOOK_PROC_TEXT, .name = "maps", .max_bytes = 1 << 20},
		{.what = LOOK_PROC_TEXT, .name = "cmdline", .max_bytes = 4096},
		{.what = LOOK_LINK, .name = "exe"},
		{.what = LOOK_LINK, .name = "none"},
		{.what = LOOK_FACTS, .name = "ns/user"},
		{.what = LOOK_HANDLE, .name = "root"},
		{.what = LOOK_NAMES, .name = "ns", .max_bytes = 4096},
		{.what = LOOK_NAMES, .name = "none", .max_bytes = 4096},
		{.what = LOOK_NAMES,
		 .rules = LOOK_FOLDERS,
		 .name = ".",
		 .max_bytes = 4096},
		{.what = LOOK_OWNERS, .name = "./ns/none"},
		{.what = LOOK_CGROUP_PATH, .name = "1"},
	};
	const size_t nr_first = OPENER_MAX_LOOKS;
	pid_t pid = fork();
	int dir;

	(void)state;
	if (!pid) {
		pause();
		_exit(0);
	}
	dir = dir_of(pid);
	assert_int_equal(opener_look(dir, TENANT_UNKNOWN, looks, nr_first), 0);
	assert_int_equal(opener_look(dir, TENANT_UNKNOWN, looks + nr_first,
				     ARRAY_SIZE(looks) - nr_first),
			 0);
	assert_int_not_equal(slow_opener_pid(), pid);
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		struct look here = looks[i];

		look_here(dir, &here);
		assert_int_equal(looks[i].rc, here.rc);
		assert_int_equal(looks[i].len, here.len);
		if (here.text)
			assert_memory_equal(looks[i].text, here.text, here.len);
		assert_int_equal(looks[i].fd >= 0, here.fd >= 0);
		/* Another process may have made a file in / since. */
		looks[i].facts.mtime_ns = here.facts.mtime_ns;
		looks[i].facts.ctime_ns = here.facts.ctime_ns;
		/* without the padding at its end */
		assert_memory_equal(&looks[i].facts, &here.facts,
				    offsetof(struct look_facts, has_acl) + 1);
		look_deinit(&looks[i]);
		look_deinit(&here);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(dir);
}

static void names_are_listed_as_far_as_they_fit(void **state)
{
	char path[] = "/tmp/lineburn-opener-XXXXXX", file[64];
	struct look look = {.where = LOOK_BELOW,
			    .what = LOOK_NAMES,
			    .name = "task",
			    .max_bytes = 6000};
	size_t nr = 0;
	int dir;

	(void)state;
	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/task", path);
	assert_int_equal(mkdir(file, 0700), 0);
	for (int i = 1000; i < 2000; i++) {
		snprintf(file, sizeof(file), "%s/task/%d", path, i);
		assert_int_equal(mkdir(file, 0700), 0);
	}
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(opener_look_at(dir, TENANT_UNKNOWN, &look), 0);
	assert_int_equal(look.len, 5000);
	for (char *at = look.text; *at; at += 5, nr++) {
		long name = strtol(at, NULL, 10);

		assert_in_range(name, 1000, 1999);
		assert_int_equal(at[4], '\n');
	}
	assert_int_equal(nr, 1000);
	look_deinit(&look);
	look.max_bytes = 14;
	assert_int_equal(opener_look_at(dir, TENANT_UNKNOWN, &look), 0);
	assert_int_equal(look.len, 10);
	look_deinit(&look);
	close(dir);
	nftw(path, remove_one, 4, FTW_DEPTH);
}

/* A second read would wait here until the deadline. */
static void a_short_read_is_the_end_of_one_piece(void **state)
{
	char path[] = "/tmp/lineburn-opener-XXXXXX", fifo[64], text[5001];
	struct look look = {.where = LOOK_BELOW,
			    .what = LOOK_PROC_TEXT,
			    .rules = LOOK_ONE_PIECE,
			    .name = "fifo",
			    .max_bytes = 10000};
	int dir, writer;

	(void)state;
	assert_non_null(mkdtemp(path));
	snprintf(fifo, sizeof(fifo), "%s/fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	writer = open(fifo, O_RDWR | O_CLOEXEC);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (size_t len = 1; len < sizeof(text); len += 4998) {
		assert_int_equal(write(writer, text, len), len);
		assert_int_equal(opener_look_at(dir, TENANT_UNKNOWN, &look), 0);
		assert_int_equal(look.len, len);
		assert_memory_equal(look.text, text, len);
		look_deinit(&look);
	}
	close(writer);
	close(dir);
	unlink(fifo);
	rmdir(path);
}

static void files_are_opened_with_the_rights_of_their_user(void **state)
{
	char path[] = "/tmp/lineburn-opener-XXXXXX", text[8] = "";
	int fd = mkstemp(path), root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct look look = {.where = LOOK_IN_ROOT,
			    .what = LOOK_FILE,
			    .rules = LOOK_CHECKED | LOOK_AS_OWNER,
			    .name = path,
			    .uid = getuid(),
			    .gid = getgid()};

	(void)state;
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(opener_look_at(root, user(look.uid), &look), 0);
	assert_int_equal(read(look.fd, text, sizeof(text)), 4);
	assert_int_equal(look.facts.size_bytes, 4);
	/* It is open to read only. */
	assert_int_equal(write(look.fd, "x", 1), -1);
	look_deinit(&look);
	look.what = LOOK_CONTENT;
	assert_int_equal(opener_look_at(root, user(look.uid), &look), 0);
	assert_string_equal(look.text, "text");
	look_deinit(&look);
	look.max_bytes = 3;
	assert_int_equal(opener_look_at(root, user(look.uid), &look), -EFBIG);
	look.max_bytes = 0;
	if (!getuid()) {
		look.uid = look.gid = 65534;
		assert_int_equal(opener_look_at(root, user(look.uid), &look), -EACCES);
		/* Afterwards it has its own rights again. */
		look.uid = look.gid = 0;
		assert_int_equal(opener_look_at(root, user(look.uid), &look), 0);
		look_deinit(&look);
	}
	look.uid = (uid_t)-1;
	assert_int_equal(opener_look_at(root, user(look.uid), &look), -EPERM);
	unlink(path);
	close(fd);
	close(root);
}

/* docs/security.md says so. */
static void it_keeps_five_capabilities(void **state)
{
	struct look look = stat_look();
	int dir = dir_of(getpid());
	uint64_t kept = 0;
	char path[64], line[256];
	FILE *status;

	(void)state;
	assert_int_equal(opener_look_at(dir, TENANT_UNKNOWN, &look), 0);
	look_deinit(&look);
	close(dir);
	if (getuid())
		skip();
	snprintf(path, sizeof(path), "/proc/%d/status", (int)slow_opener_pid());
	status = fopen(path, "r");
	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "CapPrm: %" SCNx64, &kept) == 1)
			break;
	fclose(status);
	assert_int_equal(kept, 0x100000800c4);
}

/* Waits until all that were stuck have died. */
static void thaw_all(void)
{
	freezer_thaw();
	for (int i = 0; i < 6000 && child_nr_undead(); i++)
		usleep(10000);
}

/* Its process is stopped, as by a file that does not answer. */
static void look_hangs(int dir, struct tenant who)
{
	struct look look = stat_look();

	assert_int_equal(opener_look_at(dir, user(0), &look), 0);
	look_deinit(&look);
	freezer_freeze(slow_opener_pid());
	assert_int_equal(opener_look_at(dir, who, &look), -ETIMEDOUT);
	assert_int_equal(child_nr_undead(), 1);
	thaw_all();
	assert_int_equal(child_nr_undead(), 0);
}

/* With hidepid directories of processes are opened below /proc: all of them. */
static void proc_itself_is_not_banned(void **state)
{
	struct look look = stat_look();
	int dir;

	if (!freezer_is_there(state))
		skip();
	dir = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(opener_begin(NULL), 0);
	look_hangs(dir, TENANT_UNKNOWN);
	assert_int_equal(opener_look_at(dir, TENANT_UNKNOWN, &look), 0);
	look_deinit(&look);
	opener_end();
	close(dir);
}

#define NR_PROCESSES 4

static void start_processes(pid_t pids[NR_PROCESSES], int dirs[NR_PROCESSES])
{
	for (size_t i = 0; i < NR_PROCESSES; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			pause();
			_exit(0);
		}
		dirs[i] = dir_of(pids[i]);
	}
}

static void end_processes(const pid_t pids[NR_PROCESSES], const int dirs[NR_PROCESSES])
{
	for (size_t i = 0; i < NR_PROCESSES; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		close(dirs[i]);
	}
}

/*
 * A look that hangs leaves its process behind. Its target is not looked at again, others
 * are, until two looks of a user have hung.
 */
static void what_hangs_is_left_behind(void **state)
{
	struct opener_stats stats;
	struct look look = stat_look();
	pid_t pids[NR_PROCESSES];
	int dirs[NR_PROCESSES];

	if (!freezer_is_there(state))
		skip();
	start_processes(pids, dirs);
	assert_int_equal(opener_begin(NULL), 0);
	look_hangs(dirs[0], user(1000));
	/* It is banned, whoever asks. */
	assert_int_equal(opener_look_at(dirs[0], user(1001), &look), -EBUSY);
	assert_int_equal(opener_look_at(dirs[1], user(1000), &look), 0);
	look_deinit(&look);
	look_hangs(dirs[1], user(1000));
	/* Now no process of that user is looked at; the user of a directory is read. */
	assert_int_equal(opener_look_at(dirs[2], user(1000), &look), -EBUSY);
	assert_int_equal(opener_look_at(dirs[2], TENANT_UNKNOWN, &look), 0);
	look_deinit(&look);
	assert_int_equal(opener_look_at(dirs[3], user(1001), &look), 0);
	look_deinit(&look);
	opener_stats(&stats);
	assert_int_equal(stats.nr_late, 2);
	assert_int_equal(stats.nr_refused, 2);
	opener_end();
	end_processes(pids, dirs);
}

struct found {
	int nr;
	uint32_t uid; /* of the last one */
};

static struct tenant container_of(void *ctx, uint32_t uid, const struct look *cgroup)
{
	struct found *found = ctx;

	assert_int_equal(cgroup->rc, 0);
	assert_non_null(strchr(cgroup->text, ':'));
	found->nr++;
	found->uid = uid;
	return (struct tenant){.container = 7};
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_true(f && fputs(text, f) >= 0 && !fclose(f));
}

/* Looks at what could be the directory of a program with these users. */
static void look_at_program(const char *uids)
{
	char path[] = "/tmp/lineburn-opener-XXXXXX", status[64];
	struct look look = stat_look();
	int dir;

	assert_non_null(mkdtemp(path));
	snprintf(status, sizeof(status), "Name:\tsu\nUid:\t%s\n", uids);
	put(path, "status", status);
	put(path, "cgroup", "0::/\n");
	put(path, "stat", "1");
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	opener_look_at(dir, TENANT_UNKNOWN, &look);
	look_deinit(&look);
	close(dir);
	nftw(path, remove_one, 4, FTW_DEPTH);
}

/*
 * Whoever takes a victim's uid in a container gets the container's helpers stuck: looks at
 * processes of nobody yet are charged to who they are found to be.
 */
static void an_unknown_process_is_its_container_s(void **state)
{
	const struct tenant container = {.container = 7};
	struct look look = stat_look();
	pid_t pids[NR_PROCESSES];
	int dirs[NR_PROCESSES];
	struct found found = {0};

	if (!freezer_is_there(state))
		skip();
	start_processes(pids, dirs);
	assert_int_equal(opener_begin(NULL), 0);
	opener_find_tenants(container_of, &found);
	look_hangs(dirs[0], TENANT_UNKNOWN);
	look_hangs(dirs[1], container);
	assert_int_equal(found.nr, 1);
	assert_int_equal(found.uid, geteuid());
	assert_int_equal(opener_look_at(dirs[2], TENANT_UNKNOWN, &look), -EBUSY);
	assert_int_equal(opener_look_at(dirs[2], container, &look), -EBUSY);
	assert_int_equal(opener_look_at(dirs[2], user(geteuid()), &look), 0);
	look_deinit(&look);
	look_at_program("1000\t1001\t1001\t1001");
	assert_int_equal(found.uid, 1001);
	/* Who runs a program that is setuid root is charged. */
	look_at_program("1000\t0\t0\t0");
	assert_int_equal(found.uid, 1000);
	opener_end();
	end_processes(pids, dirs);
}

static int look_again(int dir, struct tenant who)
{
	struct look look = stat_look();
	int rc = opener_look_at(dir, who, &look);

	look_deinit(&look);
	return rc;
}

/* Like look_hangs(), but what is stuck stays so. */
static void look_stays(int dir, struct tenant who)
{
	assert_int_equal(look_again(dir, user(0)), 0);
	freezer_freeze(slow_opener_pid());
	assert_int_equal(look_again(dir, who), -ETIMEDOUT);
}

/* What could be the directory of a process, of which all but its cgroup can be read. */
struct half_program {
	char path[64];
	int dir, writer;
};

static void half_program_init(struct half_program *p)
{
	char fifo[96];

	snprintf(p->path, sizeof(p->path), "/tmp/lineburn-opener-XXXXXX");
	assert_non_null(mkdtemp(p->path));
	put(p->path, "status", "Name:\ta\nUid:\t1001\t1001\t1001\t1001\n");
	put(p->path, "stat", "1");
	snprintf(fifo, sizeof(fifo), "%s/cgroup", p->path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	p->writer = open(fifo, O_RDWR | O_CLOEXEC);
	p->dir = open(p->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void half_program_deinit(struct half_program *p)
{
	close(p->writer);
	close(p->dir);
	nftw(p->path, remove_one, 4, FTW_DEPTH);
}

/* Looks at its stat and its cgroup; asserts that of the cgroup there is nothing. */
static int look_at_half(const struct half_program *p, struct tenant who)
{
	struct look looks[] = {
		stat_look(),
		{.what = LOOK_PROC_TEXT, .name = "cgroup", .max_bytes = 4096},
	};
	int rc = opener_look(p->dir, who, looks, ARRAY_SIZE(looks));

	assert_int_equal(looks[0].rc, rc);
	assert_int_equal(looks[1].rc, rc ? rc : -EBUSY);
	look_deinit(&looks[0]);
	return rc;
}

/* A process can have the opener wait for its cgroup: it holds the directory. */
static void a_late_cgroup_is_its_process_s(void **state)
{
	struct opener_stats before, after;
	struct half_program p;

	(void)state;
	half_program_init(&p);
	opener_stats(&before);
	assert_int_equal(look_at_half(&p, user(1000)), -ETIMEDOUT);
	opener_stats(&after);
	assert_int_equal(after.nr_late, before.nr_late + 1);
	half_program_deinit(&p);
}

static struct tenant user_of(void *ctx, uint32_t uid, const struct look *cgroup)
{
	struct found *found = ctx;

	assert_int_equal(cgroup->rc, -EBUSY);
	found->nr++;
	found->uid = uid;
	return user(uid);
}

/* Puts the file in the place of this process's cgroup. Return: false if that may not be. */
static bool replace_own_cgroup(const char *dir, const char *own)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/cgroup", dir);
	return !unshare(CLONE_NEWNS) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount(path, own, NULL, MS_BIND, NULL);
}

/* Before Linux 6.8 a stranger can make the cgroups of all late: no process pays for that. */
static void nobody_pays_for_late_cgroups(void **state)
{
	int dir = dir_of(getppid()), good = dir_of(getpid());
	struct opener_stats before, after;
	struct found found = {0};
	struct half_program p;
	char own[64];

	if (!freezer_is_there(state))
		skip();
	half_program_init(&p);
	snprintf(own, sizeof(own), "/proc/%d/cgroup", (int)getpid());
	if (!replace_own_cgroup(p.path, own)) {
		puts("cannot mount a file over /proc/PID/cgroup");
		half_program_deinit(&p);
		close(dir);
		close(good);
		skip();
	}
	assert_int_equal(opener_begin(NULL), 0);
	opener_find_tenants(user_of, &found);
	look_stays(dir, user(1000));
	assert_int_equal(look_again(good, user(0)), 0);
	opener_stats(&before);
	freezer_freeze(slow_opener_pid());
	assert_int_equal(look_at_half(&p, user(1000)), 0);
	/* Two are stuck, one for the user. */
	assert_int_equal(child_nr_undead(), 2);
	assert_true(child_has_room(user(1000)));
	/* Cgroups are not read now, whoever asks. */
	assert_int_equal(look_at_half(&p, TENANT_UNKNOWN), 0);
	assert_int_equal(found.nr, 1);
	assert_int_equal(found.uid, 1001);
	opener_stats(&after);
	assert_int_equal(after.nr_late, before.nr_late);
	thaw_all();
	opener_end();
	umount2(own, MNT_DETACH);
	half_program_deinit(&p);
	close(dir);
	close(good);
}

/* Returns how long it is waited for. */
static int64_t ms_of_late_look(int dir, struct tenant who)
{
	int64_t begin_ns;
	struct look look = stat_look();

	assert_int_equal(opener_look_at(dir, user(0), &look), 0);
	look_deinit(&look);
	freezer_freeze(slow_opener_pid());
	begin_ns = message_clock_ns();
	assert_int_equal(opener_look_at(dir, who, &look), -ETIMEDOUT);
	begin_ns = message_clock_ns() - begin_ns;
	thaw_all();
	return begin_ns / 1000000;
}

/*
 * Who was not late has the whole time, though others were, until so many were late that
 * the recording would wait too long; then nobody's look is made.
 */
static void patience_ends_for_who_was_late(void **state)
{
	int dir = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct look look = stat_look();
	int64_t shortest_ms = INT64_MAX;
	uint32_t uid = 1000;

	if (!freezer_is_there(state))
		skip();
	assert_int_equal(opener_begin(NULL), 0);
	while (uid < 1003)
		assert_true(ms_of_late_look(dir, user(uid++)) >= OPENER_MS);
	/* Of three on a busy machine, one is in time. */
	for (uint32_t i = 0; i < 3; i++) {
		int64_t ms = ms_of_late_look(dir, user(1000 + i));

		shortest_ms = ms < shortest_ms ? ms : shortest_ms;
	}
	assert_true(shortest_ms < OPENER_MS);
	assert_int_equal(opener_look_at(dir, user(2000), &look), 0);
	look_deinit(&look);
	opener_end();
	close(dir);
}

/* Other users, and what else he has, are looked at as before. */
static void files_that_are_slow_are_put_off(void **state)
{
	int dir = dir_of(getpid());
	struct look look = stat_look();
	struct opener_stats stats;
	int nr = 0;

	(void)state;
	opener_share();
	assert_int_equal(opener_look_at(dir, user(1000), &look), 0);
	look_deinit(&look);
	for (; nr < 1000 && opener_has_time(user(1000)); nr++) {
		struct look facts = {.where = LOOK_ITSELF, .what = LOOK_FACTS};

		assert_int_equal(slow_opener_look(dir, user(1000), &facts), 0);
	}
	assert_in_range(nr, 1, 999);
	assert_false(opener_has_time(user(1000)));
	assert_true(opener_has_time(user(1001)));
	assert_true(opener_has_time(user(0)));
	opener_stats(&stats);
	assert_int_equal(stats.nr_put_off, 1);
	assert_int_equal(opener_look_at(dir, user(1000), &look), 0);
	look_deinit(&look);
	close(dir);
}

static void processes_that_are_slow_are_refused(void **state)
{
	int dir = dir_of(getpid()), rc = 0, nr = 0;
	struct look look = stat_look();

	(void)state;
	opener_share();
	assert_int_equal(opener_look_at(dir, user(1000), &look), 0);
	look_deinit(&look);
	for (; nr < 1000 && !rc; nr++)
		rc = slow_opener_look(dir, user(1000), &look);
	assert_int_equal(rc, -EBUSY);
	assert_true(nr >= 2);
	assert_int_equal(opener_look_at(dir, user(1001), &look), 0);
	look_deinit(&look);
	assert_true(opener_has_time(user(1000)));
	close(dir);
}

/* Two looks at each process: its stat and its root. */
struct several {
	struct look looks[NR_PROCESSES][2];
	struct look_group groups[NR_PROCESSES];
};

static void look_at_all(struct several *s, const int dirs[NR_PROCESSES])
{
	for (size_t i = 0; i < NR_PROCESSES; i++) {
		s->looks[i][0] = stat_look();
		s->looks[i][1] = (struct look){.what = LOOK_HANDLE, .name = "root"};
		s->groups[i] = (struct look_group){.base_fd = dirs[i],
						   .who = user(1000 + (uint32_t)i),
						   .looks = s->looks[i],
						   .nr = 2};
	}
	opener_look_groups(s->groups, NR_PROCESSES);
}

/* @skipped  bits of those that were not looked at */
static void check_all(struct several *s, const pid_t pids[NR_PROCESSES],
		      unsigned int skipped)
{
	for (size_t i = 0; i < NR_PROCESSES; i++) {
		int rc = skipped & 1u << i ? -EAGAIN : 0;

		for (size_t k = 0; k < 2; k++)
			assert_int_equal(s->looks[i][k].rc, rc);
		if (!rc) {
			assert_int_equal(strtol(s->looks[i][0].text, NULL, 10), pids[i]);
			assert_true(S_ISDIR(s->looks[i][1].facts.mode));
			assert_true(s->looks[i][1].fd >= 0);
		}
		for (size_t k = 0; k < 2; k++)
			look_deinit(&s->looks[i][k]);
	}
}

static void several_are_looked_at_in_one_request(void **state)
{
	struct opener_stats before, after;
	pid_t pids[NR_PROCESSES];
	int dirs[NR_PROCESSES];
	struct several s;

	(void)state;
	start_processes(pids, dirs);
	opener_stats(&before);
	look_at_all(&s, dirs);
	opener_stats(&after);
	assert_int_equal(after.nr_requests, before.nr_requests + 1);
	check_all(&s, pids, 0);
	/* One that has ended is no matter of the others. */
	kill(pids[1], SIGKILL);
	waitpid(pids[1], NULL, 0);
	look_at_all(&s, dirs);
	assert_int_equal(s.looks[1][0].rc, -ESRCH);
	assert_int_equal(s.looks[1][1].rc, -ESRCH);
	for (size_t k = 0; k < 2; k++)
		s.looks[1][k].rc = -EAGAIN;
	check_all(&s, pids, 1 << 1);
	end_processes(pids, dirs);
}

/* The opener works, and has looked at them. */
static void begin_several(struct several *s, pid_t pids[NR_PROCESSES],
			  int dirs[NR_PROCESSES])
{
	start_processes(pids, dirs);
	assert_int_equal(opener_begin(NULL), 0);
	look_at_all(s, dirs);
	check_all(s, pids, 0);
}

static void hang_among_several(struct several *s, const pid_t pids[NR_PROCESSES],
			       const int dirs[NR_PROCESSES])
{
	freezer_freeze(slow_opener_pid());
	look_at_all(s, dirs);
	check_all(s, pids, 0xf);
}

/*
 * Who holds its own directory cannot be told: it is banned at once, and its helpers are
 * nobody's, not root's. The tenants of others are found as before.
 */
static void who_does_not_tell_its_user_is_unknown(void **state)
{
	struct opener_stats before, after;
	pid_t pids[NR_PROCESSES];
	int dirs[NR_PROCESSES];

	if (!freezer_is_there(state))
		skip();
	start_processes(pids, dirs);
	assert_int_equal(opener_begin(NULL), 0);
	look_stays(dirs[0], user(1000)); /* from now on users are asked for first */
	opener_stats(&before);
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(look_again(dirs[3], user(0)), 0);
		freezer_freeze(slow_opener_pid());
		assert_int_equal(look_again(dirs[i], TENANT_UNKNOWN), -EBUSY);
		assert_int_equal(look_again(dirs[i], TENANT_UNKNOWN), -EBUSY);
	}
	opener_stats(&after);
	assert_int_equal(after.nr_late, before.nr_late + 2);
	assert_int_equal(child_nr_undead(), 3);
	assert_false(child_has_room(TENANT_UNKNOWN));
	assert_int_equal(look_again(dirs[3], TENANT_UNKNOWN), 0);
	thaw_all();
	opener_end();
	end_processes(pids, dirs);
}

/* What hung among several is charged to one of them, not to somebody else who is late. */
static void a_stranger_does_not_pay_for_several(void **state)
{
	pid_t pids[NR_PROCESSES];
	int dirs[NR_PROCESSES], dir = dir_of(getpid());
	struct several s;

	if (!freezer_is_there(state))
		skip();
	begin_several(&s, pids, dirs);
	hang_among_several(&s, pids, dirs);
	look_stays(dir, user(2000));
	assert_int_equal(look_again(dirs[0], user(2000)), 0); /* may have one more */
	look_stays(dirs[1], user(1001));
	assert_int_equal(look_again(dirs[0], user(1001)), -EBUSY); /* has two */
	assert_int_equal(look_again(dirs[0], user(1002)), 0);
	assert_int_equal(child_nr_undead(), 3);
	thaw_all();
	opener_end();
	end_processes(pids, dirs);
	close(dir);
}

/* Also if the process was taken for another tenant's, and something else hung meanwhile. */
static void a_process_pays_for_several(void **state)
{
	pid_t pids[NR_PROCESSES];
	int dirs[NR_PROCESSES];
	struct several s;

	if (!freezer_is_there(state))
		skip();
	begin_several(&s, pids, dirs);
	hang_among_several(&s, pids, dirs);
	assert_int_equal(look_again(dirs[0], user(0)), 0);
	hang_among_several(&s, pids, dirs);
	assert_false(child_has_room(TENANT_UNKNOWN));
	look_stays(dirs[1], user(3000));
	assert_int_equal(child_nr_undead(), 3);
	assert_true(child_has_room(TENANT_UNKNOWN));
	assert_false(child_has_room(user(3000)));
	thaw_all();
	opener_end();
	end_processes(pids, dirs);
}

/* If one hangs, nobody is blamed; those that hung alone are not among several any more. */
static void what_hangs_is_not_among_several(void **state)
{
	struct opener_stats before, after;
	pid_t pids[NR_PROCESSES];
	int dirs[NR_PROCESSES];
	struct several s;

	if (!freezer_is_there(state))
		skip();
	begin_several(&s, pids, dirs);
	opener_stats(&before);
	hang_among_several(&s, pids, dirs);
	opener_stats(&after);
	assert_int_equal(after.nr_late, before.nr_late);
	thaw_all();
	/* It is banned; its user may have others. */
	look_hangs(dirs[2], user(1002));
	look_at_all(&s, dirs);
	check_all(&s, pids, 1 << 2);
	look_hangs(dirs[3], user(1001));
	look_hangs(dirs[0], user(1001));
	/* Now user 1001 has hung twice. */
	look_at_all(&s, dirs);
	check_all(&s, pids, 0xf);
	opener_end();
	end_processes(pids, dirs);
}

/* Who hangs among several and then alone pays for both; others are looked at as before. */
static void who_hangs_among_several_is_charged(void **state)
{
	struct look look = stat_look();
	pid_t pids[NR_PROCESSES];
	int dirs[NR_PROCESSES];
	struct several s;

	if (!freezer_is_there(state))
		skip();
	begin_several(&s, pids, dirs);
	hang_among_several(&s, pids, dirs);
	assert_int_equal(opener_look_at(dirs[3], user(0), &look), 0);
	look_deinit(&look);
	freezer_freeze(slow_opener_pid());
	assert_int_equal(opener_look_at(dirs[2], user(1002), &look), -ETIMEDOUT);
	assert_int_equal(child_nr_undead(), 2);
	assert_false(child_has_room(user(1002)));
	look_at_all(&s, dirs);
	check_all(&s, pids, 1 << 2);
	thaw_all();
	assert_true(child_has_room(user(1002)));
	opener_end();
	end_processes(pids, dirs);
}

/* Starts a process with very many mappings, which takes the kernel long to add up. */
static pid_t start_with_mappings(void)
{
	const size_t nr = 60000, size = (size_t)getpagesize();
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		char *all = mmap(NULL, nr * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);

		for (size_t i = 0; all != MAP_FAILED && i < nr; i += 2)
			mprotect(all + i * size, size, PROT_READ);
		close(ready[1]);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	return pid;
}

#define NR_ROLLUPS 24

/* The opener does not sleep then: it runs, in the kernel. */
static void requests_that_run_long_are_for_one_process(void **state)
{
	struct opener_stats before, after;
	struct look looks[NR_ROLLUPS];
	pid_t pid = start_with_mappings();
	int dir = dir_of(pid);
	struct look_group group = {
		.base_fd = dir, .who = user(1000), .looks = looks, .nr = NR_ROLLUPS};

	(void)state;
	opener_stats(&before);
	for (int i = 0; i < 3; i++) {
		for (size_t k = 0; k < NR_ROLLUPS; k++)
			looks[k] = (struct look){.what = LOOK_PROC_TEXT,
						 .name = "smaps_rollup",
						 .max_bytes = 4096};
		opener_look_groups(&group, 1);
		for (size_t k = 0; k < NR_ROLLUPS; k++)
			look_deinit(&looks[k]);
	}
	opener_stats(&after);
	assert_int_equal(looks[0].rc, -EAGAIN);
	assert_int_equal(after.nr_requests, before.nr_requests + 2);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(dir);
}

static int open_proc(void)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

static void end_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A look at a process whose directory is not open yet. @look  gets stat_look() */
static struct look_group new_process(int proc, pid_t pid, struct look *look)
{
	*look = stat_look();
	return (struct look_group){.base_fd = -1,
				   .proc_fd = proc,
				   .pid = (uint32_t)pid,
				   .who = user(1000),
				   .looks = look,
				   .nr = 1};
}

/* It was opened, and looked at. */
static void check_new(struct look_group *group, pid_t pid)
{
	assert_true(group->base_fd >= 0);
	assert_int_equal(group->looks->rc, 0);
	assert_int_equal(strtol(group->looks->text, NULL, 10), pid);
	look_deinit(group->looks);
	close(group->base_fd);
}

static uint64_t nr_requests(void)
{
	struct opener_stats stats;

	opener_stats(&stats);
	return stats.nr_requests;
}

static uint64_t nr_late(void)
{
	struct opener_stats stats;

	opener_stats(&stats);
	return stats.nr_late;
}

static void a_new_process_is_opened_and_looked_at_in_one_request(void **state)
{
	pid_t pid = start_sleeper(), other = start_sleeper();
	struct look_group groups[2];
	struct look looks[2];
	int proc = open_proc();
	uint64_t nr;

	(void)state;
	groups[0] = new_process(proc, pid, &looks[0]);
	nr = nr_requests();
	assert_int_equal(opener_look_at_process(&groups[0]), 0);
	check_new(&groups[0], pid);
	for (size_t i = 0; i < 2; i++)
		groups[i] = new_process(proc, i ? other : pid, &looks[i]);
	opener_look_groups(groups, 2);
	for (size_t i = 0; i < 2; i++)
		check_new(&groups[i], i ? other : pid);
	/* Only opened. */
	groups[0].base_fd = -1;
	groups[0].nr = 0;
	assert_int_equal(opener_look_at_process(&groups[0]), 0);
	close(groups[0].base_fd);
	assert_int_equal(nr_requests(), nr + 3);
	/* One that has ended is no matter of the other. */
	end_sleeper(pid);
	for (size_t i = 0; i < 2; i++)
		groups[i] = new_process(proc, i ? other : pid, &looks[i]);
	opener_look_groups(groups, 2);
	assert_int_equal(groups[0].base_fd, -ENOENT);
	assert_int_equal(looks[0].rc, -ENOENT);
	check_new(&groups[1], other);
	groups[0] = new_process(proc, pid, &looks[0]);
	assert_int_equal(opener_look_at_process(&groups[0]), -ENOENT);
	assert_int_equal(looks[0].rc, -ENOENT);
	end_sleeper(other);
	close(proc);
}

/* A look that hangs at a new process: who it was is found by opening it again. */
static void a_new_process_that_hangs_is_banned(void **state)
{
	uint64_t late = nr_late();
	struct look_group group;
	struct look look;
	pid_t pid, other;
	int proc;

	if (!freezer_is_there(state))
		skip();
	pid = start_sleeper();
	other = start_sleeper();
	proc = open_proc();
	assert_int_equal(opener_begin(NULL), 0);
	group = new_process(proc, pid, &look);
	opener_look_at_process(&group);
	check_new(&group, pid);
	freezer_freeze(slow_opener_pid());
	group = new_process(proc, pid, &look);
	assert_int_equal(opener_look_at_process(&group), -ETIMEDOUT);
	assert_int_equal(look.rc, -ETIMEDOUT);
	assert_true(group.base_fd >= 0);
	close(group.base_fd);
	assert_int_equal(nr_late(), late + 1);
	assert_int_equal(child_nr_undead(), 1);
	group = new_process(proc, pid, &look);
	assert_int_equal(opener_look_at_process(&group), -EBUSY);
	close(group.base_fd);
	group = new_process(proc, other, &look);
	assert_int_equal(opener_look_at_process(&group), 0);
	check_new(&group, other);
	/* It may be opened. */
	group = (struct look_group){.base_fd = -1, .proc_fd = proc, .pid = (uint32_t)pid};
	opener_look_groups(&group, 1);
	assert_true(group.base_fd >= 0);
	close(group.base_fd);
	thaw_all();
	opener_end();
	end_sleeper(pid);
	end_sleeper(other);
	close(proc);
}

/* Nobody pays when /proc is held, as it seems when no other opener begins. */
static int look_while_held(void)
{
	pid_t pid = getpid();
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), held, rc;
	uint64_t late = nr_late();
	struct look_group group;
	struct look look;

	if (opener_begin(NULL))
		return __LINE__;
	group = new_process(proc, pid, &look);
	if (opener_look_at_process(&group))
		return __LINE__;
	kill(slow_opener_pid(), SIGSTOP);
	held = held_births_begin();
	if (held < 0)
		return __LINE__;
	group = new_process(proc, pid, &look);
	if (opener_look_at_process(&group) != -EBUSY || group.base_fd != -EBUSY ||
	    look.rc != -EBUSY)
		return __LINE__;
	if (nr_late() != late + 1)
		return __LINE__;
	close(held);
	for (int i = 0; i < 6000; i++) {
		group = new_process(proc, pid, &look);
		rc = opener_look_at_process(&group);
		if (rc != -EBUSY)
			break;
		usleep(10000);
	}
	return rc || nr_late() != late + 1 ? __LINE__ : 0;
}

static void nobody_pays_for_proc(void **state)
{
	pid_t pid = fork();
	int status, line;

	(void)state;
	if (!pid) {
		line = look_while_held();
		if (line)
			fprintf(stderr, "it failed in line %d\n", line);
		_exit(line != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Other threads look for themselves. */
static void without_an_opener_looks_are_made_here(void **state)
{
	struct opener_stats before, after;
	struct look look = stat_look();
	int dir = dir_of(getpid());

	(void)state;
	opener_stats(&before);
	assert_int_equal(opener_look_at(dir, TENANT_UNKNOWN, &look), 0);
	assert_int_equal(strtol(look.text, NULL, 10), getpid());
	look_deinit(&look);
	opener_stats(&after);
	assert_int_equal(after.nr_requests, before.nr_requests);
	close(dir);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(looks_are_the_same_in_the_opener, begin,
						end),
		cmocka_unit_test_setup_teardown(names_are_listed_as_far_as_they_fit,
						begin, end),
		cmocka_unit_test_setup_teardown(a_short_read_is_the_end_of_one_piece,
						begin, end),
		cmocka_unit_test_setup_teardown(
			files_are_opened_with_the_rights_of_their_user, begin, end),
		cmocka_unit_test_setup_teardown(it_keeps_five_capabilities, begin, end),
		cmocka_unit_test_setup_teardown(what_hangs_is_left_behind, freezer_set_up,
						freezer_tear_down),
		cmocka_unit_test_setup_teardown(an_unknown_process_is_its_container_s,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(a_late_cgroup_is_its_process_s, begin,
						end),
		cmocka_unit_test_setup_teardown(nobody_pays_for_late_cgroups,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(patience_ends_for_who_was_late,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(proc_itself_is_not_banned, freezer_set_up,
						freezer_tear_down),
		cmocka_unit_test_setup_teardown(files_that_are_slow_are_put_off, begin,
						end),
		cmocka_unit_test_setup_teardown(processes_that_are_slow_are_refused,
						begin, end),
		cmocka_unit_test_setup_teardown(several_are_looked_at_in_one_request,
						begin, end),
		cmocka_unit_test_setup_teardown(
			requests_that_run_long_are_for_one_process, begin, end),
		cmocka_unit_test_setup_teardown(a_process_pays_for_several,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(who_does_not_tell_its_user_is_unknown,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(a_stranger_does_not_pay_for_several,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(what_hangs_is_not_among_several,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(who_hangs_among_several_is_charged,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test_setup_teardown(
			a_new_process_is_opened_and_looked_at_in_one_request, begin, end),
		cmocka_unit_test_setup_teardown(a_new_process_that_hangs_is_banned,
						freezer_set_up, freezer_tear_down),
		cmocka_unit_test(nobody_pays_for_proc),
		cmocka_unit_test(without_an_opener_looks_are_made_here),
	};

	if (argc > 0 && !strcmp(argv[0], WORKER_ARGV0))
		return worker_main(operations, NR_OPERATIONS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
