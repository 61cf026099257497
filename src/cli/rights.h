/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds which right during a recording (docs/security.md): brokers keep those of the
 * caller, and the collector gives up its own when it has started.
 */
#ifndef LB_CLI_RIGHTS_H
#define LB_CLI_RIGHTS_H

#include "base/error.h"
#include "base/io.h"
#include "cli/options.h"
#include "record/recorder.h"
#include "worker/broker.h"
#include "base/capability.h"
#include "worker/lockdown.h"

/*
 * To write where its caller may; to become the user who called sudo, for the file, the
 * pager and the browser, with that user's environment (SYS_PTRACE); to kill helpers that
 * disassemble for a page (KILL).
 */
#define OUTPUT_CAPABILITIES                                                             \
	(CAPABILITY(CAP_CHOWN) | CAPABILITY(CAP_DAC_OVERRIDE) |                         \
	 CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_FOWNER) |                     \
	 CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) | CAPABILITY(CAP_SYS_PTRACE) | \
	 CAPABILITY(CAP_KILL))

/*
 * A caller with capabilities but not root's uid becomes nobody else. Where it got them from
 * the file (setcap), they must not show it more files than it may read.
 */
#define OUTPUT_CAPABILITIES_OF_USER                                   \
	(OUTPUT_CAPABILITIES &                                        \
	 ~(CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_SETUID) | \
	   CAPABILITY(CAP_SETGID) | CAPABILITY(CAP_SYS_PTRACE)))

/** Writes options->page into @folder. Return: 0 or -errno with a message. */
typedef int page_fn(const struct options *options, struct io_folder *folder,
		    struct error *err);

/**
 * Forks the brokers: before recorder_new(). End them with broker_end(), after
 * recorder_free().
 *
 * @write_page  serves BROKER_WRITE_PAGE
 */
int rights_share(const struct options *options, page_fn *write_page, struct error *err);

/** Gives up this process's rights but those to record: after recorder_new(). Irreversible. */
int rights_keep_to_record(const struct sampling *o, const struct recorder *r,
			  struct error *err);

#endif
