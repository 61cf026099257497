/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognizes the functions that start a thread. They call everything, so a total of theirs
 * says nothing.
 */
#ifndef LB_PROFILE_START_CODE_H
#define LB_PROFILE_START_CODE_H

#include <stdbool.h>

/**
 * Is this what calls main() or a thread's function in glibc or musl (csu/libc-start.c,
 * nptl/pthread_create.c, sysdeps/.../clone.S; musl: env/__libc_start_main.c)?
 */
bool function_is_start_code(const char *function);

#endif
