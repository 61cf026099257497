// SPDX-License-Identifier: GPL-2.0-or-later
#include "opener/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/retry_pause.h"
#include "base/target_fd.h"
#include "base/time_share.h"
#include "decode/operation.h"
#include "opener/bans.h"
#include "worker/child.h"
#include "worker/worker.h"

/*
 * Most late looks in OPENER_LATE_S seconds, after which nobody's are made. So many of them
 * may take OPENER_MS; and so many requests for several processes may be late, and one for
 * which nobody is to blame, with its check (is_cgroup_late()). In all the collector waits
 * for less than 3.5 s of 20 s, and 10 ms more for each process that is killed.
 */
#define MAX_LATE        64
#define MAX_PATIENT     4
#define MAX_LATE_GROUPS 2

#define BAN_NS          (OPENER_LATE_S * CLOCK_SECOND_NS)
#define CGROUP          "cgroup" /* in /proc/PID */
#define PROC_FIRST_NS   (CLOCK_SECOND_NS / 4) /* pauses of /proc */
#define PROC_MAX_NS     (CLOCK_SECOND_NS / 2)
#define BURST_NS        (500 * CLOCK_MS_NS) /* time of slow files that a tenant has at once */

/*
 * A request with several processes that hung: one of them is to be charged with the child,
 * who is late alone.
 */
struct hung {
	uint64_t number; /* of the child (worker/child.h); 0: none, or it is dead */
	size_t nr;
	struct suspect {
		struct tenant who;
		struct ban_subject process; /* inode 0: not known */
	} suspects[OPENER_MAX_GROUPS];
};

/* One for the process: whatever touches a target goes through it. */
static struct opener {
	struct worker *worker; /* NULL: none */
	pthread_t thread; /* that may use it */
	/* The last late looks; time_ns 0: none. */
	struct {
		struct tenant who;
		uint64_t time_ns;
	} late[MAX_LATE];
	size_t next_late;
	uint64_t late_groups_ns[MAX_LATE_GROUPS]; /* same */
	struct hung hung[MAX_LATE_GROUPS]; /* what these left behind */
	struct bans bans;
	struct time_share proc_share, file_share; /* of slow_ns */
	int own_dir, own_cgroup; /* is_cgroup_late(); without a worker not open */
	uint64_t cgroup_late_ns; /* when it was so; 0: never */
	bool leaves_out_cgroup; /* in the request that is made */
	uint64_t
		slow_open_ns; /* when a process was slow to be opened or looked at; 0: never */
	/* of the last request: how long the opener slept in the kernel, or ran (worker.h) */
	uint64_t slow_ns;
	struct retry_pause proc_pause; /* of /proc itself */
	opener_tenant_fn *find_tenant; /* NULL: none */
	void *find_ctx;
	struct opener_stats stats;
} opener;

int opener_begin(struct error *err)
{
	const struct worker_config config = {.kind = WORKER_OPENER};
	int rc = worker_new(&config, &opener.worker, err);

	if (rc)
		return rc;
	opener.thread = pthread_self();
	opener.own_dir = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	opener.own_cgroup = openat(opener.own_dir, CGROUP, O_PATH | O_CLOEXEC);
	return 0;
}

void opener_end(void)
{
	bans_clear(&opener.bans);
	memset(opener.late, 0, sizeof(opener.late));
	memset(opener.late_groups_ns, 0, sizeof(opener.late_groups_ns));
	memset(opener.hung, 0, sizeof(opener.hung));
	opener.proc_share = opener.file_share = (struct time_share){0};
	opener.cgroup_late_ns = opener.slow_open_ns = 0;
	opener.proc_pause = (struct retry_pause){0};
	if (opener.worker) {
		cleanup_closep(&opener.own_dir);
		cleanup_closep(&opener.own_cgroup);
	}
	worker_free(take_ptr(opener.worker));
	opener_find_tenants(NULL, NULL);
}

void opener_find_tenants(opener_tenant_fn *fn, void *ctx)
{
	opener.find_tenant = fn;
	opener.find_ctx = ctx;
}

void opener_share(void)
{
	opener.proc_share = opener.file_share =
		(struct time_share){.is_shared = true, .burst_ns = BURST_NS};
}

void opener_stats(struct opener_stats *ret)
{
	struct worker_stats stats = {0};

	*ret = opener.stats;
	ret->nr_put_off = opener.file_share.nr_put_off;
	if (opener.worker)
		worker_stats(opener.worker, &stats);
	ret->nr_failed += stats.nr_died + stats.nr_bad_reply;
	ret->cpu_ns = stats.cpu_ns;
}

/* ---- bans ---- */

/*
 * What the looks at this base could get stuck at. A path in a root may lead to any mount
 * there, so it is not banned; there the count of its tenant is the limit. Nor is /proc
 * itself, where directories of processes are opened (hidepid).
 *
 * @ret  zeroed: there is none
 */
static bool find_subject(int base_fd, const struct look *look, struct ban_subject *ret)
{
	struct look facts = {.where = LOOK_ITSELF, .what = LOOK_FACTS};

	*ret = (struct ban_subject){0};
	if (look->where == LOOK_IN_ROOT)
		return false;
	look_here(base_fd, &facts);
	if (facts.rc || (look->where == LOOK_BELOW && facts.facts.is_mount_root))
		return false;
	*ret = look->where == LOOK_BELOW
		       ? (struct ban_subject){.dev = facts.facts.dev,
					      .inode = facts.facts.inode}
		       : (struct ban_subject){.mount_id = facts.facts.mount_id};
	return true;
}

static bool is_banned(int base_fd, struct tenant who, const struct look *look)
{
	struct ban_subject subject;

	return opener.bans.nr && find_subject(base_fd, look, &subject) &&
	       bans_have(&opener.bans, &subject, who, clock_now_ns(), BAN_NS,
			 child_is_undead);
}

static void ban(int base_fd, struct tenant who, const struct ban_subject *subject,
		uint64_t stuck)
{
	int fd = fcntl(base_fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return;
	target_fd_opened(fd, who);
	bans_add(&opener.bans, subject, who, fd, stuck, clock_now_ns());
}

/* ---- requests ---- */

static void no_results(struct look *looks, size_t nr, int rc)
{
	for (size_t i = 0; i < nr; i++) {
		looks[i].rc = rc;
		looks[i].fd = -1;
		looks[i].text = NULL;
		looks[i].len = 0;
	}
}

/* Returns how many bytes the answer's text may have, whoever writes it. */
static uint64_t most_text(const struct look *look)
{
	switch (look->what) {
	case LOOK_LINK:
	case LOOK_CGROUP_PATH:
		return PATH_MAX;
	case LOOK_OWNERS:
		return (strlen(look->name) + 2) * sizeof(struct look_owner);
	default:
		return look->max_bytes ? look->max_bytes : UINT64_MAX;
	}
}

/* Has the answer what was asked for, and no more? One that failed has nothing. */
static bool is_whole(const struct look *look, bool has_fd)
{
	bool with_fd = look->what == LOOK_HANDLE || look->what == LOOK_FILE;
	bool with_text = !with_fd && look->what != LOOK_FACTS;

	return has_fd == (with_fd && !look->rc) && look->len <= most_text(look) &&
	       (look->text != NULL) == (with_text && !look->rc);
}

/*
 * An opener that was taken over could open more than files to read. A handle is closed here, at
 * once: that of a file in FUSE that is open would wait for its server.
 */
static bool is_as_asked(int fd, const struct look *look)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 &&
	       (look->what == LOOK_HANDLE ? (flags & O_PATH) != 0
					  : (flags & O_ACCMODE) == O_RDONLY);
}

static bool is_cgroup(const struct look *look)
{
	return look->where == LOOK_BELOW && !strcmp(look->name, CGROUP);
}

static bool is_left_out(const struct look *look)
{
	return opener.leaves_out_cgroup && is_cgroup(look);
}

/* Has its directory to be opened first? */
static bool is_new(const struct look_group *group)
{
	return group->base_fd < 0;
}

/* @name  gets its number */
static struct look look_to_enter(const struct look_group *group, char name[16])
{
	snprintf(name, 16, "%" PRIu32, group->pid);
	return (struct look){.where = LOOK_BELOW,
			     .what = LOOK_HANDLE,
			     .rules = LOOK_ENTER,
			     .name = name,
			     .fd = -1};
}

/* Of the directory, which is closed with close(2). */
static int take_handle(const struct look *entered)
{
	if (entered->rc)
		return entered->rc;
	target_fd_forget(entered->fd);
	return entered->fd;
}

static void put_group(struct wire_writer *request, const struct look_group *group)
{
	size_t nr = is_new(group);
	struct look enter;
	char name[16];

	for (size_t i = 0; i < group->nr; i++)
		nr += !is_left_out(&group->looks[i]);
	wire_put_u32(request, (uint32_t)nr);
	if (is_new(group)) {
		enter = look_to_enter(group, name);
		look_put(request, &enter);
	}
	for (size_t i = 0; i < group->nr; i++)
		if (!is_left_out(&group->looks[i]))
			look_put(request, &group->looks[i]);
}

static bool take_result(struct wire_reader *reply, struct look *look, struct tenant who,
			int *fds, size_t nr_fds, size_t *used)
{
	bool has_fd = false;

	if (is_left_out(look)) {
		look->rc = -EBUSY;
		return true;
	}
	if (!look_get_result(reply, look, &has_fd) || !is_whole(look, has_fd) ||
	    (has_fd && (*used == nr_fds || !is_as_asked(fds[*used], look))))
		return false;
	if (!has_fd)
		return true;
	look->fd = fds[(*used)++];
	target_fd_opened(look->fd, who);
	return true;
}

struct received {
	int fds[WORKER_MAX_FDS];
	size_t nr, used;
};

static bool take_group(struct wire_reader *reply, struct look_group *group,
		       struct look *entered, struct received *r)
{
	char name[16];

	if (is_new(group)) {
		*entered = look_to_enter(group, name);
		if (!take_result(reply, entered, group->who, r->fds, r->nr, &r->used))
			return false;
	}
	for (size_t k = 0; k < group->nr; k++)
		if (!take_result(reply, &group->looks[k], group->who, r->fds, r->nr,
				 &r->used))
			return false;
	return true;
}

/*
 * Reads the results of all looks, and the directories. Return: 0, or -EBADMSG with no
 * results.
 */
static int take_results(struct wire_reader *reply, struct look_group *groups, size_t nr)
{
	struct received r = {.used = 0};
	struct look entered[OPENER_MAX_GROUPS];
	bool is_good = true;

	r.nr = worker_take_fds(opener.worker, r.fds, ARRAY_SIZE(r.fds));
	for (size_t i = 0; i < nr; i++) {
		entered[i] = (struct look){.fd = -1};
		no_results(groups[i].looks, groups[i].nr, 0);
	}
	for (size_t i = 0; i < nr && is_good; i++)
		is_good = take_group(reply, &groups[i], &entered[i], &r);
	if (is_good && r.used == r.nr && reply->pos == reply->len) {
		for (size_t i = 0; i < nr; i++)
			if (is_new(&groups[i]))
				groups[i].base_fd = take_handle(&entered[i]);
		return 0;
	}
	opener.stats.nr_failed++;
	for (; r.used < r.nr; r.used++) {
		target_fd_opened(r.fds[r.used], groups->who);
		target_fd_close(r.fds[r.used]);
	}
	for (size_t i = 0; i < nr; i++) {
		look_deinit(&entered[i]);
		for (size_t k = 0; k < groups[i].nr; k++)
			look_deinit(&groups[i].looks[k]);
	}
	return -EBADMSG;
}

/* @who  NULL: all. Return: how many looks were late in the last seconds. */
static size_t nr_late(const struct tenant *who)
{
	uint64_t now_ns = clock_now_ns();
	size_t nr = 0;

	if (!opener.stats.nr_late)
		return 0;
	for (size_t i = 0; i < MAX_LATE; i++)
		nr += opener.late[i].time_ns &&
		      (!who || tenant_is_same(opener.late[i].who, *who)) &&
		      now_ns - opener.late[i].time_ns < OPENER_LATE_S * CLOCK_SECOND_NS;
	return nr;
}

static void note_late(struct tenant who)
{
	opener.stats.nr_late++;
	opener.late[opener.next_late].who = who;
	opener.late[opener.next_late].time_ns = clock_now_ns();
	opener.next_late = (opener.next_late + 1) % MAX_LATE;
}

/* Any user can hold folders of many others: they shall not use up what all have. */
static bool are_folders_paused(struct tenant who)
{
	size_t nr = 0;

	if (who.container != TENANT_FOLDERS || !who.uid)
		return false;
	for (size_t i = 0; i < MAX_LATE; i++)
		nr += opener.late[i].time_ns &&
		      opener.late[i].who.container == TENANT_FOLDERS &&
		      clock_now_ns() - opener.late[i].time_ns <
			      OPENER_LATE_S * CLOCK_SECOND_NS;
	return nr >= CHILD_MAX_UNDEAD_FOLDERS;
}

/* @where  LOOK_BELOW: in /proc */
static bool is_paused(struct tenant who, enum look_where where)
{
	/* All need it: it is asked again soon. Those that are stuck there are counted. */
	if (tenant_is_same(who, TENANT_OF_PROC))
		return clock_now_ns() < opener.proc_pause.until_ns;
	return nr_late(&who) >= child_max_undead(who) || nr_late(NULL) == MAX_LATE ||
	       are_folders_paused(who) ||
	       (where == LOOK_BELOW &&
		time_share_is_used_up(&opener.proc_share, who, clock_now_ns()));
}

static bool is_known(struct tenant who)
{
	return !tenant_is_same(who, TENANT_UNKNOWN);
}

/* A disk may be slow for those who were not late: they lose nothing because others were. */
static unsigned int deadline_of(struct tenant who, const struct look_group *group)
{
	size_t nr = nr_late(NULL);

	if (tenant_is_same(who, TENANT_OF_PROC) && group->nr &&
	    group->looks->what == LOOK_NAMES && !nr_late(&who))
		return OPENER_LIST_MS;
	if (nr < 2 || (nr < MAX_PATIENT && is_known(who) && !nr_late(&who)))
		return OPENER_MS;
	return OPENER_LATE_MS;
}

static bool has_cgroup(const struct look_group *groups, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < groups[i].nr; k++)
			if (is_cgroup(&groups[i].looks[k]))
				return true;
	return false;
}

static bool has_new(const struct look_group *groups, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (is_new(&groups[i]))
			return true;
	return false;
}

/* Has reading cgroups been late? Then processes do without for a time. */
static bool is_cgroup_paused(void)
{
	return opener.cgroup_late_ns &&
	       clock_now_ns() - opener.cgroup_late_ns < OPENER_LATE_S * CLOCK_SECOND_NS;
}

/*
 * @who      may be refused
 * @charged  is, if the opener gets stuck; its deadline counts. With a cgroup, nobody is yet
 *           (on_late())
 */
static int ask_once(struct tenant who, struct tenant charged, struct look_group *groups,
		    size_t nr)
{
	struct wire_writer request = {.max = WORKER_MAX_REQUEST_BYTES};
	enum worker_answer answer = WORKER_FAILED;
	int bases[OPENER_MAX_GROUPS];
	struct wire_reader reply;
	int rc = -ENOMEM;

	opener.stats.nr_requests++;
	opener.slow_ns = 0;
	opener.leaves_out_cgroup = is_cgroup_paused();
	worker_serves(opener.worker, who);
	if (!is_known(charged) || has_new(groups, nr) ||
	    (!opener.leaves_out_cgroup && has_cgroup(groups, nr)))
		worker_charges_nobody(opener.worker);
	for (size_t i = 0; i < nr; i++) {
		bases[i] = is_new(&groups[i]) ? groups[i].proc_fd : groups[i].base_fd;
		put_group(&request, &groups[i]);
	}
	if (!request.failed) {
		answer = worker_call(opener.worker, OPENER_LOOK, request.data,
				     request.len, bases, nr, NULL, NULL,
				     deadline_of(charged, groups), &reply, &rc);
		opener.slow_ns = worker_slow_ns(opener.worker);
	}
	wire_writer_deinit(&request);
	switch (answer) {
	case WORKER_OK:
		return take_results(&reply, groups, nr);
	case WORKER_FAILED:
		return rc;
	case WORKER_DEADLINE:
		return -ETIMEDOUT;
	case WORKER_CANNOT_START:
	case WORKER_REFUSED:
		return -EBUSY;
	default:
		return -EIO;
	}
}

/*
 * Is it the kernel that is late, and not a target? Before Linux 6.8 (9067d90006df) reading
 * the cgroup of any process takes cgroup_mutex, which whoever moves tasks in a cgroup of
 * his own can have held most of the time. So this reads the one of this process. No target
 * can delay that otherwise: its path stays in the kernel's cache while it is open.
 */
static bool is_cgroup_late(void)
{
	struct look look = {
		.where = LOOK_BELOW, .what = LOOK_PROC_TEXT, .name = CGROUP, .fd = -1};
	struct look_group group = {.base_fd = opener.own_dir, .looks = &look, .nr = 1};
	bool is_late;

	if (opener.own_cgroup < 0 || is_cgroup_paused())
		return false;
	is_late = ask_once(group.who, group.who, &group, 1) == -ETIMEDOUT ||
		  opener.slow_ns >= OPENER_LATE_MS * CLOCK_MS_NS;
	look_deinit(&look);
	if (is_late)
		opener.cgroup_late_ns = clock_now_ns();
	return is_late;
}

/* If reading cgroups is what takes long, nobody pays for it, and it is done without. */
static int ask(struct tenant who, struct tenant charged, struct look_group *groups,
	       size_t nr)
{
	int rc = ask_once(who, charged, groups, nr);
	uint64_t slow_ns = opener.slow_ns;

	if ((rc == -ETIMEDOUT || slow_ns >= OPENER_LATE_MS * CLOCK_MS_NS) &&
	    has_cgroup(groups, nr) && is_cgroup_late()) {
		slow_ns = 0;
		if (rc == -ETIMEDOUT) {
			rc = ask_once(who, charged, groups, nr);
			slow_ns = opener.slow_ns;
		}
	}
	opener.slow_ns = slow_ns;
	return rc;
}

static int ask_alone(int base_fd, struct tenant who, struct look *looks, size_t nr)
{
	struct look_group group = {
		.base_fd = base_fd, .who = who, .looks = looks, .nr = nr};

	return ask(who, who, &group, 1);
}

/*
 * "Uid:\t<real>\t<effective>..."; a newline in the process's name is escaped. Of a program
 * that is setuid root, who runs it.
 */
static bool find_user(const char *status, uint32_t *ret)
{
	const char *line = strstr(status, "\nUid:");
	uint32_t real, effective;

	if (!line || sscanf(line, "\nUid: %" SCNu32 " %" SCNu32, &real, &effective) != 2)
		return false;
	*ret = effective ? effective : real;
	return true;
}

/* Who has to be known before a request, because some tenant's may fail? */
static bool must_know(void)
{
	return nr_late(NULL) || child_nr_undead() ||
	       time_share_is_any_used_up(&opener.proc_share, clock_now_ns());
}

static void charge(struct tenant who, const struct look *look, uint64_t slow_ns)
{
	struct time_share *share = look->where == LOOK_BELOW ? &opener.proc_share
							     : &opener.file_share;
	uint64_t now_ns = clock_now_ns();

	/* Where the kernel is slow to make a cgroup, its folder is slow to answer. */
	if (tenant_is_same(who, TENANT_OF_FOLDERS(0)) ||
	    tenant_is_same(who, TENANT_OF_PROC))
		return;
	time_share_took(share, who, now_ns - slow_ns, now_ns);
}

/* The tenant may have been unknown in the request, or taken for another. */
static bool is_suspect(const struct suspect *suspect, struct tenant who,
		       const struct ban_subject *process)
{
	return (process->inode && process->inode == suspect->process.inode &&
		process->dev == suspect->process.dev) ||
	       (is_known(who) && tenant_is_same(suspect->who, who));
}

static void charge_hung(struct hung *hung, struct tenant who,
			const struct ban_subject *process)
{
	for (size_t i = 0; hung->number && i < hung->nr; i++) {
		if (!is_suspect(&hung->suspects[i], who, process))
			continue;
		child_charge_undead(hung->number, who);
		hung->number = 0;
	}
}

static const char *kind_of(struct tenant who)
{
	if (who.container == TENANT_OF_PROC.container)
		return "/proc itself, user";
	if (who.container == TENANT_FOLDERS)
		return "folders of user";
	if (who.container == TENANT_OF_TMP.container)
		return "/tmp, user";
	return who.container ? "a target of a container, user" : "a target of user";
}

/* @stuck  the number of the child that was left behind; 0: none */
static void on_late(int base_fd, struct tenant who, const struct look *look,
		    uint64_t stuck)
{
	struct ban_subject subject;

	note_late(who);
	if (tenant_is_same(who, TENANT_OF_PROC))
		retry_pause_begin(&opener.proc_pause, PROC_FIRST_NS, PROC_MAX_NS,
				  clock_now_ns());
	if (find_subject(base_fd, look, &subject))
		ban(base_fd, who, &subject, stuck);
	child_charge_undead(stuck, who);
	for (size_t i = 0; i < MAX_LATE_GROUPS; i++)
		charge_hung(&opener.hung[i], who, &subject);
	log_debug("%s of %s %u did not answer in time, skipping",
		  look->name ? look->name : "a file", kind_of(who), who.uid);
}

/*
 * Finds the tenant of the process of @proc_dir. Its status and cgroup do not wait for the
 * process, unlike its other files (is_cgroup_late()), but to open them does if it holds the
 * directory; then it is banned. The owner of the directory is root for a process that chose
 * so (PR_SET_DUMPABLE). Return: TENANT_UNKNOWN: it is gone, or late.
 */
static struct tenant tenant_of(int proc_dir)
{
	struct look looks[] = {
		{.where = LOOK_BELOW, .what = LOOK_PROC_TEXT, .name = "status"},
		{.where = LOOK_BELOW, .what = LOOK_PROC_TEXT, .name = "cgroup"},
	};
	struct tenant who = TENANT_UNKNOWN;
	struct look_group group = {
		.base_fd = proc_dir, .looks = looks, .nr = ARRAY_SIZE(looks)};
	/* Not refused when the unknown are: it will be known. */
	int rc = ask((struct tenant){0}, who, &group, 1);

	if (rc == -ETIMEDOUT)
		on_late(proc_dir, who, looks, worker_last_stuck(opener.worker));
	if (rc)
		return who;
	if (!looks[0].rc && find_user(looks[0].text, &who.uid) && opener.find_tenant)
		who = opener.find_tenant(opener.find_ctx, who.uid, &looks[1]);
	look_deinit(&looks[0]);
	look_deinit(&looks[1]);
	return who;
}

static struct tenant find_tenant(int base_fd, struct tenant who, const struct look *look)
{
	return is_known(who) || look->where != LOOK_BELOW ? who : tenant_of(base_fd);
}

static bool may_open(const struct look *looks, size_t nr, struct tenant who)
{
	for (size_t i = 0; i < nr; i++)
		if (looks[i].what == LOOK_FILE)
			return target_fd_has_room(who);
	return true;
}

static bool looks_here(void)
{
	return !opener.worker || !pthread_equal(opener.thread, pthread_self());
}

struct outcome {
	int rc;
	uint64_t slow_ns;
	uint64_t stuck; /* number of the child that was left behind; 0: none */
};

/* Of the last request. */
static struct outcome outcome_of(int rc)
{
	return (struct outcome){
		.rc = rc,
		.slow_ns = opener.slow_ns,
		.stuck = rc == -ETIMEDOUT ? worker_last_stuck(opener.worker) : 0};
}

/* Who pays for it? Return: its rc, with no results if it is an error. */
static int settle(int base_fd, struct tenant who, struct look *looks, size_t nr,
		  const struct outcome *o)
{
	if (o->rc == -EBUSY)
		opener.stats.nr_refused++;
	if (o->slow_ns || o->rc == -ETIMEDOUT)
		who = find_tenant(base_fd, who, looks);
	if (o->slow_ns)
		charge(who, looks, o->slow_ns);
	if (o->rc == -ETIMEDOUT)
		on_late(base_fd, who, looks, o->stuck);
	else if (tenant_is_same(who, TENANT_OF_PROC) && !o->rc)
		retry_pause_forget(&opener.proc_pause, clock_now_ns());
	if (o->rc)
		no_results(looks, nr, o->rc);
	return o->rc;
}

int opener_look(int base_fd, struct tenant who, struct look *looks, size_t nr)
{
	struct outcome o;

	if (looks_here()) {
		for (size_t i = 0; i < nr; i++)
			look_here(base_fd, &looks[i]);
		return 0;
	}
	if (base_fd < 0) {
		no_results(looks, nr, -EBADF);
		return -EBADF;
	}
	if (must_know() && !is_banned(base_fd, who, looks))
		who = find_tenant(base_fd, who, looks);
	opener.slow_ns = 0;
	o = outcome_of(is_banned(base_fd, who, looks) || is_paused(who, looks->where) ||
				       !may_open(looks, nr, who)
			       ? -EBUSY
			       : ask_alone(base_fd, who, looks, nr));
	return settle(base_fd, who, looks, nr, &o);
}

int opener_look_at(int base_fd, struct tenant who, struct look *look)
{
	opener_look(base_fd, who, look, 1);
	return look->rc;
}

bool opener_has_time(struct tenant who)
{
	return time_share_may_take(&opener.file_share, who, clock_now_ns());
}

/*
 * Opens these processes. They cannot delay that, only who holds /proc can, so it costs none of
 * them anything.
 */
static void open_processes(struct look_group **processes, size_t nr)
{
	struct look_group groups[OPENER_MAX_GROUPS];
	struct look looks[OPENER_MAX_GROUPS];
	char names[OPENER_MAX_GROUPS][16];
	struct outcome o;
	int rc = -EBUSY;

	for (size_t i = 0; i < nr; i++) {
		looks[i] = look_to_enter(processes[i], names[i]);
		groups[i] = (struct look_group){.base_fd = processes[i]->proc_fd,
						.who = TENANT_OF_PROC,
						.looks = &looks[i],
						.nr = 1};
	}
	opener.slow_ns = 0;
	if (!is_paused(TENANT_OF_PROC, LOOK_BELOW))
		rc = ask(TENANT_OF_PROC, TENANT_OF_PROC, groups, nr);
	o = outcome_of(rc);
	settle(groups->base_fd, TENANT_OF_PROC, looks, nr, &o);
	for (size_t i = 0; i < nr; i++)
		processes[i]->base_fd = take_handle(&looks[i]);
}

/*
 * A request with this process was late, and then it could not be opened. Was it /proc, which was
 * late again, or where no other opener gets to its own files? Else it was this process, and what
 * else there was of it is gone.
 */
static bool was_proc(const struct look_group *process)
{
	return process->base_fd == -ETIMEDOUT ||
	       (process->base_fd == -EBUSY && child_births_are_paused());
}

/* @stuck  the child that was late then */
static void on_late_open(const struct look_group *process, uint64_t stuck)
{
	char name[16];
	struct look enter = look_to_enter(process, name);

	if (process->base_fd == -ETIMEDOUT)
		child_charge_undead(stuck, TENANT_OF_PROC);
	else
		on_late(process->proc_fd,
			was_proc(process) ? TENANT_OF_PROC : process->who, &enter, stuck);
}

static void look_at_group_here(struct look_group *group)
{
	struct look_base base = {.fd = group->base_fd};
	struct look enter;
	char name[16];

	if (is_new(group)) {
		base.fd = group->proc_fd;
		enter = look_to_enter(group, name);
		look_in_turn(&base, &enter);
		group->base_fd = enter.rc ? enter.rc : enter.fd;
	}
	for (size_t k = 0; k < group->nr; k++)
		look_in_turn(&base, &group->looks[k]);
}

/*
 * Has a process to be opened before it is known whether it may be looked at, or because opening
 * seems to take long, for which nobody pays?
 */
static bool must_open_first(void)
{
	uint64_t now_ns = clock_now_ns();

	return bans_have_any(&opener.bans, now_ns, BAN_NS, child_is_undead) ||
	       (opener.slow_open_ns && now_ns - opener.slow_open_ns < BAN_NS) ||
	       must_know();
}

int opener_look_at_process(struct look_group *process)
{
	struct outcome o;

	if (looks_here()) {
		look_at_group_here(process);
		return process->base_fd < 0 ? process->base_fd : 0;
	}
	if (is_new(process) && (!process->nr || must_open_first())) {
		open_processes(&process, 1);
		if (is_new(process))
			no_results(process->looks, process->nr, process->base_fd);
		if (is_new(process) || !process->nr)
			return is_new(process) ? process->base_fd : 0;
	}
	if (!is_new(process))
		return opener_look(process->base_fd, process->who, process->looks,
				   process->nr);
	opener.slow_ns = 0;
	o = outcome_of(ask(process->who, process->who, process, 1));
	/* It may have been /proc. */
	if (o.rc == -ETIMEDOUT)
		open_processes(&process, 1);
	else if (o.rc)
		process->base_fd = o.rc;
	if (o.slow_ns >= OPENER_LATE_MS * CLOCK_MS_NS) {
		opener.slow_open_ns = clock_now_ns();
		o.slow_ns = 0;
	}
	if (!is_new(process))
		return settle(process->base_fd, process->who, process->looks, process->nr,
			      &o);
	if (o.rc == -ETIMEDOUT)
		on_late_open(process, o.stuck);
	if (o.rc)
		no_results(process->looks, process->nr, process->base_fd);
	opener.stats.nr_refused += o.rc == -EBUSY;
	return process->base_fd;
}

/* A process whose tenant is not known yet may be one of a tenant that is paused. */
static bool may_get_stuck(const struct look_group *group)
{
	return is_banned(group->base_fd, group->who, group->looks) ||
	       (is_known(group->who) ? is_paused(group->who, LOOK_BELOW) : must_know());
}

/* Did as many of these requests hang, or take long, as may? The oldest is replaced by the next. */
static bool are_groups_paused(void)
{
	uint64_t oldest_ns = opener.late_groups_ns[0];

	return oldest_ns && clock_now_ns() - oldest_ns < OPENER_LATE_S * CLOCK_SECOND_NS;
}

static void note_late_groups(void)
{
	memmove(opener.late_groups_ns, opener.late_groups_ns + 1,
		(MAX_LATE_GROUPS - 1) * sizeof(*opener.late_groups_ns));
	opener.late_groups_ns[MAX_LATE_GROUPS - 1] = clock_now_ns();
}

/* In the place of one whose child is dead or charged, else of the first. */
static void note_hung(struct look_group *const *groups, size_t nr, uint64_t stuck)
{
	struct hung *hung = &opener.hung[0];

	if (!stuck)
		return;
	for (size_t i = 0; i < MAX_LATE_GROUPS; i++)
		if (!child_is_undead(opener.hung[i].number))
			hung = &opener.hung[i];
	*hung = (struct hung){.number = stuck, .nr = nr};
	for (size_t i = 0; i < nr; i++) {
		hung->suspects[i].who = groups[i]->who;
		if (!is_new(groups[i]))
			find_subject(groups[i]->base_fd, groups[i]->looks,
				     &hung->suspects[i].process);
	}
}

/* Its caller looks at it alone. */
static void leave_alone(struct look_group *group)
{
	no_results(group->looks, group->nr, -EAGAIN);
	if (is_new(group))
		group->base_fd = -EAGAIN;
}

/* Opens those that are new. Return: one of them; NULL: there was none. */
static const struct look_group *open_new(struct look_group *const *groups, size_t nr)
{
	struct look_group *new[OPENER_MAX_GROUPS];
	size_t nr_new = 0;

	for (size_t i = 0; i < nr; i++)
		if (is_new(groups[i]))
			new[nr_new++] = groups[i];
	if (nr_new)
		open_processes(new, nr_new);
	return nr_new ? new[0] : NULL;
}

/* It took too long: who was it? */
static void on_late_groups(struct look_group *const *groups, size_t nr)
{
	uint64_t stuck = worker_last_stuck(opener.worker);
	const struct look_group *opened = open_new(groups, nr);

	if (opened && was_proc(opened))
		on_late_open(opened, stuck);
	else
		note_hung(groups, nr, stuck);
}

static void ask_groups(struct look_group *const *groups, size_t nr)
{
	struct look_group asked[OPENER_MAX_GROUPS];
	uint64_t slow_ns;
	int rc;

	for (size_t i = 0; i < nr; i++)
		asked[i] = *groups[i];
	rc = ask(TENANT_UNKNOWN, TENANT_UNKNOWN, asked, nr);
	slow_ns = opener.slow_ns;
	for (size_t i = 0; i < nr; i++)
		groups[i]->base_fd = asked[i].base_fd;
	if (rc == -ETIMEDOUT)
		on_late_groups(groups, nr);
	if (rc == -ETIMEDOUT || slow_ns >= OPENER_LATE_MS * CLOCK_MS_NS)
		note_late_groups();
	for (size_t i = 0; rc && i < nr; i++)
		leave_alone(groups[i]);
}

void opener_look_groups(struct look_group *groups, size_t nr)
{
	struct look_group *first[OPENER_MAX_GROUPS], *asked[OPENER_MAX_GROUPS];
	bool must_open = !looks_here() && must_open_first();
	bool are_paused = are_groups_paused();
	size_t nr_first = 0, nr_asked = 0;

	for (size_t i = 0; i < nr && !looks_here(); i++)
		if (must_open || !groups[i].nr)
			first[nr_first++] = &groups[i];
	open_new(first, nr_first);
	for (size_t i = 0; i < nr; i++) {
		struct look_group *group = &groups[i];

		if (looks_here())
			look_at_group_here(group);
		else if (must_open && is_new(group))
			no_results(group->looks, group->nr, group->base_fd);
		else if (group->nr && (are_paused || may_get_stuck(group)))
			leave_alone(group);
		else if (group->nr)
			asked[nr_asked++] = group;
	}
	if (nr_asked)
		ask_groups(asked, nr_asked);
}
