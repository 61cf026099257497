/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drained samples, merged over several drains: one row per source, program image, pair
 * of stacks and state of the image's mappings. Has raw addresses without names.
 */
#ifndef LB_RECORD_STACK_TABLE_H
#define LB_RECORD_STACK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "collect/sampler.h"
#include "process/table.h"
#include "profile/series.h"

#define STACK_TABLE_MAX_ROWS (512u * 1024) /* when full, rows move to the profile */

struct row {
	struct process *process; /* NULL: unknown */
	const struct process_owner *cgroup; /* of the sample; NULL: use the process's */
	uint64_t user_hash, kern_hash;
	uint64_t epoch; /* rows of different epochs are never merged */
	uint64_t count, values[LB_NR_VALUES]; /* see struct sample */
	uint64_t first_ns, last_ns;
	uint32_t tgid, exec_id;
	uint32_t stack; /* offset in rows.stacks */
	uint16_t status; /* enum lb_stack_status */
	uint16_t callers; /* LB_CALLERS_* */
	uint16_t source; /* enum lb_source */
	struct series_list times; /* into stack_table.times */
};

/* Stored at a row's stack offset: this header, then the user and the kernel frames. */
struct row_stack {
	char comm[16]; /* "" not known */
	uint64_t cgroup_id;
	uint32_t tid;
	uint16_t nr_user, nr_kern;
	uint32_t uid; /* of the process when it was sampled; if has_uid */
	bool has_uid;
	bool user_leaf_is_return;
	uint64_t ips[];
};

struct stack_table {
	struct row *items;
	size_t nr, cap;
	struct hashmap index;
	uint64_t *stacks; /* words */
	size_t nr_words, cap_words;
	struct hashmap stack_index;
	uint64_t nr_samples; /* sum of all counts so far */
	uint64_t nr_dropped; /* samples dropped for lack of memory */
	/*
	 * Approximate limit of the rows' memory until they are taken; 0: none. At the
	 * limit, samples of existing rows are still counted.
	 */
	uint64_t max_bytes;
	/*
	 * When the samples were taken, CLOCK_MONOTONIC, to the interval of the drains.
	 */
	struct series times;
	bool times_lost; /* they did not fit: they are not known */
};

/**
 * @process  that was sampled, or NULL
 * @cgroup   its process_table_cgroup()
 * @epoch    changes when an address may have got another meaning
 */
void stack_table_add(struct stack_table *rows, const struct sample *sample,
		     struct process *process, const struct process_owner *cgroup,
		     uint64_t epoch);

/** Has the table reached its maximum? Then its rows must be taken. */
bool stack_table_is_full(const struct stack_table *rows);

static inline const struct row_stack *stack_table_stack(const struct stack_table *rows,
							const struct row *row)
{
	return (const struct row_stack *)(rows->stacks + row->stack);
}

/** Moves all rows out. The table is then empty and keeps nr_samples and nr_dropped. */
struct stack_table stack_table_take(struct stack_table *rows);

/** Empties the table; keeps nr_samples and nr_dropped. */
void stack_table_clear(struct stack_table *rows);

#endif
