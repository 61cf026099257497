/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The worker of the tests of this folder, which are one program (file_facts.c). */
#ifndef LB_TESTS_UNIT_NO_WORKER_FAKES_H
#define LB_TESTS_UNIT_NO_WORKER_FAKES_H

#include <stdint.h>

#include "base/wire.h"
#include "worker/worker.h"

/* Answers a request, which takes no time. @ret  valid until the next one */
extern enum worker_answer (*fake_worker)(uint32_t op, struct wire_reader *request,
					 struct wire_reader *ret);

extern uint64_t fake_now_ns;

#endif
