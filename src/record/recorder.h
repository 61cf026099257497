/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One recording, from the first tick to the last file. A single event loop does
 * everything in bounded steps: events, drains, naming, writing.
 */
#ifndef LB_RECORD_RECORDER_H
#define LB_RECORD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "launch/launch.h"
#include "profile/profile.h"
#include "record/sampling.h"

struct recorder;

/**
 * Forks the command of run, loads and opens the sampler, finds the targets. @o is
 * borrowed.
 */
int recorder_new(const struct sampling *o, struct recorder **ret, struct error *err);
void recorder_free(struct recorder *r);
DEFINE_CLEANUP(struct recorder, recorder_free);

/**
 * Samples until the time is up, the command or the last target exits, or a signal
 * arrives, and writes the result. A command that could not be executed is a failure
 * with the exit status of launch. dry_run writes nothing.
 */
int recorder_run(struct recorder *r, struct error *err);

/** Is the profile whole, also if recorder_run() could not write it? */
bool recorder_is_complete(const struct recorder *r);

/** Returns the profile since the last window with a file of its own. Borrowed. */
struct profile *recorder_profile(const struct recorder *r);

/** Returns the number of samples in all files. */
uint64_t recorder_nr_counted(const struct recorder *r);

/** Did sampling begin? Not if a signal ended the recording before. */
bool recorder_has_sampled(const struct recorder *r);

/** Returns the command of run; NULL: not run, or not forked. Borrowed. */
struct launch *recorder_launch(const struct recorder *r);

/** Has the last target ended? */
bool recorder_targets_are_gone(const struct recorder *r);

/** Returns how many instructions the kernel's verifier processed. */
uint32_t recorder_verified_insns(const struct recorder *r);

/** Prints on stderr which files were written. */
void recorder_say_where(const struct recorder *r);

#endif
