/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces worker_need() while an operation is called in the test's own process, and the
 * deadlines of calls.
 */
#ifndef LB_TESTS_STAND_IN_H
#define LB_TESTS_STAND_IN_H

#include "worker/worker.h"

/* NULL: calls the worker's own. */
extern int (*worker_need_stand_in)(struct worker_call *call, const void *what,
				   size_t len);
/* 0: a call's own. */
extern unsigned int stand_in_deadline_ms;

#endif
