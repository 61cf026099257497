// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc_dir.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/search.h"
#include "base/target_fd.h"
#include "base/vec.h"
#include "opener/opener.h"
#include "process/cgroup.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* Most text read of one process. */
#define MAX_MAPS_BYTES (2 * PROC_DIR_WHOLE_MAPS)

/*
 * 4242 (comm) S 1 4242 ... : the name is not escaped and may contain ") S 1", so the
 * last parenthesis ends it. Field numbers as in proc(5).
 */
int proc_stat_parse(const char *text, struct proc_stat *ret)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	struct proc_stat stat = {0};
	unsigned long long ppid, flags, nr_threads, start;
	size_t n;

	if (!open || !close || close < open)
		return -EBADMSG;
	n = (size_t)(close - open - 1);
	memcpy(stat.comm, open + 1, n < 15 ? n : 15);
	/* 3 state, 4 ppid, 9 flags, 20 num_threads, 22 starttime */
	if (sscanf(close + 1,
		   " %c %llu %*s %*s %*s %*s %llu %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %llu %*s %llu",
		   &stat.state, &ppid, &flags, &nr_threads, &start) != 5)
		return -EBADMSG;
	stat.ppid = (uint32_t)ppid;
	stat.is_kernel_thread = flags & PF_KTHREAD;
	stat.nr_threads = (uint32_t)nr_threads;
	stat.start_ticks = start;
	*ret = stat;
	return 0;
}

/*
 * Reads the numbers at the start of a line, whose end they do not pass. Return: how many,
 * at most @max.
 */
static size_t read_numbers(const char *at, unsigned long *ret, size_t max)
{
	size_t nr = 0;

	while (nr < max) {
		char *end;

		while (*at == ' ' || *at == '\t')
			at++;
		if (!isdigit((unsigned char)*at))
			break;
		ret[nr++] = strtoul(at, &end, 10);
		at = end;
	}
	return nr;
}

/*
 * Reads the numbers of the line "<name>\t<n> <n> ...". The process's name cannot fake
 * such a line: a newline in it is escaped.
 */
static size_t line_numbers(const char *text, const char *name, unsigned long *ret,
			   size_t max)
{
	const char *at = strstr(text, name);

	return at ? read_numbers(at + strlen(name), ret, max) : 0;
}

int proc_status_parse(const char *text, struct proc_status *ret)
{
	unsigned long tgid, uids[2], gids[2], ns_tgids[33]; /* namespaces nest 32 deep */
	size_t nr = line_numbers(text, "\nNStgid:", ns_tgids, ARRAY_SIZE(ns_tgids));

	if (line_numbers(text, "\nTgid:", &tgid, 1) != 1 ||
	    line_numbers(text, "\nUid:", uids, 2) != 2 ||
	    line_numbers(text, "\nGid:", gids, 2) != 2)
		return -EBADMSG;
	*ret = (struct proc_status){.tgid = (uint32_t)tgid,
				    .uid = (uid_t)uids[1],
				    .real_uid = (uid_t)uids[0],
				    .gid = (gid_t)gids[1],
				    .ns_tgid = nr ? (uint32_t)ns_tgids[nr - 1] : 0};
	return 0;
}

int proc_uid_map_parse(const char *text, uid_t *ret)
{
	for (; text; text = strchr(text, '\n')) {
		unsigned long range[3]; /* first inside, first outside, how many */

		text += *text == '\n';
		if (read_numbers(text, range, 3) == 3 && range[0] == 0 && range[2] > 0) {
			*ret = (uid_t)range[1];
			return 0;
		}
	}
	return -ENOENT;
}

/*
 * Process 1 always exists and belongs to another user if lineburn runs unprivileged. The
 * opener may have rights that this process has given up.
 */
bool proc_hides_others(void)
{
	_cleanup_close_ int dir = proc_dir_open_here(1);
	struct proc_stat stat;
	int rc = dir < 0 ? dir : proc_dir_stat(dir, &stat);

	/* The second name is one that io_keep_names() keeps. */
	return (rc == -ENOENT || rc == -EACCES || rc == -EPERM) &&
	       !access("/proc/self/statm", R_OK);
}

static int open_by_opener(int proc_fd, struct tenant who, const char *name)
{
	struct look look = {
		.where = LOOK_BELOW, .what = LOOK_HANDLE, .name = name, .fd = -1};
	int rc = opener_look_at(proc_fd, who, &look);

	if (!rc)
		target_fd_forget(look.fd);
	return rc ? rc : look.fd;
}

int proc_root_of_first(int proc_fd)
{
	return open_by_opener(proc_fd, TENANT_OF_PROC, "1/root");
}

int proc_dir_open(int proc_fd, uint32_t pid)
{
	struct look_group process = {
		.base_fd = -1, .proc_fd = proc_fd, .pid = pid, .who = TENANT_UNKNOWN};

	opener_look_at_process(&process);
	return process.base_fd;
}

int proc_dir_open_here(uint32_t pid)
{
	_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return proc_fd < 0 ? -errno : proc_dir_open(proc_fd, pid);
}

#define MAX_PROCESSES (4u << 20) /* PID_MAX_LIMIT of linux/threads.h */
#define LIST_BYTES    (8 * MAX_PROCESSES)

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * Returns the numbers in a list of names, in order and each once, so that a list has an end,
 * whoever makes it up. Out of memory: some are missing.
 *
 * @list  changed
 * @ret   heap
 */
static size_t numbers_of(char *list, uint32_t **ret)
{
	size_t nr = 0, nr_kept = 0, cap = 0;
	char *name;

	while ((name = strsep(&list, "\n"))) {
		uint32_t pid = (uint32_t)strtoul(name, NULL, 10);

		if (!pid)
			continue;
		if (vec_grow(ret, &cap, nr + 1, sizeof(**ret), MAX_PROCESSES))
			break;
		(*ret)[nr++] = pid;
	}
	if (nr)
		qsort(*ret, nr, sizeof(**ret), compare_numbers);
	for (size_t i = 0; i < nr; i++)
		if (!nr_kept || (*ret)[nr_kept - 1] != (*ret)[i])
			(*ret)[nr_kept++] = (*ret)[i];
	return nr_kept;
}

/* Opens the first of these processes. Return: how many. */
static size_t open_some(int proc_fd, const uint32_t *pids, size_t max,
			struct look_group *ret)
{
	size_t nr = 0;

	for (; nr < OPENER_MAX_GROUPS && nr < max; nr++)
		ret[nr] = (struct look_group){.base_fd = -1,
					      .proc_fd = proc_fd,
					      .pid = pids[nr],
					      .who = TENANT_UNKNOWN};
	opener_look_groups(ret, nr);
	return nr;
}

int proc_dir_each(int proc_fd, int (*fn)(void *ctx, uint32_t pid, int proc_dir),
		  void *ctx)
{
	_cleanup_(look_deinit) struct look look = {.where = LOOK_BELOW,
						   .what = LOOK_NAMES,
						   .rules = LOOK_FOLDERS,
						   .name = ".",
						   .max_bytes = LIST_BYTES,
						   .fd = -1};
	_cleanup_free_ uint32_t *pids = NULL;
	_cleanup_close_ int proc = -1;
	size_t nr_pids, nr;
	int rc;

	if (proc_fd == AT_FDCWD)
		proc_fd = proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return -errno;
	rc = opener_look_at(proc_fd, TENANT_OF_PROC, &look);
	nr_pids = rc ? 0 : numbers_of(look.text, &pids);
	for (size_t at = 0; !rc && at < nr_pids; at += nr) {
		struct look_group processes[OPENER_MAX_GROUPS];

		nr = open_some(proc_fd, pids + at, nr_pids - at, processes);
		for (size_t i = 0; i < nr; i++) {
			_cleanup_close_ int dir = processes[i].base_fd;

			if (!rc && dir == -EAGAIN)
				dir = proc_dir_open(proc_fd, processes[i].pid);
			if (!rc && (dir >= 0 || proc_dir_is_late(dir)))
				rc = fn(ctx, processes[i].pid, dir);
		}
	}
	return rc;
}

/* ---- the tree of processes ---- */

static int add_to_tree(void *ctx, uint32_t tgid, int dir)
{
	struct proc_tree *tree = ctx;
	struct proc_stat stat = {0};
	int rc = dir < 0 ? dir : proc_dir_stat(dir, &stat);

	if (rc && !proc_dir_is_late(rc))
		return 0;
	if (vec_grow(&tree->items, &tree->cap, tree->nr + 1, sizeof(*tree->items),
		     MAX_PROCESSES))
		return -ENOMEM;
	tree->items[tree->nr++] = (struct proc_tree_item){
		.tgid = tgid, .ppid = stat.ppid, .start_ticks = stat.start_ticks};
	return 0;
}

int proc_tree_read(int proc_fd, struct proc_tree *ret)
{
	ret->nr = 0;
	return proc_dir_each(proc_fd, add_to_tree, ret);
}

void proc_tree_deinit(struct proc_tree *tree)
{
	free(tree->items);
}

static struct proc_tree_item *find_in_tree(const struct proc_tree *tree, uint32_t tgid)
{
	size_t at = SEARCH_FIRST(i, tree->nr, tree->items[i].tgid >= tgid);

	return at < tree->nr && tree->items[at].tgid == tgid ? &tree->items[at] : NULL;
}

bool proc_tree_mark(struct proc_tree *tree, uint32_t tgid)
{
	struct proc_tree_item *item = find_in_tree(tree, tgid);

	if (item)
		item->is_marked = true;
	return item;
}

void proc_tree_detach(struct proc_tree *tree, uint32_t tgid)
{
	struct proc_tree_item *item = find_in_tree(tree, tgid);

	if (item)
		item->ppid = 0;
}

void proc_tree_mark_descendants(struct proc_tree *tree)
{
	bool is_changed = true;

	while (is_changed) { /* each pass marks at least one more generation */
		is_changed = false;
		for (size_t i = 0; i < tree->nr; i++) {
			struct proc_tree_item *item = &tree->items[i];
			const struct proc_tree_item *parent;

			if (item->is_marked)
				continue;
			parent = find_in_tree(tree, item->ppid);
			if (parent && parent->is_marked)
				item->is_marked = is_changed = true;
		}
	}
}

/* ---- the files of one process: the opener finds its tenant, if that matters ---- */

/*
 * The kernel writes each of these in one piece, so a short read is its end
 * (seq_read_iter(), fs/seq_file.c). Of uid_map the beginning is enough, which has id 0.
 */
static struct look text_of(const char *name, uint64_t max)
{
	return (struct look){.where = LOOK_BELOW,
			     .what = LOOK_PROC_TEXT,
			     .rules = LOOK_ONE_PIECE,
			     .name = name,
			     .max_bytes = max,
			     .fd = -1};
}

#define STAT_BYTES    1024
#define STATUS_BYTES  16384 /* a user may be in many groups, which precede NStgid */
#define UID_MAP_BYTES 4096
#define CGROUP_BYTES  65536 /* a line for each hierarchy */

int proc_dir_open_stat(int proc_fd, uint32_t pid, struct proc_stat *ret)
{
	_cleanup_(look_deinit) struct look look = text_of("stat", STAT_BYTES);
	struct look_group process = {.base_fd = -1,
				     .proc_fd = proc_fd,
				     .pid = pid,
				     .who = TENANT_UNKNOWN,
				     .looks = &look,
				     .nr = 1};
	_cleanup_close_ int dir = -1;
	int rc;

	opener_look_at_process(&process);
	dir = process.base_fd;
	rc = dir < 0 ? dir : look.rc;
	if (!rc)
		rc = proc_stat_parse(look.text, ret);
	return rc ? rc : take_fd(&dir);
}

int proc_dir_stat(int proc_dir, struct proc_stat *ret)
{
	_cleanup_(look_deinit) struct look look = text_of("stat", STAT_BYTES);
	int rc = opener_look_at(proc_dir, TENANT_UNKNOWN, &look);

	return rc ? rc : proc_stat_parse(look.text, ret);
}

bool proc_dir_is_late(int rc)
{
	return rc == -ETIMEDOUT || rc == -EBUSY;
}

int proc_dir_status(int proc_dir, struct proc_status *ret)
{
	_cleanup_(look_deinit) struct look look = text_of("status", STATUS_BYTES);
	int rc = opener_look_at(proc_dir, TENANT_UNKNOWN, &look);

	return rc ? rc : proc_status_parse(look.text, ret);
}

void proc_dir_look_at_cgroup(int proc_dir, struct look *ret)
{
	*ret = text_of("cgroup", CGROUP_BYTES);
	opener_look_at(proc_dir, TENANT_UNKNOWN, ret);
}

const char *proc_dir_cgroup_path(const struct look *cgroup, size_t *ret_len,
				 uint32_t *ret_hierarchy)
{
	const char *newline;

	if (cgroup->rc)
		return NULL;
	/* Drop a cut line: its path would name another cgroup. */
	newline = memrchr(cgroup->text, '\n', cgroup->len);
	return newline ? cgroup_path_of(cgroup->text,
					(size_t)(newline + 1 - cgroup->text), ret_len,
					ret_hierarchy)
		       : NULL;
}

static int read_identity(struct look *looks, struct proc_identity *ret)
{
	const struct look *status = &looks[0], *uid_map = &looks[1], *user_ns = &looks[2];

	*ret = (struct proc_identity){.root_uid = (uid_t)-1};
	ret->maps_root = uid_map->rc ||
			 proc_uid_map_parse(uid_map->text, &ret->root_uid) != -ENOENT;
	ret->user_ns = user_ns->rc ? 0 : user_ns->facts.inode;
	return status->rc ? status->rc : proc_status_parse(status->text, &ret->status);
}

/* The looks of a view, in order. */
enum {
	VIEW_STAT,
	VIEW_ROOT,
	VIEW_STATUS,
	VIEW_UID_MAP,
	VIEW_USER_NS,
	VIEW_CGROUP,
	VIEW_EXE,
	VIEW_ROOT_PATH,
	NR_VIEW_LOOKS
};

static const unsigned int part_of[] = {
	[VIEW_ROOT] = PROC_VIEW_ROOT,        [VIEW_STATUS] = PROC_VIEW_IDENTITY,
	[VIEW_UID_MAP] = PROC_VIEW_IDENTITY, [VIEW_USER_NS] = PROC_VIEW_IDENTITY,
	[VIEW_CGROUP] = PROC_VIEW_CGROUP,    [VIEW_EXE] = PROC_VIEW_EXE,
	[VIEW_ROOT_PATH] = PROC_VIEW_EXE};

static bool is_wanted(size_t look, unsigned int parts)
{
	return look == VIEW_STAT || part_of[look] & parts;
}

/* Return: how many looks these parts take. */
static size_t begin_view(struct look *looks, unsigned int parts, struct proc_view *ret)
{
	const struct look all[NR_VIEW_LOOKS] = {
		[VIEW_STAT] = text_of("stat", STAT_BYTES),
		[VIEW_ROOT] = {.what = LOOK_HANDLE, .name = "root", .fd = -1},
		[VIEW_STATUS] = text_of("status", STATUS_BYTES),
		[VIEW_UID_MAP] = text_of("uid_map", UID_MAP_BYTES),
		[VIEW_USER_NS] = {.what = LOOK_FACTS, .name = "ns/user", .fd = -1},
		[VIEW_CGROUP] = text_of("cgroup", CGROUP_BYTES),
		[VIEW_EXE] = {.what = LOOK_LINK, .name = "exe", .fd = -1},
		[VIEW_ROOT_PATH] = {.what = LOOK_LINK, .name = "root", .fd = -1},
	};

	size_t nr = 0;

	for (size_t i = 0; i < NR_VIEW_LOOKS; i++)
		if (is_wanted(i, parts))
			looks[nr++] = all[i];
	*ret = (struct proc_view){.from_ns = clock_now_ns(), .parts = parts};
	return nr;
}

/* Takes the results of the looks that begin_view() made. */
static void end_view(const struct look *made, unsigned int parts, struct proc_view *ret)
{
	struct look looks[NR_VIEW_LOOKS];
	size_t nr = 0;

	ret->until_ns = clock_now_ns();
	for (size_t i = 0; i < NR_VIEW_LOOKS; i++)
		looks[i] = is_wanted(i, parts) ? made[nr++]
					       : (struct look){.rc = -ENODATA, .fd = -1};
	ret->stat_rc = looks[VIEW_STAT].rc
			       ? looks[VIEW_STAT].rc
			       : proc_stat_parse(looks[VIEW_STAT].text, &ret->stat);
	ret->identity_rc = read_identity(&looks[VIEW_STATUS], &ret->identity);
	for (size_t i = VIEW_STATUS; i < VIEW_CGROUP; i++)
		look_deinit(&looks[i]);
	look_deinit(&looks[VIEW_STAT]);
	ret->root = looks[VIEW_ROOT];
	ret->cgroup = looks[VIEW_CGROUP];
	ret->exe = looks[VIEW_EXE];
	ret->root_path = looks[VIEW_ROOT_PATH];
}

void proc_view_read(int proc_dir, unsigned int parts, struct proc_view *ret)
{
	struct look looks[NR_VIEW_LOOKS];
	size_t nr = begin_view(looks, parts, ret);

	opener_look(proc_dir, TENANT_UNKNOWN, looks, nr);
	end_view(looks, parts, ret);
}

int proc_view_open(int proc_fd, uint32_t pid, unsigned int parts, struct proc_view *ret)
{
	struct look looks[NR_VIEW_LOOKS];
	struct look_group process = {
		.base_fd = -1,
		.proc_fd = proc_fd,
		.pid = pid,
		.who = TENANT_UNKNOWN,
		.looks = looks,
		.nr = begin_view(looks, parts, ret),
	};

	opener_look_at_process(&process);
	end_view(looks, parts, ret);
	if (process.base_fd < 0)
		proc_view_deinit(ret);
	return process.base_fd;
}

void proc_views_read(struct proc_view_request *requests, size_t nr)
{
	struct look looks[OPENER_MAX_GROUPS][NR_VIEW_LOOKS];
	struct look_group groups[OPENER_MAX_GROUPS];

	for (size_t i = 0; i < nr; i++) {
		struct proc_view_request *r = &requests[i];

		groups[i] = (struct look_group){
			.base_fd = -1,
			.proc_fd = r->proc_fd,
			.pid = r->pid,
			.who = r->who,
			.looks = looks[i],
			.nr = begin_view(looks[i], r->parts, &r->view)};
	}
	opener_look_groups(groups, nr);
	for (size_t i = 0; i < nr; i++) {
		requests[i].proc_dir = groups[i].base_fd;
		requests[i].is_read = looks[i][VIEW_STAT].rc != -EAGAIN;
		end_view(looks[i], requests[i].parts, &requests[i].view);
	}
}

void proc_view_deinit(struct proc_view *view)
{
	look_deinit(&view->root);
	look_deinit(&view->cgroup);
	look_deinit(&view->exe);
	look_deinit(&view->root_path);
}

/* ---- threads ---- */

#define TID_BYTES   16 /* and more than its line */
#define TRIED_BYTES 512 /* of threads among which a live one is searched: 64 at least */

int proc_dir_each_thread(int proc_dir, const char *file, uint64_t list_bytes,
			 int (*fn)(void *ctx, const char *tid, const char *text),
			 void *ctx)
{
	_cleanup_(look_deinit) struct look list = {.where = LOOK_BELOW,
						   .what = LOOK_NAMES,
						   .name = "task",
						   .max_bytes = list_bytes,
						   .fd = -1};
	int rc = opener_look_at(proc_dir, TENANT_UNKNOWN, &list);
	char *next = list.text;

	while (!rc && next && *next) {
		struct look looks[OPENER_MAX_LOOKS];
		char paths[OPENER_MAX_LOOKS][64];
		const char *tids[OPENER_MAX_LOOKS];
		size_t nr = 0;

		for (; nr < OPENER_MAX_LOOKS && next && *next; nr++) {
			tids[nr] = strsep(&next, "\n");
			snprintf(paths[nr], sizeof(paths[nr]), "task/%.32s/%s", tids[nr],
				 file);
			looks[nr] = text_of(paths[nr], STAT_BYTES);
		}
		rc = opener_look(proc_dir, TENANT_UNKNOWN, looks, nr);
		for (size_t i = 0; i < nr; i++) {
			if (!rc && !looks[i].rc)
				rc = fn(ctx, tids[i], looks[i].text);
			look_deinit(&looks[i]);
		}
	}
	return !rc && list.len + TID_BYTES > list_bytes ? -EFBIG : rc;
}

struct live_thread {
	int proc_fd, proc_dir;
	uint32_t tgid;
	int fd; /* its directory; -ESRCH: none yet; another errno: it is late */
};

static bool lives(const struct proc_stat *stat)
{
	return stat->state != 'Z' && stat->state != 'X';
}

/* Does it say that the thread could not be looked at, though it may live? */
static bool is_no_answer(int rc)
{
	return proc_dir_is_late(rc) || rc == -EIO || rc == -EMFILE || rc == -ENFILE ||
	       rc == -ENOMEM;
}

/* Takes the directory if it is that of a thread of this process that lives. */
static void take_if_alive(struct live_thread *t, int opened)
{
	_cleanup_(proc_view_deinit) struct proc_view view = PROC_VIEW_NONE;
	_cleanup_close_ int dir = opened;

	if (is_no_answer(dir))
		t->fd = dir;
	if (dir < 0)
		return;
	proc_view_read(dir, PROC_VIEW_IDENTITY, &view);
	if (is_no_answer(view.stat_rc))
		t->fd = view.stat_rc;
	else if (!view.stat_rc && lives(&view.stat) && !view.identity_rc &&
		 view.identity.status.tgid == t->tgid)
		t->fd = take_fd(&dir);
}

static int try_thread(void *ctx, const char *tid, const char *text)
{
	struct live_thread *t = ctx;
	struct proc_stat stat;
	char path[64];

	if (proc_stat_parse(text, &stat) || !lives(&stat))
		return 0;
	/* Its own directory has map_files, but the number may be another's by now. */
	take_if_alive(t, proc_dir_open(t->proc_fd, (uint32_t)strtoul(tid, NULL, 10)));
	if (t->fd == -ESRCH) {
		snprintf(path, sizeof(path), "task/%.32s", tid);
		take_if_alive(t, open_by_opener(t->proc_dir, TENANT_UNKNOWN, path));
	}
	return t->fd != -ESRCH;
}

int proc_dir_open_thread(int proc_fd, int proc_dir, uint32_t tgid)
{
	struct live_thread t = {
		.proc_fd = proc_fd, .proc_dir = proc_dir, .tgid = tgid, .fd = -ESRCH};
	int rc = proc_dir_each_thread(proc_dir, "stat", TRIED_BYTES, try_thread, &t);

	return is_no_answer(rc) ? rc : t.fd;
}

int proc_dir_find_mapped(int proc_dir, struct tenant who, const struct mapping *m,
			 struct look_facts *ret)
{
	struct look look = {.where = LOOK_BELOW, .what = LOOK_HANDLE, .fd = -1};
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "map_files/%llx-%llx", (unsigned long long)m->start,
		 (unsigned long long)m->end);
	look.name = path;
	rc = opener_look_at(proc_dir, who, &look);
	*ret = look.facts;
	return rc ? rc : look.fd;
}

ssize_t proc_dir_maps(int proc_dir, uint64_t time_ns, struct strpool *pool,
		      int (*add)(void *, const struct mapping *), void *ctx)
{
	_cleanup_(look_deinit) struct look look = text_of("maps", MAX_MAPS_BYTES);
	int rc;

	look.rules = 0; /* a read ends before a line that would not fit */
	rc = opener_look_at(proc_dir, TENANT_UNKNOWN, &look);
	if (rc)
		return rc;
	maps_parse(look.text, look.len, time_ns, pool, add, ctx);
	return (ssize_t)look.len;
}
