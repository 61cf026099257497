/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flushes an output stream and reports write errors. */
#ifndef LB_RENDER_STREAM_H
#define LB_RENDER_STREAM_H

#include <stdio.h>

/**
 * Flushes @out. Return: 0, -EPIPE when nobody reads any more, or another -errno;
 * -EIO when an earlier write failed and its reason is no longer known.
 */
int stream_finish(FILE *out);

#endif
