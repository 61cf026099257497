/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drained samples, merged over the drains: one row per source, program image,
 * pair of stacks and state of the image's mappings. Raw addresses; nothing is named yet.
 */
#ifndef LB_RECORD_STACK_TABLE_H
#define LB_RECORD_STACK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "collect/sample.h"
#include "process/table.h"

#define STACK_TABLE_MAX_ROWS (512u * 1024) /* then they are added to the profile */

struct row {
	struct process *process; /* NULL: nothing is known */
	const struct process_owner *cgroup; /* of its cgroup then; NULL: the process's */
	uint64_t user_hash, kern_hash;
	uint64_t epoch; /* rows of different epochs are never merged */
	uint64_t count, values[LB_NR_VALUES]; /* as struct sample has them */
	uint64_t first_ns, last_ns;
	uint32_t tgid, exec_id;
	uint32_t stack; /* offset in rows.stacks */
	uint16_t status; /* enum lb_stack_status */
	uint16_t source; /* enum lb_source */
};

/* What a row's stack offset points at: this, then the user and the kernel frames. */
struct row_stack {
	char comm[16]; /* "" not known */
	uint64_t cgroup_id;
	uint32_t tid;
	uint16_t nr_user, nr_kern;
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
	uint64_t nr_dropped; /* samples for which memory was not to be had */
	/*
	 * No more rows than these, about, while nobody takes them out; 0: no
	 * such limit. What comes to known rows is still counted there.
	 */
	uint64_t max_bytes;
};

/**
 * @process  whose sample it is, or NULL
 * @cgroup   process_table_cgroup() of it
 * @epoch    changes when the same address may mean something else than before
 */
void stack_table_add(struct stack_table *rows, const struct sample *sample,
		     struct process *process, const struct process_owner *cgroup,
		     uint64_t epoch);

/** Has the table reached its maximum? Its rows are to be taken out. */
bool stack_table_is_full(const struct stack_table *rows);

static inline const struct row_stack *stack_table_stack(const struct stack_table *rows,
							const struct row *row)
{
	return (const struct row_stack *)(rows->stacks + row->stack);
}

/** Takes all rows out: the table is empty then, and keeps nr_samples and nr_dropped. */
struct stack_table stack_table_take(struct stack_table *rows);

/** Empties the table; keeps nr_samples and nr_dropped. */
void stack_table_clear(struct stack_table *rows);

#endif
