/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds interpreters of Python among the sampled processes, and where each keeps its
 * thread states.
 */
#ifndef LB_UNWIND_PYTHONS_H
#define LB_UNWIND_PYTHONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "decode/python/build.h"

struct process;
struct process_table;
struct unwind_pythons;
struct unwind_tables;
struct worker;

/** All are borrowed and must outlive it. */
int unwind_pythons_new(struct unwind_tables *tables, struct process_table *processes,
		       struct worker *decoder, struct worker *reader,
		       struct unwind_pythons **ret, struct error *err);
void unwind_pythons_free(struct unwind_pythons *y);
DEFINE_CLEANUP(struct unwind_pythons, unwind_pythons_free);

/* Of one image. All zeroes: not looked for. */
struct image_python {
	enum {
		IMAGE_PYTHON_NONE, /* no file of it is one, so far */
		IMAGE_PYTHON_WAITS, /* the process is to be asked, at ask_ns */
		IMAGE_PYTHON_FOUND,
		IMAGE_PYTHON_REFUSED, /* not to be asked again */
	} state;
	struct python_build build; /* of the file that has it */
	uint64_t text_bias; /* start of its text's mapping - file offset */
	uint64_t ask_ns; /* CLOCK_MONOTONIC: not before */
	uint64_t wait_ns; /* after the next "not yet" */
	uint32_t number; /* as in struct lb_unwind_process; 0 unless found */
	int32_t tls_off;
	bool is_banned; /* its memory did not answer in time */
};

/** Looks among the mappings of @p, if none was found yet. Each file is decoded once. */
void unwind_pythons_look(struct unwind_pythons *y, const struct process *p,
			 struct image_python *python);

/**
 * Asks the process, if it is time. Return: it was found just now, and @python->number
 * is to be told to the kernel.
 */
bool unwind_pythons_ask(struct unwind_pythons *y, const struct process *p,
			struct image_python *python);

/**
 * After a drain: what the kernel could not copy of the code objects of @p is read from
 * its memory, a part in each call.
 */
void unwind_pythons_read_codes(struct unwind_pythons *y, struct process *p,
			       struct image_python *python);

struct unwind_pythons_totals {
	uint64_t nr_found; /* images that have one */
	uint64_t nr_asked; /* calls of the reader */
	uint64_t nr_refused; /* images: a layout that is not known, or no answer */
};
void unwind_pythons_totals(const struct unwind_pythons *y,
			   struct unwind_pythons_totals *ret);

#endif
