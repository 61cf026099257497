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

struct target_file;

/* ---- collect/kmap.h (tables.c) ---- */

/** Makes a kernel with empty maps; returns them. */
const struct unwind_kmaps *fake_kernel_boot(void);
/** Same, with tables. @max_row_bytes as in unwind_tables_new(). */
struct unwind_tables *fake_kernel_begin(uint64_t max_row_bytes);
/** @t  freed; NULL: they were freed */
void fake_kernel_end(struct unwind_tables *t);

/** Returns the segments that the kernel knows of an image; NULL: it does not know it. */
const struct lb_unwind_segment *fake_kernel_segments(const struct lb_image *image,
						     struct lb_unwind_process *ret);

/**
 * Returns what the kernel's walk finds at an address of an object. @ret_state is the state
 * of its page.
 */
struct lb_unwind_rule fake_kernel_rule(uint32_t object, uint64_t addr, int *ret_state);

/** Returns what the kernel knows of a file before its segments; NULL: nothing. */
const struct lb_unwind_file *fake_kernel_file(const struct lb_unwind_file_key *key);

/* ---- base/clock.h, runtime/runtime.h (files.c) ---- */

extern uint64_t fake_now_ns;
extern uint64_t fake_call_ns; /* what each look at the clock takes */

/* A file with facts of the first runtime; NULL: none has. */
extern const struct target_file *fake_interpreter;
/* Until this is UINT64_MAX, its facts are not known: when to ask again. */
extern uint64_t fake_facts_again_ns;
extern size_t fake_nr_facts; /* times that somebody asked for them */

/* ---- worker/worker.h (ask.c) ---- */

/* Answers a request for rows. NULL: the test of ask.c does. */
extern enum worker_answer (*fake_decoder)(struct wire_reader *request, int fd,
					  struct wire_reader *ret);

extern struct tenant fake_served; /* by the decoder */

/* It has not answered yet. */
extern bool fake_decoder_is_late;

#endif
