/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads Python code objects from a running process that the kernel side could not copy
 * completely.
 */
#ifndef LB_RUNTIME_PYTHON_READ_H
#define LB_RUNTIME_PYTHON_READ_H

#include "lineburn_unwind.h"
#include "process/process.h"
#include "worker/worker.h"

#define PYTHON_READ_CALL_MS   200
#define PYTHON_READ_MAX_CODES 64 /* in one call */

struct process_table;

/**
 * Reads cut objects of p->interp_codes again, at most PYTHON_READ_MAX_CODES per call
 * and each once: unreadable or replaced ones stay cut. Reads names up to
 * INTERP_MAX_TEXT_BYTES, line tables up to INTERP_MAX_TABLE_BYTES.
 *
 * @layout  of its interpreter, from the kernel side's table
 * Call it soon after p->interp_codes.nr_cut becomes nonzero; cheap when it is 0.
 * Return: WORKER_OK, also when there was nothing to do; WORKER_DEADLINE: reading the
 * target's memory hangs, never read it again; otherwise no answer this time.
 */
enum worker_answer python_read_cut(struct worker *reader, struct process_table *t,
				   struct process *p, const struct lb_interp *layout);

#endif
