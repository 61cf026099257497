/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is sampled: what the options say is told to the kernel side, and kept true. */
#ifndef LB_CHOICE_H
#define LB_CHOICE_H

#include "base/cleanup.h"
#include "base/strpool.h"
#include "options.h"

struct sampler;
struct choice;

/**
 * Tells all but options->pids, which follow: session.c knows their descendants. Before the
 * first target is added and before samples are taken. @o and @s are borrowed and must
 * outlive this.
 * Return: 0, or -errno with a sentence: -ESRCH, -ENOENT: there is no such thing.
 */
int choice_new(const struct options *o, struct sampler *s, struct choice **ret,
	       struct error *err);
void choice_free(struct choice *c);
DEFINE_CLEANUP(struct choice, choice_free);

/** Are only given processes sampled, and what descends from them? */
bool choice_follows_processes(const struct options *o);

/** Processes that have to be known, and no others; NULL: all. Borrowed. */
const uint32_t *choice_tgids(const struct choice *c, size_t *ret_nr);

/** Readable (poll) when choice_look() has something to do; -1: never. */
int choice_poll_fd(const struct choice *c);
void choice_look(struct choice *c);

/** Are threads given, and have all of them ended? */
bool choice_threads_are_gone(struct choice *c);

/** Cgroups that were meant, but are not sampled: a map was full. */
uint64_t choice_nr_refused(const struct choice *c);

/** "process 12 34", "the whole machine: comm gzip, not user root". Escaped. */
const char *choice_describe(const struct options *o, struct strpool *pool);

#endif
