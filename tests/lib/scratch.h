/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory below /tmp for one test. */
#ifndef LB_TESTS_SCRATCH_H
#define LB_TESTS_SCRATCH_H

#include <sys/types.h>

#define SCRATCH_BYTES 32 /* of the path, with its NUL */

/* Creates it with the permissions @mode; exits on failure. */
void scratch_make(char path[SCRATCH_BYTES], mode_t mode);

/* Removes it with its contents. */
void scratch_remove(const char *path);

#endif
