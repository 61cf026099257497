/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What workers serve (decode/operation.h): the table for worker_main(). */
#ifndef LB_DECODE_OPERATIONS_H
#define LB_DECODE_OPERATIONS_H

#include "decode/operation.h"
#include "worker/worker.h"

extern const worker_op operations[NR_OPERATIONS];

#endif
