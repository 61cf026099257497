// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/stand_in.h"

int (*worker_need_stand_in)(struct worker_call *call, const void *what, size_t len);
unsigned int stand_in_deadline_ms;

/* Names that ld --wrap defines. */
int __real_worker_need(struct worker_call *call, const void *what, size_t len);
int __wrap_worker_need(struct worker_call *call, const void *what, size_t len);
/* Weak: without it the tests that have no worker would be linked to it. */
__attribute__((weak)) void __real_worker_send(struct worker *w, uint32_t op,
					      const void *request, size_t len,
					      const int *fds, size_t nr_fds,
					      worker_need_fn need, void *need_ctx,
					      unsigned int deadline_ms);
void __wrap_worker_send(struct worker *w, uint32_t op, const void *request, size_t len,
			const int *fds, size_t nr_fds, worker_need_fn need,
			void *need_ctx, unsigned int deadline_ms);

int __wrap_worker_need(struct worker_call *call, const void *what, size_t len)
{
	return worker_need_stand_in ? worker_need_stand_in(call, what, len)
				    : __real_worker_need(call, what, len);
}

void __wrap_worker_send(struct worker *w, uint32_t op, const void *request, size_t len,
			const int *fds, size_t nr_fds, worker_need_fn need,
			void *need_ctx, unsigned int deadline_ms)
{
	if (stand_in_deadline_ms)
		deadline_ms = stand_in_deadline_ms;
	__real_worker_send(w, op, request, len, fds, nr_fds, need, need_ctx, deadline_ms);
}
