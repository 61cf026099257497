/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds interpreters (runtime/runtime.h) in the sampled processes, and where each keeps
 * its frames.
 */
#ifndef LB_UNWIND_INTERPS_H
#define LB_UNWIND_INTERPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "process/file.h"

struct process;
struct process_table;
struct unwind_interps;
struct unwind_tables;
struct worker;

/** All arguments are borrowed and must outlive *ret. */
int unwind_interps_new(struct unwind_tables *tables, struct process_table *processes,
		       struct worker *decoder, struct worker *reader,
		       struct unwind_interps **ret, struct error *err);
void unwind_interps_free(struct unwind_interps *y);
DEFINE_CLEANUP(struct unwind_interps, unwind_interps_free);

/* Interpreter of one image. Zeroed: not searched yet. */
struct image_interp {
	enum {
		IMAGE_INTERP_NONE, /* none of its files so far is an interpreter */
		IMAGE_INTERP_WAITS, /* query the process at ask_ns */
		IMAGE_INTERP_FOUND,
		IMAGE_INTERP_REFUSED, /* do not query again */
	} state;
	enum runtime_number runtime; /* like the next members: set unless NONE */
	struct runtime_facts facts; /* of the interpreter's file */
	uint64_t text_bias; /* start of its text's mapping - file offset */
	uint64_t ask_ns; /* CLOCK_MONOTONIC: earliest next query */
	uint64_t wait_ns; /* delay after the next "not yet" */
	uint32_t number; /* as in struct lb_unwind_process; 0 unless found */
	int32_t tls_off;
	bool is_banned; /* reading its memory timed out */
};

/**
 * Searches the mappings of @p if no interpreter was found yet. Decodes each file once.
 */
void unwind_interps_look(struct unwind_interps *y, const struct process *p,
			 struct image_interp *interp);

/**
 * Queries the process, if it is time. Return: true when found just now; then send
 * @interp->number to the kernel.
 */
bool unwind_interps_ask(struct unwind_interps *y, const struct process *p,
			struct image_interp *interp);

/**
 * After a drain: reads from the memory of @p what the kernel could not copy of its code
 * objects, a part in each call.
 */
void unwind_interps_read_codes(struct unwind_interps *y, struct process *p,
			       struct image_interp *interp);

struct unwind_interps_totals {
	uint64_t nr_found; /* images with an interpreter */
	uint64_t nr_asked; /* calls of the reader */
	uint64_t nr_refused; /* images with an unknown layout or no answer */
};
void unwind_interps_totals(const struct unwind_interps *y,
			   struct unwind_interps_totals *ret);

#endif
