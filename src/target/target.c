// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "collect/filter.h"
#include "process/proc_dir.h"
#include "target/cgroups.h"
#include "target/comm_glob.h"
#include "target/explain.h"

#define MAX_READS 16 /* a tree that grows faster than we read it is cut */

/*
 * Sets the mask of a process. If its pid was reused since it was read, it has exited:
 * sets nothing.
 */
static int say(struct sampler *s, const struct proc_tree_item *m, uint32_t mask,
	       struct error *err)
{
	int rc = sampler_filter_task(s, m->tgid, mask, err);
	_cleanup_close_ int dir = proc_dir_open_here(m->tgid);
	struct proc_stat stat;

	if (!rc &&
	    (dir < 0 || proc_dir_stat(dir, &stat) || stat.start_ticks != m->start_ticks))
		sampler_forget_task(s, m->tgid);
	return rc;
}

/**
 * Sets @mask of @tgid and, with @children, of its descendants: reads /proc until there is
 * no new one, since a process without the mask does not pass it to its children.
 * Return: 0, -ESRCH when there is no such process, or -errno; with a sentence.
 */
static int target_add_family(struct sampler *s, uint32_t tgid, uint32_t mask,
			     bool children, struct error *err)
{
	_cleanup_(proc_tree_deinit) struct proc_tree tree = {0};
	size_t nr_before = 0, nr = 0;

	for (int turn = 0; turn < MAX_READS; turn++) {
		int rc = proc_tree_read(AT_FDCWD, &tree);

		if (rc)
			return error_set(err, rc, "cannot read /proc");
		if (!proc_tree_mark(&tree, tgid))
			return explain_no_process(tgid, err);
		if (children)
			proc_tree_mark_descendants(&tree);
		nr = 0;
		for (size_t i = 0; i < tree.nr && !rc; i++)
			if (tree.items[i].is_marked) {
				rc = say(s, &tree.items[i], mask, err);
				nr++;
			}
		if (rc || nr <= nr_before)
			return rc;
		nr_before = nr;
	}
	return 0;
}

#define MAX_THREADS 4096

struct thread {
	uint32_t tid;
	uint64_t start_ticks; /* since boot */
};

struct target {
	const struct target_request *request; /* borrowed */
	struct sampler *sampler;
	struct target_cgroups *cgroups; /* NULL: none requested */
	struct thread *threads; /* included threads; heap */
	size_t nr_threads, cap_threads;
	bool are_gone; /* all had exited at the last look */
	uint32_t *tgids; /* of the threads, parallel; heap */
	size_t cap_tgids;
};

bool target_follows_processes(const struct target_request *r)
{
	return r->is_command || r->nr_pids;
}

/* ---- threads ---- */

/* Reads /proc/TID, which exists for each thread. Return: false: it has exited. */
static bool read_thread(uint32_t tid, uint64_t *ret_start, uint32_t *ret_tgid)
{
	_cleanup_close_ int dir = proc_dir_open_here(tid);
	struct proc_status status;
	struct proc_stat stat;

	if (dir < 0 || proc_dir_stat(dir, &stat) || proc_dir_status(dir, &status) ||
	    stat.state == 'Z')
		return false;
	*ret_start = stat.start_ticks;
	*ret_tgid = status.tgid;
	return true;
}

static int no_thread(uint32_t tid, struct error *err)
{
	return error_set(err, -ESRCH,
			 "there is no thread %u; see \"ps -eL\" for what runs", tid);
}

static bool is_there(const struct thread *thread)
{
	uint64_t start;
	uint32_t tgid;

	return read_thread(thread->tid, &start, &tgid) && start == thread->start_ticks;
}

static int add_thread(struct target *c, const struct target_value *v, struct error *err)
{
	struct thread thread = {.tid = v->number};
	uint32_t tgid;
	int rc;

	if (!read_thread(thread.tid, &thread.start_ticks, &tgid))
		return no_thread(thread.tid, err);
	rc = sampler_filter_task(c->sampler, thread.tid | LB_TARGET_THREAD,
				 v->excludes ? LB_FILTER_OUT(LB_FILTER_THREAD)
					     : LB_FILTER_IN(LB_FILTER_THREAD),
				 err);
	if (rc)
		return rc;
	/* The tid may have been reused before the kernel side got it. */
	if (!is_there(&thread)) {
		sampler_forget_task(c->sampler, thread.tid | LB_TARGET_THREAD);
		return no_thread(thread.tid, err);
	}
	if (v->excludes)
		return 0;
	if (vec_grow(&c->threads, &c->cap_threads, c->nr_threads + 1, sizeof(*c->threads),
		     MAX_THREADS) ||
	    vec_grow(&c->tgids, &c->cap_tgids, c->nr_threads + 1, sizeof(*c->tgids),
		     MAX_THREADS))
		return error_set(err, -ENOMEM, "out of memory");
	c->tgids[c->nr_threads] = tgid;
	c->threads[c->nr_threads++] = thread;
	return 0;
}

/*
 * When another thread calls exec, the leader briefly seems to have exited: that thread
 * takes its tid and stays a target.
 */
bool target_threads_are_gone(struct target *c)
{
	bool were_gone = c->are_gone;

	c->are_gone = c->nr_threads;
	for (size_t i = 0; i < c->nr_threads && c->are_gone; i++)
		c->are_gone = !is_there(&c->threads[i]);
	return c->are_gone && were_gone;
}

/* ---- users ---- */

static int no_user(const char *name, struct error *err)
{
	struct suggestions users = {0};
	char asked[128], others[512];
	const struct passwd *pw;
	int rc;

	setpwent();
	while ((pw = getpwent()))
		suggestions_add(&users, pw->pw_name);
	endpwent();
	rc = error_set(err, -ENOENT,
		       "there is no user \"%s\" on this system; %s; users of containers "
		       "are known by their numbers",
		       escape_terminal_buf(asked, sizeof(asked), name),
		       suggestions_say(&users, name, others, sizeof(others)));
	suggestions_deinit(&users);
	return rc;
}

static int add_user(struct target *c, const struct target_value *v, struct error *err)
{
	const struct passwd *pw = getpwnam(v->text);
	uint32_t mask = v->excludes ? LB_FILTER_OUT(LB_FILTER_USER)
				    : LB_FILTER_IN(LB_FILTER_USER);
	unsigned long uid;
	char *end;

	if (pw)
		return sampler_filter_user(c->sampler, pw->pw_uid, mask, err);
	uid = strtoul(v->text, &end, 10);
	if (*end || *v->text < '0' || *v->text > '9' || uid >= UINT32_MAX)
		return no_user(v->text, err);
	return sampler_filter_user(c->sampler, (uint32_t)uid, mask, err);
}

/* ---- all ---- */

static int add_comms(struct target *c, struct error *err)
{
	_cleanup_free_ struct lb_comm_table *table = calloc(1, sizeof(*table));
	int rc = table ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->request->nr_values && !rc; i++) {
		const struct target_value *v = &c->request->values[i];

		if (v->kind == LB_FILTER_COMM)
			rc = comm_glob_add(table, v->text, v->excludes);
	}
	if (!rc && table->nr_words)
		rc = sampler_filter_comms(c->sampler, table);
	errno = -rc;
	return rc ? error_set(err, rc, "cannot choose by name: %m") : 0;
}

static int add_value(struct target *c, const struct target_value *v, struct error *err)
{
	switch (v->kind) {
	case LB_FILTER_THREAD:
		return add_thread(c, v, err);
	case LB_FILTER_USER:
		return add_user(c, v, err);
	case LB_FILTER_PROCESS:
		return target_add_family(c->sampler, v->number,
					 LB_FILTER_OUT(LB_FILTER_PROCESS),
					 !c->request->no_children, err);
	default:
		return 0; /* cgroups and names are added together */
	}
}

static void use(struct target *c)
{
	const struct target_request *r = c->request;
	uint32_t uses = 0, wanted = 0;

	for (size_t i = 0; i < r->nr_values; i++) {
		uses |= LB_FILTER_IN(r->values[i].kind);
		if (!r->values[i].excludes)
			wanted |= LB_FILTER_IN(r->values[i].kind);
	}
	if (target_follows_processes(r)) {
		uses |= LB_FILTER_IN(LB_FILTER_PROCESS);
		wanted |= LB_FILTER_IN(LB_FILTER_PROCESS);
	}
	sampler_use_filter(c->sampler, uses, wanted, r->no_children);
}

int target_new(const struct target_request *r, struct sampler *s, struct target **ret,
	       struct error *err)
{
	_cleanup_(target_freep) struct target *c = calloc(1, sizeof(*c));
	int rc = 0;

	if (!c)
		return error_set(err, -ENOMEM, "out of memory");
	c->request = r;
	c->sampler = s;
	/* First: the kernel side follows forks from here on. */
	use(c);
	for (size_t i = 0; i < r->nr_values && !rc; i++)
		rc = add_value(c, &r->values[i], err);
	if (!rc)
		rc = add_comms(c, err);
	if (!rc)
		rc = target_cgroups_new(r, s, &c->cgroups, err);
	if (!rc)
		*ret = take_ptr(c);
	return rc;
}

void target_free(struct target *c)
{
	if (!c)
		return;
	target_cgroups_free(c->cgroups);
	free(c->threads);
	free(c->tgids);
	free(c);
}

const uint32_t *target_tgids(const struct target *c, size_t *ret_nr)
{
	*ret_nr = c->request->nr_pids ? c->request->nr_pids : c->nr_threads;
	return c->request->nr_pids ? c->request->pids : c->tgids;
}

int target_poll_fd(const struct target *c)
{
	return target_cgroups_poll_fd(c->cgroups);
}

void target_look(struct target *c)
{
	target_cgroups_look(c->cgroups);
}

uint64_t target_nr_refused(const struct target *c)
{
	return target_cgroups_nr_refused(c->cgroups);
}

const char *target_describe(const struct target_request *r, struct strpool *pool)
{
	static const char *const kinds[LB_NR_FILTER_KINDS] = {
		[LB_FILTER_THREAD] = "thread",
		[LB_FILTER_PROCESS] = "process",
		[LB_FILTER_USER] = "user",
		[LB_FILTER_CGROUP] = "cgroup",
		[LB_FILTER_CONTAINER] = "container",
		[LB_FILTER_UNIT] = "unit",
		[LB_FILTER_COMM] = "name"};
	char text[512], value[128];
	size_t used;

	if (r->is_command)
		used = (size_t)snprintf(text, sizeof(text), "the command%s",
					r->no_children ? "" : " and its children");
	else if (r->nr_pids)
		used = (size_t)snprintf(text, sizeof(text), "process");
	else
		used = (size_t)snprintf(text, sizeof(text), "%s",
					r->whole_machine ? "the whole machine"
							 : "threads");
	for (size_t i = 0; i < r->nr_pids && used < sizeof(text) - 16; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %u",
					 r->pids[i]);
	for (size_t i = 0; i < r->nr_values && used < sizeof(text) - sizeof(value) - 32;
	     i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s %s%s %s", i ? "," : ":",
			r->values[i].excludes ? "not " : "", kinds[r->values[i].kind],
			escape_terminal_buf(value, sizeof(value), r->values[i].text));
	return strpool_add(pool, text);
}
