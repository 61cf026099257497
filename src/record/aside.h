/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs slow work (packing and writing a file) in a thread, while the caller keeps
 * draining.
 */
#ifndef LB_RECORD_ASIDE_H
#define LB_RECORD_ASIDE_H

/**
 * Calls @work in a thread of its own, and @attend meanwhile, until @work has returned.
 *
 * @work    may touch nothing that @attend touches; its result is that of the call
 * @attend  called in this thread, once at least if there are descriptors; returns when the descriptor that it is given can be
 *          read, which says that the work is done, or earlier
 * Signals are the caller's: the thread takes none. When no thread can be had, @work is
 * called first, here.
 */
int aside_run(int (*work)(void *ctx), void *ctx, void (*attend)(void *ctx, int done_fd),
	      void *attend_ctx);

#endif
