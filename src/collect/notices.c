// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/notices.h"

#include <assert.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "lineburn.h"
#include "lineburn_unwind.h"

/* The rings together have less. */
#define MAX_BATCH_BYTES ((size_t)64 << 20)
/* What those that are announced together should take at most. */
#define TOGETHER_NS 10000000ULL

/* In a batch; its bytes follow, 8-aligned. */
struct notice {
	uint32_t kind;
	uint32_t size; /* of the record in the ring */
};

static size_t room_of(uint32_t size)
{
	return sizeof(struct notice) + (size + (size_t)7) / 8 * 8;
}

/* The batch that is filled now. */
static struct notice_batch *filled(struct notice_list *list)
{
	return &list->batches[list->filling];
}

void notices_keep(struct notices *n, enum notice_kind kind, const void *data, size_t size)
{
	struct notice_list *list = kind == NOTICE_FIRST_SAMPLE ? &n->firsts : &n->others;
	struct notice_batch *b = filled(list);
	struct notice notice = {.kind = kind, .size = (uint32_t)size};
	size_t room = room_of(notice.size);

	if (vec_grow(&b->bytes, &b->cap, b->nr + room, 1, 0))
		return;
	memcpy(b->bytes + b->nr, &notice, sizeof(notice));
	memcpy(b->bytes + b->nr + sizeof(notice), data, size);
	b->nr += room;
}

static int first_sample(void *ctx, void *data, size_t size)
{
	struct notices *n = ctx;
	const struct lb_first_sample *first = data;

	if (size < sizeof(*first))
		return 0;
	if (first->tgid)
		notices_keep(n, NOTICE_FIRST_SAMPLE, data, size);
	else
		n->wants_drain = true;
	return 0;
}

static int request(void *ctx, void *data, size_t size)
{
	if (size >= sizeof(struct lb_unwind_request))
		notices_keep(ctx, NOTICE_REQUEST, data, size);
	return 0;
}

static int code(void *ctx, void *data, size_t size)
{
	if (size >= offsetof(struct lb_interp_code, table))
		notices_keep(ctx, NOTICE_CODE, data, size);
	return 0;
}

int notices_open(struct notices *n, int first_samples_fd, int requests_fd, int codes_fd)
{
	/* In one ring set, which has a single poll descriptor. */
	n->rings = ring_buffer__new(first_samples_fd, first_sample, n, NULL);
	if (!n->rings || ring_buffer__add(n->rings, requests_fd, request, n) ||
	    ring_buffer__add(n->rings, codes_fd, code, n))
		return -errno;
	return 0;
}

void notices_close(struct notices *n)
{
	ring_buffer__free(n->rings);
	for (size_t i = 0; i < ARRAY_SIZE(n->firsts.batches); i++) {
		free(n->firsts.batches[i].bytes);
		free(n->others.batches[i].bytes);
	}
	*n = (struct notices){0};
}

int notices_poll_fd(const struct notices *n)
{
	return ring_buffer__epoll_fd(n->rings);
}

static size_t bytes_of(const struct notice_list *list)
{
	return list->batches[0].nr + list->batches[1].nr;
}

void notices_gather(struct notices *n)
{
	if (bytes_of(&n->firsts) + bytes_of(&n->others) < MAX_BATCH_BYTES)
		ring_buffer__consume(n->rings);
}

static bool has_firsts(const struct notices *n)
{
	return bytes_of(&n->firsts);
}

static const struct notice *notice_at(const struct notice_batch *b, size_t at)
{
	return (const void *)(b->bytes + at);
}

/* Return: the end of those that were announced. */
static size_t announce(const struct notices *n, const struct notice_batch *b,
		       const struct notice_receiver *to, size_t *ret_nr)
{
	bool has_room = true;
	size_t at = b->at, nr = 0;

	while (at < b->nr && has_room) {
		const struct notice *notice = notice_at(b, at);

		nr++;
		has_room = to->announce(to->ctx, (const void *)(notice + 1)) &&
			   nr != n->together;
		at += room_of(notice->size);
	}
	to->announced(to->ctx, true);
	*ret_nr = nr;
	return at;
}

static void take_next(struct notice_batch *b, const struct notice_receiver *to)
{
	const struct notice *notice = notice_at(b, b->at);

	b->at += room_of(notice->size);
	to->take(to->ctx, (enum notice_kind)notice->kind, notice + 1, notice->size);
}

/*
 * Those that were announced together are all delivered, because what was read of them is
 * soon out of date.
 */
static void deliver_together(struct notices *n, struct notice_batch *b,
			     const struct notice_receiver *to)
{
	uint64_t begin_ns = clock_now_ns();
	size_t nr, end = announce(n, b, to, &nr);

	while (b->at < end)
		take_next(b, to);
	to->announced(to->ctx, false);
	if (clock_now_ns() - begin_ns > TOGETHER_NS)
		n->together = nr > 2 ? nr / 2 : 1;
	else if (nr == n->together)
		n->together *= 2;
}

/* Of first samples. Return: whether all were delivered. */
static bool deliver_firsts(struct notices *n, struct notice_batch *b,
			   const struct notice_receiver *to, uint64_t until_ns)
{
	while (b->at < b->nr) {
		deliver_together(n, b, to);
		if (b->at < b->nr && clock_now_ns() >= until_ns)
			return false;
	}
	b->nr = b->at = 0;
	return true;
}

/* Of a request or a code object. Return: whether it must not be delivered yet. */
static bool waits_for_first(const struct notice *notice, const struct notice_receiver *to)
{
	const struct lb_unwind_request *request = (const void *)(notice + 1);
	const struct lb_interp_code *code = (const void *)(notice + 1);

	if (notice->kind == NOTICE_CODE)
		return !to->knows(to->ctx, &code->image);
	/* Without an address it comes before the first sample. */
	return request->ip && !to->knows(to->ctx, &request->image);
}

/* One at least. Return: whether all were delivered. */
static bool deliver_others(struct notices *n, struct notice_batch *b,
			   const struct notice_receiver *to, uint64_t until_ns)
{
	while (b->at < b->nr) {
		const struct notice *notice = notice_at(b, b->at);

		if (!has_firsts(n) || !waits_for_first(notice, to)) {
			take_next(b, to);
			if (b->at < b->nr && clock_now_ns() >= until_ns)
				return false;
			continue;
		}
		b->at += room_of(notice->size);
		if (notice->kind == NOTICE_CODE)
			notices_keep(n, NOTICE_CODE, notice + 1, notice->size);
	}
	b->nr = b->at = 0;
	return true;
}

/* The batch that is delivered, or was left the last time. */
static struct notice_batch *delivered(struct notice_list *list)
{
	return &list->batches[list->filling ^ 1];
}

/* From now on another batch is filled. Return: the one that was. */
static struct notice_batch *turn(struct notice_list *list)
{
	list->filling ^= 1;
	return delivered(list);
}

static uint64_t after(uint64_t max_ns)
{
	return max_ns == UINT64_MAX ? max_ns : clock_now_ns() + max_ns;
}

void notices_deliver(struct notices *n, const struct notice_receiver *to,
		     uint64_t firsts_ns, uint64_t others_ns)
{
	struct notice_batch *others = delivered(&n->others);
	bool are_left = others->nr;
	uint64_t until_ns = after(firsts_ns);

	assert(!n->is_delivering);
	n->is_delivering = true;
	notices_gather(n);
	/* What comes while first samples are delivered may be of later ones. */
	if (!are_left)
		others = turn(&n->others);
	if (deliver_firsts(n, delivered(&n->firsts), to, until_ns))
		deliver_firsts(n, turn(&n->firsts), to, until_ns);
	until_ns = after(others_ns);
	if (deliver_others(n, others, to, until_ns) && are_left)
		deliver_others(n, turn(&n->others), to, until_ns);
	n->is_delivering = false;
}

bool notices_are_left(const struct notices *n)
{
	return bytes_of(&n->firsts) || bytes_of(&n->others);
}

bool notices_take_drain(struct notices *n)
{
	bool is_wanted = n->wants_drain;

	n->wants_drain = false;
	return is_wanted;
}
