// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/family.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "collect/filter.h"
#include "process/proc_dir.h"
#include "target/explain.h"

#define MAX_PROCESSES (4u << 20) /* PID_MAX_LIMIT of linux/threads.h */
#define MAX_READS     16 /* a tree that grows faster than it is read is cut */

struct member {
	uint32_t tgid, ppid;
	uint64_t start_ticks; /* since boot */
	bool belongs;
};

struct members {
	struct member *at; /* heap */
	size_t nr, cap;
};

static int add(void *ctx, uint32_t pid, int dir)
{
	struct members *m = ctx;
	struct proc_stat stat;

	if (proc_dir_stat(dir, &stat))
		return 0;
	if (vec_grow(&m->at, &m->cap, m->nr + 1, sizeof(*m->at), MAX_PROCESSES))
		return -ENOMEM;
	m->at[m->nr++] = (struct member){
		.tgid = pid, .ppid = stat.ppid, .start_ticks = stat.start_ticks};
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Members are sorted by tgid, the first of struct member. */
static struct member *find(const struct members *m, uint32_t tgid)
{
	return bsearch(&tgid, m->at, m->nr, sizeof(*m->at), compare);
}

/* Those whose ancestors lead to @tgid, through those that are known to belong already. */
static void mark(struct members *m, uint32_t tgid)
{
	bool again = true;

	qsort(m->at, m->nr, sizeof(*m->at), compare);
	while (again) {
		again = false;
		for (size_t i = 0; i < m->nr; i++) {
			struct member *at = &m->at[i];
			const struct member *parent = find(m, at->ppid);

			if (!at->belongs &&
			    (at->tgid == tgid || (parent && parent->belongs)))
				at->belongs = again = true;
		}
	}
}

/* Is gone, when another has the number since it was read: then nothing is said of that. */
static int say(struct sampler *s, const struct member *m, uint32_t mask,
	       struct error *err)
{
	int rc = sampler_filter_process(s, m->tgid, mask, err);
	_cleanup_close_ int dir = proc_dir_open_here(m->tgid);
	struct proc_stat stat;

	if (!rc &&
	    (dir < 0 || proc_dir_stat(dir, &stat) || stat.start_ticks != m->start_ticks))
		sampler_forget_process(s, m->tgid);
	return rc;
}

int target_add_family(struct sampler *s, uint32_t tgid, uint32_t mask, bool children,
		      struct error *err)
{
	struct members m = {0};
	size_t nr_before = 0, nr = 0;
	int rc = 0;

	for (int turn = 0; turn < MAX_READS && !rc; turn++) {
		m.nr = 0;
		rc = proc_dir_each(add, &m);
		if (rc) {
			error_set(err, rc, "cannot read /proc");
			break;
		}
		mark(&m, tgid);
		if (!find(&m, tgid))
			rc = explain_no_process(tgid, err);
		nr = 0;
		for (size_t i = 0; i < m.nr && !rc; i++)
			if (m.at[i].belongs && (children || m.at[i].tgid == tgid)) {
				rc = say(s, &m.at[i], mask, err);
				nr++;
			}
		if (nr <= nr_before)
			break;
		nr_before = nr;
	}
	free(m.at);
	return rc;
}
