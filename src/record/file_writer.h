/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs slow work (packing and writing a file) in a thread while the recorder keeps
 * draining. One job at a time.
 */
#ifndef LB_RECORD_FILE_WRITER_H
#define LB_RECORD_FILE_WRITER_H

#include "base/cleanup.h"
#include "base/error.h"

struct file_writer;

int file_writer_new(struct file_writer **ret, struct error *err);
/** Waits for the work that was started, then frees @w. */
void file_writer_free(struct file_writer *w);
DEFINE_CLEANUP(struct file_writer, file_writer_free);

/** Readable (poll) after the work is done, until file_writer_finish(). */
int file_writer_poll_fd(const struct file_writer *w);

/**
 * Calls @work in a new thread with all signals blocked. Until file_writer_finish(), it
 * must not use anything that the calling thread uses. If no thread can be created, the
 * calling thread runs @work.
 */
void file_writer_start(struct file_writer *w, int (*work)(void *ctx), void *ctx);

/** Waits until the work is done. Return: result of @work. */
int file_writer_finish(struct file_writer *w);

#endif
