// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/stand_in.h"

int (*worker_need_stand_in)(struct worker_call *call, const void *what, size_t len);

/* Names that ld --wrap defines. */
int __real_worker_need(struct worker_call *call, const void *what, size_t len);
int __wrap_worker_need(struct worker_call *call, const void *what, size_t len);

int __wrap_worker_need(struct worker_call *call, const void *what, size_t len)
{
	return worker_need_stand_in ? worker_need_stand_in(call, what, len)
				    : __real_worker_need(call, what, len);
}
