/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this process has from its caller and cannot work with: closed standard streams, a
 * limit of files' sizes, signals that end it. Programs that it starts get it back.
 */
#ifndef LB_BASE_CALLER_H
#define LB_BASE_CALLER_H

#include "base/error.h"

/**
 * Opens each standard stream that is closed: reads of it end at once, writes fail.
 * Otherwise the next file or socket would be it. Call it before anything is opened. A
 * program that is executed finds it closed again.
 */
void caller_open_streams(void);

/**
 * Raises the limit of files' sizes (RLIMIT_FSIZE) as far as this process may, and ignores
 * SIGXFSZ: what a recording keeps in memfds counts as files, too.
 *
 * Return: 0, or -EFBIG with a message: the limit is too low to record.
 */
int caller_lift_file_limit(struct error *err);

/** Ignores SIGPIPE: a pipe whose reader is gone must not end what writes to it. */
void caller_ignore_pipe(void);
/** Handles SIGPIPE as the caller wants it, after caller_ignore_pipe(). */
void caller_heed_pipe(void);

/** Undoes the above; for a child that will execute a program. */
void caller_restore(void);

#endif
