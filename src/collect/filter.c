// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/filter.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "collect/sampler.h"
#include "sampler.skel.h"

/* Invalidates verdicts that the kernel side cached under the old rules. */
static void invalidate_verdicts(struct sampler *s)
{
	__atomic_add_fetch(&sampler_skel(s)->bss->filter.generation, 1, __ATOMIC_SEQ_CST);
}

int sampler_filter_task(struct sampler *s, uint32_t id, uint32_t mask, struct error *err)
{
	int map_fd = bpf_map__fd(sampler_skel(s)->maps.targets);
	struct lb_target target = {0};

	/* Keep the start time, which its first tick may have filled in. */
	if (bpf_map_lookup_elem(map_fd, &id, &target))
		target = (struct lb_target){0};
	target.mask |= mask;
	if (!bpf_map_update_elem(map_fd, &id, &target, BPF_ANY)) {
		invalidate_verdicts(s);
		return 0;
	}
	if (errno == E2BIG)
		return error_set(err, -E2BIG,
				 "too many processes to follow one by one; narrow the "
				 "whole machine by another option instead of -p");
	return error_set(err, -errno, "cannot follow %u: %m", id & ~LB_TARGET_THREAD);
}

int sampler_add_target(struct sampler *s, uint32_t tgid, struct error *err)
{
	return sampler_filter_task(s, tgid, LB_FILTER_IN(LB_FILTER_PROCESS), err);
}

uint32_t sampler_task_mask(const struct sampler *s, uint32_t id)
{
	struct lb_target target;

	return bpf_map_lookup_elem(bpf_map__fd(sampler_skel(s)->maps.targets), &id,
				   &target)
		       ? 0
		       : target.mask;
}

#define BATCH 256

int sampler_each_task(const struct sampler *s,
		      int (*fn)(void *ctx, uint32_t id, uint32_t mask), void *ctx)
{
	int map_fd = bpf_map__fd(sampler_skel(s)->maps.targets), fn_rc = 0;
	uint32_t ids[BATCH], position = 0, nr;
	struct lb_target targets[BATCH];
	void *in = NULL;
	int rc;

	do {
		nr = BATCH;
		rc = bpf_map_lookup_batch(map_fd, in, &position, ids, targets, &nr, NULL);
		if (rc && errno != ENOENT)
			return -errno;
		for (uint32_t i = 0; i < nr && !fn_rc; i++)
			fn_rc = fn(ctx, ids[i], targets[i].mask);
		in = &position;
	} while (!rc && !fn_rc);
	return fn_rc;
}

void sampler_forget_task(struct sampler *s, uint32_t id)
{
	bpf_map_delete_elem(bpf_map__fd(sampler_skel(s)->maps.targets), &id);
	invalidate_verdicts(s);
}

int sampler_filter_user(struct sampler *s, uint32_t uid, uint32_t mask, struct error *err)
{
	int fd = bpf_map__fd(sampler_skel(s)->maps.users);
	uint32_t before = 0;

	if (bpf_map_lookup_elem(fd, &uid, &before))
		before = 0;
	mask |= before;
	if (!bpf_map_update_elem(fd, &uid, &mask, BPF_ANY)) {
		invalidate_verdicts(s);
		return 0;
	}
	return error_set(err, -errno, "cannot sample by user %u: %m", uid);
}

int sampler_filter_cgroup(struct sampler *s, const struct lb_cgroup_key *key,
			  uint32_t mask)
{
	int fd = bpf_map__fd(sampler_skel(s)->maps.cgroups);
	uint32_t before = 0;
	int rc;

	if (!bpf_map_lookup_elem(fd, key, &before) && before == mask)
		return 0;
	rc = mask ? bpf_map_update_elem(fd, key, &mask, BPF_ANY)
		  : bpf_map_delete_elem(fd, key);
	if (rc)
		return errno == ENOENT ? 0 : -errno;
	invalidate_verdicts(s);
	return 0;
}

int sampler_filter_comms(struct sampler *s, const struct lb_comm_table *table)
{
	uint32_t index = !sampler_skel(s)->bss->filter.comm_table;

	if (bpf_map_update_elem(bpf_map__fd(sampler_skel(s)->maps.comm_tables), &index,
				table, BPF_ANY))
		return -errno;
	__atomic_store_n(&sampler_skel(s)->bss->filter.comm_table, index,
			 __ATOMIC_SEQ_CST);
	invalidate_verdicts(s);
	return 0;
}

void sampler_use_hierarchies(struct sampler *s, const uint32_t *hierarchies, size_t nr)
{
	for (size_t i = 0; i < nr && i < LB_FILTER_HIERARCHIES; i++)
		sampler_skel(s)->bss->filter.hierarchies[i] = hierarchies[i];
	__atomic_store_n(&sampler_skel(s)->bss->filter.nr_hierarchies, (uint32_t)nr,
			 __ATOMIC_SEQ_CST);
	invalidate_verdicts(s);
}

void sampler_use_filter(struct sampler *s, uint32_t uses, uint32_t wanted,
			bool no_children)
{
	sampler_skel(s)->bss->filter.no_children = no_children;
	__atomic_store_n(&sampler_skel(s)->bss->filter.wanted, wanted, __ATOMIC_SEQ_CST);
	__atomic_store_n(&sampler_skel(s)->bss->filter.uses, uses, __ATOMIC_SEQ_CST);
	invalidate_verdicts(s);
}
