/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes with a rule and their children. The kernel side gives a child its parent's rule
 * at the fork (lb_fork() of bpf/sampler.bpf.c), unless the kernel skips that program. The
 * fork's event, which does not depend on the program, then tells whose child it is.
 */
#ifndef LB_TARGET_FAMILY_H
#define LB_TARGET_FAMILY_H

#include <stdint.h>

#include "base/cleanup.h"

struct family;
struct sampler;
struct task_event;

/**
 * Takes the processes that have a rule now. Call it after the task events were opened and
 * before they are consumed. @s is borrowed. Return: 0, -ENOMEM or another -errno.
 */
int family_new(struct sampler *s, struct family **ret);
void family_free(struct family *f);
DEFINE_CLEANUP(struct family, family_free);

/** Applies an event. Events must come in order of time_ns. */
void family_event(struct family *f, const struct task_event *ev);

/**
 * Gives members without a rule that of their parents. Call it after a drain, when the
 * events that came before it are applied. Cheap if nothing was missed since.
 *
 * @nr_missed  sampler_tasks_missed()
 */
void family_adopt(struct family *f, uint64_t nr_missed);

#endif
