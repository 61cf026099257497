// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/stand_in.h"

int (*worker_need_stand_in)(struct worker_call *call, const void *what, size_t len);
unsigned int stand_in_deadline_ms;

/* Names that ld --wrap defines. */
int __real_worker_need(struct worker_call *call, const void *what, size_t len);
int __wrap_worker_need(struct worker_call *call, const void *what, size_t len);
/* Weak: without it the tests that have no worker would be linked to it. */
__attribute__((weak)) enum worker_answer __real_worker_call(
	struct worker *w, uint32_t op, const void *request, size_t len, const int *fds,
	size_t nr_fds, worker_need_fn need, void *need_ctx, unsigned int deadline_ms,
	struct wire_reader *ret, int *ret_error);
enum worker_answer __wrap_worker_call(struct worker *w, uint32_t op, const void *request,
				      size_t len, const int *fds, size_t nr_fds,
				      worker_need_fn need, void *need_ctx,
				      unsigned int deadline_ms, struct wire_reader *ret,
				      int *ret_error);

int __wrap_worker_need(struct worker_call *call, const void *what, size_t len)
{
	return worker_need_stand_in ? worker_need_stand_in(call, what, len)
				    : __real_worker_need(call, what, len);
}

enum worker_answer __wrap_worker_call(struct worker *w, uint32_t op, const void *request,
				      size_t len, const int *fds, size_t nr_fds,
				      worker_need_fn need, void *need_ctx,
				      unsigned int deadline_ms, struct wire_reader *ret,
				      int *ret_error)
{
	if (stand_in_deadline_ms)
		deadline_ms = stand_in_deadline_ms;
	return __real_worker_call(w, op, request, len, fds, nr_fds, need, need_ctx,
				  deadline_ms, ret, ret_error);
}
