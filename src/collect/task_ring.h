/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads fork, exec, exit and executable mappings of the whole machine, and what code the
 * kernel generates, from perf events.
 */
#ifndef LB_COLLECT_TASK_RING_H
#define LB_COLLECT_TASK_RING_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/task_event.h"

struct task_ring;

/** Opens an event with its ring on every online CPU; recording starts now. */
int task_ring_new(struct task_ring **ret, struct error *err);
void task_ring_free(struct task_ring *r);
DEFINE_CLEANUP(struct task_ring, task_ring_free);

/**
 * Adds CPUs that came online. Events on them were missed until now: the next read
 * reports a TASK_EVENT_LOST.
 */
void task_ring_follow_cpus(struct task_ring *r);

/** Becomes readable (poll) when a ring is half full. */
int task_ring_poll_fd(const struct task_ring *r);

/**
 * Delivers all events so far to @handler, in order of time over all CPUs. An event that
 * is being written meanwhile, or did not fit the memory, is delivered by the next call.
 */
void task_ring_read(struct task_ring *r,
		    void (*handler)(void *ctx, const struct task_event *ev), void *ctx);

/**
 * Empties the rings into memory, for the next task_ring_read(). May be called while its
 * handler waits.
 */
void task_ring_gather(struct task_ring *r);

/** Returns the bytes of all rings. */
uint64_t task_ring_bytes(const struct task_ring *r);

/**
 * Decodes one record of @size bytes (header included). Pure.
 * Return: 1 with *ret written, 0 for irrelevant records, -EBADMSG when malformed.
 */
int task_record_decode(const void *record, uint32_t size, struct task_event *ret);

#endif
