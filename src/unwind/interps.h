/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds interpreters (runtime/runtime.h) among the sampled processes, and where each keeps
 * its frames.
 */
#ifndef LB_UNWIND_INTERPS_H
#define LB_UNWIND_INTERPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "process/file_facts.h"

struct process;
struct process_table;
struct unwind_interps;
struct unwind_tables;
struct worker;

/** All are borrowed and must outlive it. */
int unwind_interps_new(struct unwind_tables *tables, struct process_table *processes,
		       struct worker *decoder, struct worker *reader,
		       struct unwind_interps **ret, struct error *err);
void unwind_interps_free(struct unwind_interps *y);
DEFINE_CLEANUP(struct unwind_interps, unwind_interps_free);

/* Of one image. All zeroes: not looked for. */
struct image_interp {
	enum {
		IMAGE_INTERP_NONE, /* no file of it is one, so far */
		IMAGE_INTERP_WAITS, /* the process is to be asked, at ask_ns */
		IMAGE_INTERP_FOUND,
		IMAGE_INTERP_REFUSED, /* not to be asked again */
	} state;
	enum runtime_number runtime; /* unless NONE, as is what follows */
	struct runtime_facts facts; /* of the file that has it */
	uint64_t text_bias; /* start of its text's mapping - file offset */
	uint64_t ask_ns; /* CLOCK_MONOTONIC: not before */
	uint64_t wait_ns; /* after the next "not yet" */
	uint32_t number; /* as in struct lb_unwind_process; 0 unless found */
	int32_t tls_off;
	bool is_banned; /* its memory did not answer in time */
};

/** Looks among the mappings of @p, if none was found yet. Each file is decoded once. */
void unwind_interps_look(struct unwind_interps *y, const struct process *p,
			 struct image_interp *interp);

/**
 * Asks the process, if it is time. Return: it was found just now, and @interp->number
 * is to be told to the kernel.
 */
bool unwind_interps_ask(struct unwind_interps *y, const struct process *p,
			struct image_interp *interp);

/**
 * After a drain: what the kernel could not copy of the code objects of @p is read from
 * its memory, a part in each call.
 */
void unwind_interps_read_codes(struct unwind_interps *y, struct process *p,
			       struct image_interp *interp);

struct unwind_interps_totals {
	uint64_t nr_found; /* images that have one */
	uint64_t nr_asked; /* calls of the reader */
	uint64_t nr_refused; /* images: a layout that is not known, or no answer */
};
void unwind_interps_totals(const struct unwind_interps *y,
			   struct unwind_interps_totals *ret);

#endif
