/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of system calls that a worker may make (seccomp). */
#ifndef LB_WORKER_SYSCALL_FILTER_H
#define LB_WORKER_SYSCALL_FILTER_H

/**
 * Irreversible. Needs no_new_privs. Calls that are not on the list answer EPERM;
 * calls by the convention of another architecture kill.
 * Return: 0 or a negative errno.
 */
int syscall_filter_install(void);

#endif
