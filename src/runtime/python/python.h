/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython in a process: which build, the layout of its frames (struct lb_python), and
 * where each thread keeps its thread state. Two steps: the file is decoded once, then
 * the running process is asked, through a reader.
 */
#ifndef LB_RUNTIME_PYTHON_PYTHON_H
#define LB_RUNTIME_PYTHON_PYTHON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "decode/python/build.h"
#include "lineburn_unwind.h"
#include "worker/worker.h"

/** May this file have an interpreter in it, by its name? "python3.11", "libpython3.so" ... */
bool python_is_candidate(const char *path);

/**
 * @fd    of the file, @path as the target sees it
 * Return: true with @ret set, or it is no CPython that we know.
 */
bool python_build_find(struct worker *decoder, int fd, const char *path,
		       struct python_build *ret);

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
