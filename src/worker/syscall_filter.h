/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of system calls that workers may make (seccomp). */
#ifndef LB_WORKER_SYSCALL_FILTER_H
#define LB_WORKER_SYSCALL_FILTER_H

#include "worker/worker.h"

/**
 * Irreversible. Needs no_new_privs. Calls that are not on the list answer EPERM;
 * calls by the convention of another architecture kill.
 * Return: 0 or a negative errno.
 */
int syscall_filter_install(enum worker_kind kind);

#endif
