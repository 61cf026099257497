/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of the kernel side between drains: first samples, requests of the walk, code
 * objects. The rings are emptied into memory at once, and delivered from there, because
 * a handler may wait for a helper. While it waits, the rings are emptied again.
 */
#ifndef LB_COLLECT_NOTICES_H
#define LB_COLLECT_NOTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lb_first_sample;
struct lb_image;
struct ring_buffer;

enum notice_kind {
	NOTICE_FIRST_SAMPLE, /* struct lb_first_sample */
	NOTICE_REQUEST, /* struct lb_unwind_request */
	NOTICE_CODE, /* struct lb_interp_code, of which the table may be shorter */
};

/* Who gets the records. A record is checked only for its least size. */
struct notice_receiver {
	void *ctx;
	/** @data  valid until return */
	void (*take)(void *ctx, enum notice_kind kind, const void *data, size_t size);
	/**
	 * Announces a first sample that is delivered soon. Return: false: deliver those
	 * that were announced before more are.
	 */
	bool (*announce)(void *ctx, const struct lb_first_sample *first);
	/** The announced ones are delivered next (@is_next), or have been delivered. */
	void (*announced)(void *ctx, bool is_next);
	/** Returns whether the first sample of this image was delivered. */
	bool (*knows)(void *ctx, const struct lb_image *image);
};

struct notices {
	struct ring_buffer *rings;
	struct notice_list {
		struct notice_batch {
			uint8_t *bytes; /* of 8-aligned records; heap */
			size_t nr, cap;
			size_t at; /* the next one to deliver */
		} batches[2]; /* one is filled while the other is delivered */
		unsigned int filling;
	} firsts, others; /* first samples, and all others */
	/* How many first samples are announced together; 0: as many as there are. */
	size_t together;
	bool is_delivering;
	bool wants_drain; /* a slot is half full */
};

/** @n  zeroed. The descriptors are those of the ring buffers. Return: 0 or -errno. */
int notices_open(struct notices *n, int first_samples_fd, int requests_fd, int codes_fd);
void notices_close(struct notices *n);

/** Becomes readable (poll) when a ring is to be emptied. */
int notices_poll_fd(const struct notices *n);

/**
 * Empties the rings into memory. What is in memory already is bounded: when that is
 * reached the records stay in the rings, which count what they have no room for.
 */
void notices_gather(struct notices *n);

/** Adds a record, as if a ring had had it. Out of memory: it is lost. */
void notices_keep(struct notices *n, enum notice_kind kind, const void *data,
		  size_t size);

/**
 * Empties the rings and delivers what they had, after what was left before: first samples
 * for @firsts_ns, at least those that are announced together, and then the others for
 * @others_ns, at least one (UINT64_MAX: all). Fewer are announced together where they take
 * long. What is gathered meanwhile is left for the next call. So a storm of new processes,
 * or of records, each of which is looked at, keeps the caller from nothing else. Not from
 * within a handler.
 *
 * An image must be identified by its first sample, whose time is known. While first samples
 * are left, code objects of images that the receiver does not know wait, and their requests
 * are dropped: the walk repeats them after LB_REQUEST_PAUSE_NS.
 */
void notices_deliver(struct notices *n, const struct notice_receiver *to,
		     uint64_t firsts_ns, uint64_t others_ns);

/** Is any left? */
bool notices_are_left(const struct notices *n);

/** Returns whether a slot was half full, and forgets it. */
bool notices_take_drain(struct notices *n);

#endif
