// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of the kernel side between drains: new images, requests, code objects. */
#include <bpf/bpf.h>
#include <errno.h>

#include "collect/sampler_internal.h"
#include "sampler.skel.h"

static int first_sample(void *ctx, void *data, size_t size)
{
	struct sampler *s = ctx;
	const struct lb_first_sample *first = data;

	if (size < sizeof(*first))
		return 0;
	if (!first->tgid)
		s->drain_wanted = true;
	else if (s->handlers->first_sample)
		s->handlers->first_sample(s->handlers->ctx, first);
	return 0;
}

static int unwind_request(void *ctx, void *data, size_t size)
{
	struct sampler *s = ctx;

	if (size >= sizeof(struct lb_unwind_request) && s->handlers->unwind_request)
		s->handlers->unwind_request(s->handlers->ctx, data);
	return 0;
}

static int interp_code(void *ctx, void *data, size_t size)
{
	struct sampler *s = ctx;

	if (size >= offsetof(struct lb_interp_code, table) && s->handlers->interp_code)
		s->handlers->interp_code(s->handlers->ctx, data, size);
	return 0;
}

/* Opens all in one set of rings, which has one poll descriptor. */
int notices_open(struct sampler *s)
{
	s->notices = ring_buffer__new(bpf_map__fd(s->skel->maps.first_samples),
				      first_sample, s, NULL);
	if (!s->notices)
		return -errno;
	if (ring_buffer__add(s->notices, bpf_map__fd(s->skel->maps.requests),
			     unwind_request, s) ||
	    ring_buffer__add(s->notices, bpf_map__fd(s->skel->maps.interp_codes),
			     interp_code, s))
		return -errno;
	return 0;
}

int sampler_poll_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->notices);
}

bool sampler_notices(struct sampler *s, const struct sampler_handlers *handlers)
{
	bool is_wanted;

	s->handlers = handlers;
	ring_buffer__consume(s->notices);
	s->handlers = NULL;
	/* Includes a request during a drain: it may be from before or after the flip. */
	is_wanted = s->drain_wanted;
	s->drain_wanted = false;
	return is_wanted;
}
