/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs slow work in a thread while the recorder goes on: it packs and writes a file, or
 * waits for the kernel. One piece of work at a time for each job.
 */
#ifndef LB_BASE_JOB_H
#define LB_BASE_JOB_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"

struct job;

int job_new(struct job **ret, struct error *err);
/** Waits for the work that was started, then frees @j. */
void job_free(struct job *j);
DEFINE_CLEANUP(struct job, job_free);

/** Readable (poll) after the work is done, until job_finish(). */
int job_poll_fd(const struct job *j);

/**
 * Calls @work in a new thread with all signals blocked. Until job_finish(), neither thread
 * may change what the other one uses. If no thread can be created, the calling thread runs
 * @work.
 */
void job_start(struct job *j, int (*work)(void *ctx), void *ctx);

/** Was work started that job_finish() has not taken back? */
bool job_is_started(const struct job *j);
/**
 * Waits for work that was started, at most @timeout_ms; -1: without a limit. Return:
 * whether it is done.
 */
bool job_wait(const struct job *j, int timeout_ms);

/** Waits until the work is done. Return: result of @work. */
int job_finish(struct job *j);

#endif
