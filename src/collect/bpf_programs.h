/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists the BPF programs of the machine. */
#ifndef LB_COLLECT_BPF_PROGRAMS_H
#define LB_COLLECT_BPF_PROGRAMS_H

#include "collect/task_event.h"
#include "worker/broker.h"

/**
 * Passes each function of each loaded program to @handler, as a TASK_EVENT_KERNEL_CODE
 * without name and time: its name is that of the kernel symbol at its start. Programs
 * that come or go meanwhile may be missing. Needs CAP_SYS_ADMIN.
 *
 * Return: 0, or -errno when the list ended early.
 */
int bpf_programs_list(void (*handler)(void *ctx, const struct task_event *ev), void *ctx);

/**
 * Returns how often the kernel skipped these programs, because another thread was in the same
 * one on the same CPU (recursion_misses of struct bpf_prog_info, since 5.12). Since 7.0 a
 * thread may lose its CPU in a program on a tracepoint.
 *
 * @fds  a negative one is skipped
 */
uint64_t bpf_programs_missed(const int *fds, size_t nr);

/**
 * Serves BROKER_NEXT_BPF_PROGRAM. The request is an id, uint32_t, 0 at first; the reply is
 * the next program's, with its descriptor, or -ENOENT.
 */
broker_fn bpf_programs_serve_next;

#endif
