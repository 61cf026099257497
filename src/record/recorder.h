/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One recording, from the first tick to the last file. One event loop runs all of it in
 * bounded steps: events, drains, naming, writing.
 */
#ifndef LB_RECORD_RECORDER_H
#define LB_RECORD_RECORDER_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "launch/launch.h"
#include "profile/profile.h"
#include "record/sampling.h"

struct recorder;

/** Forks the command of run, loads, opens, finds the targets. @o is borrowed. */
int recorder_new(const struct sampling *o, struct recorder **ret, struct error *err);
void recorder_free(struct recorder *r);
DEFINE_CLEANUP(struct recorder, recorder_free);

/**
 * Samples until the end (of the time, the command or the last target, or by a signal),
 * and writes what was sampled. A command that could not be executed is a failure with
 * the exit status of launch. With dry_run nothing is written.
 */
int recorder_run(struct recorder *r, struct error *err);

/** What was sampled since the last window that has a file of its own. Borrowed. */
struct profile *recorder_profile(const struct recorder *r);

/** Samples in all files. */
uint64_t recorder_nr_counted(const struct recorder *r);

/** The command of run; NULL: none was forked, or it is no run. Borrowed. */
struct launch *recorder_launch(const struct recorder *r);

/** Instructions that the kernel's verifier walked. */
uint32_t recorder_verified_insns(const struct recorder *r);

/** Says on stderr which files were written. */
void recorder_say_where(const struct recorder *r);

#endif
