/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython in a process: which build, the layout of its frames (struct lb_python), and
 * where each thread keeps its thread state. Two steps: the file is decoded once, then
 * the running process is asked, through a reader.
 */
#ifndef LB_RUNTIME_PYTHON_PYTHON_H
#define LB_RUNTIME_PYTHON_PYTHON_H

#include <stdint.h>
#include <sys/types.h>

#include "decode/python/build.h"
#include "lineburn_unwind.h"
#include "process/file_facts.h"
#include "worker/worker.h"

/** What the facts about a file say, if they can be believed. NULL: it is no CPython that we know. */
const struct python_build *python_build_of(const struct file_facts *facts);

/**
 * Asks the process.
 *
 * @text_bias  start of the mapping of the file's text - its file offset (the first
 *             one, where there are several): added to the offsets of @build
 * @ret        set when found
 * @ret_tls_off  thread state of each thread: *(thread pointer + this), or, with
 *             @ret's ts_is_in_table, in the table there
 * Cost: one request to the reader, below a millisecond for 64 threads.
 */
enum python_state python_find(struct worker *reader, pid_t pid,
			      const struct python_build *build, uint64_t text_bias,
			      struct lb_python *ret, int32_t *ret_tls_off);

#endif
