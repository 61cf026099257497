// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/stack_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

#define WORDS_MAX (32u << 20) /* 256 MB of stacks */

struct row_key {
	const struct sample *sample;
	const struct process *process;
	uint64_t epoch;
};

static bool row_eq(uint32_t item, const void *key, const void *ctx)
{
	const struct row *row = &((const struct stack_table *)ctx)->items[item];
	const struct row_key *k = key;

	return row->user_hash == k->sample->user_hash &&
	       row->kern_hash == k->sample->kern_hash && row->process == k->process &&
	       row->tgid == k->sample->tgid && row->exec_id == k->sample->exec_id &&
	       row->epoch == k->epoch && row->status == k->sample->status &&
	       row->callers == k->sample->callers && row->source == k->sample->source;
}

/*
 * The kernel's hashes cover the frames. A row without body has only the two leaf
 * frames.
 */
static uint64_t stack_hash(const struct sample *s)
{
	uint64_t hash = hash_u64(s->status == LB_STACK_NO_BODY, s->user_hash);

	return hash_u64(hash, s->kern_hash);
}

/* Stores both stacks, each distinct pair once. Return: 0 or -ENOMEM, -ENOSPC. */
static int add_stack(struct stack_table *rows, const struct sample *s, uint32_t *ret)
{
	uint64_t hash = stack_hash(s);
	size_t nr_ips = s->nr_user + s->nr_kern;
	size_t words = (sizeof(struct row_stack) + 7) / 8 + nr_ips;
	struct row_stack *stack;
	int rc;

	*ret = hashmap_get(&rows->stack_index, hash, NULL, NULL, NULL);
	if (*ret != HASHMAP_NONE)
		return 0;
	rc = vec_grow(&rows->stacks, &rows->cap_words, rows->nr_words + words, 8,
		      WORDS_MAX);
	if (!rc)
		rc = hashmap_add(&rows->stack_index, hash, (uint32_t)rows->nr_words);
	if (rc)
		return rc;
	*ret = (uint32_t)rows->nr_words;
	stack = (struct row_stack *)(rows->stacks + rows->nr_words);
	*stack = (struct row_stack){.cgroup_id = s->cgroup_id,
				    .tid = s->tid,
				    .nr_user = (uint16_t)s->nr_user,
				    .nr_kern = (uint16_t)s->nr_kern,
				    .uid = s->uid,
				    .has_uid = s->has_uid,
				    .user_leaf_is_return = s->user_leaf_is_return};
	if (s->comm)
		strncpy(stack->comm, s->comm, sizeof(stack->comm) - 1);
	if (s->nr_user)
		memcpy(stack->ips, s->user_ips, s->nr_user * sizeof(stack->ips[0]));
	if (s->nr_kern)
		memcpy(stack->ips + s->nr_user, s->kern_ips,
		       s->nr_kern * sizeof(stack->ips[0]));
	rows->nr_words += words;
	return 0;
}

/* Adds @count samples of @row at @ns; not if an earlier time was lost. */
static void add_time(struct stack_table *rows, struct row *row, uint64_t ns,
		     uint64_t count)
{
	const struct series_lists all = {&rows->items->times, rows->nr,
					 sizeof(*rows->items)};

	if (!count || rows->times_lost ||
	    !series_add(&rows->times, &row->times, ns, count, &all))
		return;
	series_deinit(&rows->times);
	rows->times_lost = true;
}

/*
 * Of a count the kernel tells when the first and the last of its samples were. The others
 * count as spread evenly between them, so that no bucket has all samples of a drain.
 */
static void add_times(struct stack_table *rows, struct row *row,
		      const struct sample *sample)
{
	uint64_t bucket_ns = rows->times.bucket_ns ? rows->times.bucket_ns
						   : SERIES_FIRST_NS;
	uint64_t span_ns = sample->last_ns > sample->first_ns
				   ? sample->last_ns - sample->first_ns
				   : 0;
	uint64_t others = sample->count > 2 ? sample->count - 2 : 0;
	uint64_t nr = (span_ns + bucket_ns / 2) / bucket_ns;

	nr = nr < others ? nr : others;
	nr = nr ? nr : 1;
	add_time(rows, row, sample->first_ns, 1);
	for (uint64_t i = 0; i < nr; i++)
		add_time(rows, row, sample->first_ns + span_ns / (2 * nr) * (2 * i + 1),
			 others / nr + (i < others % nr));
	add_time(rows, row, sample->first_ns + span_ns, sample->count - others - 1);
}

static bool has_room(const struct stack_table *rows)
{
	/* Includes the indexes of rows and stacks, which are half full. */
	size_t row_bytes = sizeof(struct row) + 2 * 2 * sizeof(struct hashmap_slot);

	return !rows->max_bytes ||
	       rows->nr_words * 8 + rows->nr * row_bytes +
			       rows->times.nr * sizeof(*rows->times.points) <
		       rows->max_bytes;
}

void stack_table_add(struct stack_table *rows, const struct sample *sample,
		     struct process *process, const struct process_owner *cgroup,
		     uint64_t epoch)
{
	struct row_key key = {.sample = sample, .process = process, .epoch = epoch};
	uint64_t hash = hash_u64(hash_u64(stack_hash(sample), epoch),
				 (uint64_t)sample->tgid << 32 | sample->exec_id);
	uint32_t item = hashmap_get(&rows->index, hash, row_eq, &key, rows);
	struct row *row;
	uint32_t stack;

	if (item != HASHMAP_NONE) {
		row = &rows->items[item];
		row->count += sample->count;
		for (size_t i = 0; i < LB_NR_VALUES; i++)
			row->values[i] += sample->values[i];
		if (sample->first_ns < row->first_ns)
			row->first_ns = sample->first_ns;
		if (sample->last_ns > row->last_ns)
			row->last_ns = sample->last_ns;
		rows->nr_samples += sample->count;
		add_times(rows, row, sample);
		return;
	}
	if (!has_room(rows) ||
	    vec_grow(&rows->items, &rows->cap, rows->nr + 1, sizeof(*row),
		     STACK_TABLE_MAX_ROWS * 2) ||
	    add_stack(rows, sample, &stack) ||
	    hashmap_add(&rows->index, hash, (uint32_t)rows->nr)) {
		rows->nr_dropped += sample->count;
		return;
	}
	row = &rows->items[rows->nr++];
	*row = (struct row){
		.process = process,
		.cgroup = cgroup,
		.user_hash = sample->user_hash,
		.kern_hash = sample->kern_hash,
		.epoch = epoch,
		.count = sample->count,
		.first_ns = sample->first_ns,
		.last_ns = sample->last_ns,
		.tgid = sample->tgid,
		.exec_id = sample->exec_id,
		.stack = stack,
		.status = (uint16_t)sample->status,
		.callers = (uint16_t)sample->callers,
		.source = (uint16_t)sample->source,
	};
	memcpy(row->values, sample->values, sizeof(row->values));
	rows->nr_samples += sample->count;
	add_times(rows, row, sample);
}

bool stack_table_is_full(const struct stack_table *rows)
{
	return rows->nr >= STACK_TABLE_MAX_ROWS || rows->nr_words >= WORDS_MAX / 4 * 3;
}

struct stack_table stack_table_take(struct stack_table *rows)
{
	struct stack_table taken = *rows;

	*rows = (struct stack_table){.nr_samples = taken.nr_samples,
				     .nr_dropped = taken.nr_dropped};
	return taken;
}

void stack_table_clear(struct stack_table *rows)
{
	struct stack_table taken = stack_table_take(rows);

	free(taken.items);
	free(taken.stacks);
	series_deinit(&taken.times);
	hashmap_deinit(&taken.index);
	hashmap_deinit(&taken.stack_index);
}
