// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/rights.h"

#include <unistd.h>

#include "base/io.h"
#include "base/user.h"
#include "cli/pager.h"
#include "collect/bpf_programs.h"
#include "collect/perf_event.h"
#include "launch/launch.h"
#include "record/output.h"
#include "record/user_names.h"
#include "worker/child.h"
#include "worker/sandbox.h"

/*
 * What helpers need; to change their ids (SETUID, SETGID, SETPCAP), to kill them (KILL); to
 * open BPF programs and see their addresses (SYS_ADMIN, SYSLOG, BPF where the kernel
 * refuses bpf(2) to others).
 */
/*
 * Most time for an answer of the process that starts helpers. It waits for nothing; the machine
 * may be out of memory or CPU time. A file may be written to a disk that is slow without a limit.
 */
#define ANSWER_MS 10000

#define HELPERS_CAPABILITIES                                                            \
	(READER_CAPABILITIES | OPENER_CAPABILITIES | CAPABILITY(CAP_KILL) |             \
	 CAPABILITY(CAP_SETPCAP) | CAPABILITY(CAP_SYS_ADMIN) | CAPABILITY(CAP_SYSLOG) | \
	 CAPABILITY(CAP_BPF))

static broker_fn *const helper_ops[NR_BROKER_OPS] = {
	[BROKER_START_CHILD] = child_serve_start,
	[BROKER_KILL_CHILD] = child_serve_kill,
	[BROKER_REAP_CHILD] = child_serve_reap,
	[BROKER_NAME_USER] = user_names_serve,
	[BROKER_NEXT_BPF_PROGRAM] = bpf_programs_serve_next,
};

/* Of the broker that writes. */
static struct writer {
	const struct options *options; /* borrowed */
	struct output output;
	struct io_folder page_folder;
	page_fn *write_page;
} writer;

static void begin_output(void *ctx)
{
	struct writer *w = ctx;

	output_init(&w->output, &w->options->sampling);
	w->page_folder.fd = -1;
	if (w->options->page)
		output_open_folder(&w->options->sampling, w->options->page,
				   &w->page_folder);
}

static int write_file(void *ctx, const struct broker_message *request,
		      struct broker_message *reply)
{
	return output_serve_write(&((struct writer *)ctx)->output, request, reply);
}

static int follow_folder(void *ctx, const struct broker_message *request,
			 struct broker_message *reply)
{
	return output_serve_follow(&((struct writer *)ctx)->output, request, reply);
}

static int write_page(void *ctx, const struct broker_message *request,
		      struct broker_message *reply)
{
	struct writer *w = ctx;

	(void)request;
	_Static_assert(sizeof(struct error) <= BROKER_MAX_BYTES, "a reply has room");
	reply->len = sizeof(struct error);
	return w->write_page(w->options, &w->page_folder, reply->data);
}

static broker_fn *const output_ops[NR_BROKER_OPS] = {
	[BROKER_WRITE_FILE] = write_file,       [BROKER_FOLLOW_FOLDER] = follow_folder,
	[BROKER_OPEN_PAGER] = pager_serve_open, [BROKER_CLOSE_PAGER] = pager_serve_close,
	[BROKER_WRITE_PAGE] = write_page,
};

int rights_share(const struct options *options, page_fn *page, struct error *err)
{
	const struct broker_config helpers = {.name = "lineburn-broker",
					      .ops = helper_ops,
					      .capabilities = HELPERS_CAPABILITIES,
					      .answer_ms = ANSWER_MS,
					      .passes_on = true};
	const struct broker_config output = {
		.name = "lineburn-output",
		.ops = output_ops,
		.capabilities = geteuid() ? OUTPUT_CAPABILITIES_OF_USER
					  : OUTPUT_CAPABILITIES,
		.begin = begin_output,
		.ctx = &writer};
	int rc;

	io_keep_names();
	writer = (struct writer){.options = options, .write_page = page};
	rc = broker_begin(BROKER_HELPERS, &helpers, err);
	if (!rc)
		rc = broker_begin(BROKER_OUTPUT, &output, err);
	users_keep_files();
	return rc;
}

/* CPUs may come, and a JIT may be mapped, at any time. */
static bool needs_admin(void *ctx)
{
	const struct sampling *o = ctx;

	return perf_event_is_refused() ||
	       (o->probing != JIT_PROBING_NONE && perf_event_is_uprobe_refused());
}

int rights_keep_to_record(const struct sampling *o, const struct recorder *r,
			  struct error *err)
{
	const struct launch *command = recorder_launch(r);
	struct launch_user user = {.uid = geteuid(), .gid = getegid()};

	/* Under sudo, run shows the sources that its user may read, and no others. */
	if (command)
		launch_user_find(&user);
	return lockdown_enter(
		&(struct lockdown){.uid = user.uid,
				   .gid = user.gid,
				   .may_signal = command ? command->pid : 0,
				   .loads_programs = o->probing != JIT_PROBING_NONE,
				   .needs_admin = needs_admin,
				   .ctx = (void *)o},
		err);
}
