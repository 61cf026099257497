// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Empties one slot. Order matters: flip, wait, bodies, counts, counters. After
 * the wait no program run uses the old slot, so its contents are final and
 * counted + lost = sampled holds exactly.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "collect/sampler_internal.h"
#include "sampler.skel.h"

#define BATCH 4096

void body_store_deinit(struct body_store *store)
{
	free(store->words);
	hashmap_deinit(&store->by_hash);
	*store = (struct body_store){0};
}

/* Called by libbpf for each body in the ring. Out of memory: the body is missing. */
int body_store_handler(void *ctx, void *data, size_t size)
{
	struct body_store *store = ctx;
	const struct lb_body *body = data;
	size_t words = (size + 7) / 8;

	if (size < offsetof(struct lb_body, ips) ||
	    size < offsetof(struct lb_body, ips) + body->nr_frames * sizeof(body->ips[0]))
		return 0;
	if (hashmap_find(&store->by_hash, body->hash, NULL, NULL, NULL) != HASHMAP_NONE)
		return 0;
	if (vec_grow(&store->words, &store->cap_words, store->nr_words + words, 8,
		     HASHMAP_NONE - 1) ||
	    hashmap_add(&store->by_hash, body->hash, (uint32_t)store->nr_words))
		return 0;
	memcpy(store->words + store->nr_words, data, size);
	store->nr_words += words;
	return 0;
}

static void body_store_clear(struct body_store *store)
{
	hashmap_deinit(&store->by_hash);
	store->nr_words = 0;
}

static const struct lb_body *body_store_find(const struct body_store *store,
					     uint64_t hash)
{
	uint32_t at = hashmap_find(&store->by_hash, hash, NULL, NULL, NULL);

	return at == HASHMAP_NONE ? NULL : (const struct lb_body *)(store->words + at);
}

/* Makes later program runs use the other slot; on return none uses the old one. */
static int flip(struct sampler *s, uint32_t *ret_old)
{
	uint32_t round = s->skel->bss->drain_round, old = round & 1;

	__atomic_store_n(&s->skel->bss->drain_round, round + 1, __ATOMIC_SEQ_CST);
	/* Putting the same inner map again changes nothing, but waits for all runs. */
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.counts), &old,
				&s->slots[old].counts_fd, BPF_ANY))
		return -errno;
	__atomic_store_n(&s->skel->bss->drain_wanted, 0, __ATOMIC_SEQ_CST);
	*ret_old = old;
	return 0;
}

static void emit(struct sampler *s, const struct lb_stack_key *key,
		 const struct lb_stack_count *count)
{
	struct sample sample = {
		.start_boottime_ns = key->start_boottime_ns,
		.tgid = key->tgid,
		.exec_id = key->exec_id,
		.code_gen = key->code_gen,
		.status = key->status < LB_NR_STACK_STATUS ? key->status
							   : LB_STACK_NO_BODY,
		.count = count->count,
		.source = key->source,
		.first_ns = count->first_ns,
		.last_ns = count->last_ns < count->first_ns ? count->first_ns
							    : count->last_ns,
		.user_hash = key->user_hash,
		.kern_hash = key->kern_hash,
	};
	char comm[LB_COMM_LEN + 1] = "";

	memcpy(sample.values, count->values, sizeof(sample.values));
	if (sample.status == LB_STACK_NO_BODY) {
		/* The hashes are the leaves themselves. */
		sample.user_ips = &key->user_hash;
		sample.kern_ips = &key->kern_hash;
		sample.nr_user = key->user_hash != 0;
		sample.nr_kern = key->kern_hash != 0;
	} else {
		const struct lb_body *user = body_store_find(&s->bodies, key->user_hash);
		const struct lb_body *kern = body_store_find(&s->bodies, key->kern_hash);

		if (user) {
			memcpy(comm, user->comm, LB_COMM_LEN);
			sample.comm = comm;
			sample.tid = user->tid;
			sample.cgroup_id = user->cgroup_id;
			sample.user_ips = user->ips;
			sample.nr_user = user->nr_frames;
			sample.nr_guessed = user->nr_guessed;
			sample.user_leaf_is_return = user->kind == LB_BODY_USER_SYSCALL;
		}
		if (kern) {
			sample.kern_ips = kern->ips;
			sample.nr_kern = kern->nr_frames;
		}
		if (!user || (!kern && key->kern_hash)) {
			s->totals.bodies_missing += count->count;
			sample.status = LB_STACK_NO_BODY;
		}
	}
	s->totals.rows_counted += count->count;
	s->handlers->sample(s->handlers->ctx, &sample);
}

/* Hands out and removes every row of the slot. */
static int drain_counts(struct sampler *s, const struct slot *slot)
{
	uint32_t position = 0, count;
	void *in = NULL;
	int rc;

	do {
		count = BATCH;
		rc = bpf_map_lookup_and_delete_batch(slot->counts_fd, in, &position,
						     s->batch_keys, s->batch_counts,
						     &count, NULL);
		if (rc && errno != ENOENT)
			return -errno;
		for (uint32_t i = 0; i < count; i++)
			emit(s, &s->batch_keys[i], &s->batch_counts[i]);
		in = &position;
	} while (!rc);
	return 0;
}

/* Adds up the slot's counters of all CPUs and sets them to zero. */
static int take_counters(struct sampler *s, uint32_t slot)
{
	int fd = bpf_map__fd(s->skel->maps.counters);
	size_t bytes = s->nr_possible_cpus * sizeof(*s->percpu);

	if (bpf_map_lookup_elem(fd, &slot, s->percpu))
		return -errno;
	for (uint32_t cpu = 0; cpu < s->nr_possible_cpus; cpu++)
		for (size_t i = 0; i < LB_NR_COUNTERS; i++)
			s->totals.ctr.n[i] += s->percpu[cpu].n[i];
	memset(s->percpu, 0, bytes);
	return bpf_map_update_elem(fd, &slot, s->percpu, BPF_ANY) ? -errno : 0;
}

int sampler_drain(struct sampler *s, const struct sampler_handlers *handlers)
{
	uint32_t old = 0;
	int rc = flip(s, &old);
	int counters_rc;

	if (rc)
		return rc;
	if (handlers->flipped)
		handlers->flipped(handlers->ctx);
	s->handlers = handlers;
	/* The code objects of the slot's samples come before the samples. */
	ring_buffer__consume(s->notices);
	ring_buffer__consume(s->slots[old].bodies);
	rc = drain_counts(s, &s->slots[old]);
	body_store_clear(&s->bodies);
	counters_rc = take_counters(s, old);
	s->handlers = NULL;

	s->totals.lost_drain = s->totals.ctr.n[LB_CTR_COUNTED] - s->totals.rows_counted;
	s->totals.targets_dropped = s->skel->bss->targets_dropped;
	s->totals.cgroups_too_deep = s->skel->bss->cgroups_too_deep;
	if (rc)
		log_debug("draining slot %u: %s", old, strerror(-rc));
	return rc ? rc : counters_rc;
}
