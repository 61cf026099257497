/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fakes of other stages. The tests of this folder share them, because they are one program. */
#ifndef LB_TESTS_UNIT_UNWIND_FAKES_H
#define LB_TESTS_UNIT_UNWIND_FAKES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wire.h"
#include "lineburn_unwind.h"
#include "unwind/tables.h"
#include "worker/worker.h"

/* ---- collect/kmap.h (tables.c) ---- */

/** Makes a kernel with empty maps. @max_row_bytes as in unwind_tables_new(). */
struct unwind_tables *fake_kernel_begin(uint64_t max_row_bytes);
void fake_kernel_end(struct unwind_tables *t);

/**
 * Returns what the kernel's walk finds at an address of an object. @ret_state is the state
 * of its page.
 */
struct lb_unwind_rule fake_kernel_rule(uint32_t object, uint64_t addr, int *ret_state);

/** Returns what the kernel knows of a file before its segments; NULL: nothing. */
const struct lb_unwind_file *fake_kernel_file(const struct lb_unwind_file_key *key);

/* ---- worker/worker.h (ask.c) ---- */

/* Answers a request for rows. NULL: the test of ask.c does. */
extern enum worker_answer (*fake_decoder)(struct wire_reader *request, int fd,
					  struct wire_reader *ret);

/* It has not answered yet. */
extern bool fake_decoder_is_late;

#endif
