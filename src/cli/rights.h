/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds which right during a recording (docs/security.md): brokers keep those of the
 * caller, and the collector gives up its own when it has started.
 */
#ifndef LB_CLI_RIGHTS_H
#define LB_CLI_RIGHTS_H

#include "base/error.h"
#include "cli/options.h"
#include "record/recorder.h"
#include "worker/broker.h"

/**
 * Forks the brokers: before recorder_new(). End them with broker_end(), after
 * recorder_free().
 *
 * @write_page  serves BROKER_WRITE_PAGE, with @options as its context
 */
int rights_share(const struct options *options, broker_fn *write_page, struct error *err);

/** Gives up this process's rights: after recorder_new(). Irreversible. */
int rights_give_up(const struct sampling *o, const struct recorder *r, struct error *err);

#endif
