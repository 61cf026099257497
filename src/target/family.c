// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/family.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "base/vec.h"
#include "collect/filter.h"
#include "collect/task_event.h"
#include "process/proc_dir.h"

#define MAX_MEMBERS 65536

struct family_member {
	uint32_t tgid;
	uint32_t mask; /* of the nearest ancestor that got it from user space */
	uint64_t since_ns; /* CLOCK_MONOTONIC: of its fork's event, or family.begin_ns */
	bool has_exited; /* its leader; other threads may fork, or call exec */
};

struct family {
	struct sampler *sampler;
	uint64_t begin_ns; /* before those that had rules were taken */
	struct family_member *members;
	size_t nr, cap;
	struct hashmap by_tgid;
	uint64_t nr_missed; /* when all members had their rules */
	bool has_exited; /* a member */
	bool is_full; /* a child had no room */
};

static bool has_tgid(uint32_t item, const void *key, const void *ctx)
{
	return ((const struct family *)ctx)->members[item].tgid == *(const uint32_t *)key;
}

static struct family_member *find(const struct family *f, uint32_t tgid)
{
	uint32_t i = hashmap_get(&f->by_tgid, hash_u64(0, tgid), has_tgid, &tgid, f);

	return i == HASHMAP_NONE ? NULL : &f->members[i];
}

static int add(struct family *f, const struct family_member *m)
{
	int rc = vec_grow(&f->members, &f->cap, f->nr + 1, sizeof(*f->members),
			  MAX_MEMBERS);

	if (!rc)
		rc = hashmap_add(&f->by_tgid, hash_u64(0, m->tgid), (uint32_t)f->nr);
	if (!rc)
		f->members[f->nr++] = *m;
	return rc;
}

/* The last member takes its place. */
static void drop(struct family *f, struct family_member *m)
{
	const struct family_member *last = &f->members[f->nr - 1];

	hashmap_remove(&f->by_tgid, hash_u64(0, m->tgid), (uint32_t)(m - f->members));
	if (m != last) {
		hashmap_remove(&f->by_tgid, hash_u64(0, last->tgid),
			       (uint32_t)(f->nr - 1));
		*m = *last;
		/* Cannot fail: the removals freed slots. */
		hashmap_add(&f->by_tgid, hash_u64(0, m->tgid),
			    (uint32_t)(m - f->members));
	}
	f->nr--;
}

static int take_over(void *ctx, uint32_t id, uint32_t mask)
{
	struct family *f = ctx;
	struct family_member m = {.tgid = id, .mask = mask, .since_ns = f->begin_ns};

	return id & LB_TARGET_THREAD ? 0 : add(f, &m);
}

int family_new(struct sampler *s, struct family **ret)
{
	_cleanup_(family_freep) struct family *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return -ENOMEM;
	f->sampler = s;
	f->begin_ns = clock_now_ns();
	/* A child that was born while user space gave out the rules may have none. */
	f->nr_missed = UINT64_MAX;
	rc = sampler_each_task(s, take_over, f);
	if (!rc)
		*ret = take_ptr(f);
	return rc;
}

void family_free(struct family *f)
{
	if (!f)
		return;
	hashmap_deinit(&f->by_tgid);
	free(f->members);
	free(f);
}

static void on_fork(struct family *f, const struct task_event *ev)
{
	const struct family_member *parent = find(f, ev->ppid);
	struct family_member *before = find(f, ev->pid);
	struct family_member child = {.tgid = ev->pid, .since_ns = ev->time_ns};

	if (parent)
		child.mask = parent->mask;
	if (parent && before)
		*before = child;
	else if (before)
		drop(f, before); /* its number is another's now */
	else if (parent && add(f, &child))
		f->is_full = true;
}

void family_event(struct family *f, const struct task_event *ev)
{
	struct family_member *m = find(f, ev->pid);

	/* Of an earlier process with this number. */
	if (m && ev->time_ns <= m->since_ns)
		return;
	if (ev->kind == TASK_EVENT_FORK) {
		on_fork(f, ev);
	} else if (m && ev->kind == TASK_EVENT_EXIT) {
		m->has_exited = f->has_exited = true;
	} else if (m && ev->kind == TASK_EVENT_EXEC) {
		m->has_exited = false; /* another thread's exec has the leader's number */
	}
}

/*
 * Returns whether the process that has its number now is that of the fork: no later one
 * started before the event. One that blocks whoever looks at it is believed.
 */
static bool is_there(const struct family_member *m)
{
	_cleanup_close_ int dir = proc_dir_open_here(m->tgid);
	struct proc_stat stat = {0};
	int rc = dir < 0 ? dir : proc_dir_stat(dir, &stat);
	uint64_t now_ns = clock_now_ns();
	/* Read after now_ns, so the time of the event is never too early. */
	uint64_t since_boot_ns = m->since_ns + (clock_boot_ns() - now_ns);

	return rc ? proc_dir_is_late(rc)
		  : stat.start_ticks * PROC_TICK_NS <= since_boot_ns;
}

/* Return: whether it had no rule and has one now. */
static bool adopt(struct family *f, const struct family_member *m)
{
	struct error err;

	if (sampler_task_mask(f->sampler, m->tgid) || !is_there(m))
		return false;
	if (sampler_filter_task(f->sampler, m->tgid, m->mask, &err)) {
		log_debug("%s, skipping", err.text);
		return false;
	}
	/* Again: if it ends after this, the kernel side deletes the rule. */
	if (!is_there(m)) {
		sampler_forget_task(f->sampler, m->tgid);
		return false;
	}
	log_debug("process %u was started unseen by the kernel side", m->tgid);
	return true;
}

/* The kernel side keeps the rule until the last thread has ended. */
static void drop_ended(struct family *f)
{
	bool all = f->is_full; /* also those whose exit events were lost */

	if (!all && !f->has_exited)
		return;
	f->has_exited = f->is_full = false;
	for (size_t i = f->nr; i-- > 0;) {
		struct family_member *m = &f->members[i];

		if ((all || m->has_exited) && !sampler_task_mask(f->sampler, m->tgid))
			drop(f, m);
		else
			f->has_exited |= m->has_exited;
	}
}

void family_adopt(struct family *f, uint64_t nr_missed)
{
	bool any = false;

	for (size_t i = 0; i < f->nr && nr_missed != f->nr_missed; i++)
		any |= adopt(f, &f->members[i]);
	/* What these have started before is found the next time. */
	if (!any)
		f->nr_missed = nr_missed;
	drop_ended(f);
}
