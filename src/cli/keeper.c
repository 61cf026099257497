// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/keeper.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cli/pager.h"
#include "cli/rights.h"
#include "worker/broker.h"

/* ---- the broker ---- */

/* The request is a path; the reply is its struct stat and a descriptor. */
static int serve_open(void *ctx, const struct broker_message *request,
		      struct broker_message *reply)
{
	const struct keeper_config *config = ctx;
	const struct source_path_rule *rule;
	char path[PATH_MAX] = "";
	int fd;

	reply->len = sizeof(struct stat);
	if (request->len >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, request->data, request->len);
	rule = source_rule_above(config->rules, config->nr_rules, path);
	if (!config->opens_all && !rule)
		return -EPERM;
	fd = config->opens_all
		     ? io_open_regular(path, reply->data)
		     : io_open_regular_below(rule->new_prefix, path, reply->data);
	if (fd < 0)
		return fd;
	reply->fds[reply->nr_fds++] = fd;
	return 0;
}

static int serve_finish(void *ctx, const struct broker_message *request,
			struct broker_message *reply)
{
	const struct keeper_config *config = ctx;
	struct error *err = reply->data;
	uint64_t len;
	void *data;
	int rc;

	reply->len = sizeof(*err);
	if (!config->finish)
		return -EPERM;
	rc = broker_map_content(request, &data, &len);
	if (rc) {
		errno = -rc;
		return error_set(err, rc, "cannot take the output: %m");
	}
	return config->finish(config->ctx, len ? data : "", len, err);
}

int keeper_begin(const struct keeper_config *config, struct error *err)
{
	static broker_fn *const ops[NR_BROKER_OPS] = {
		[BROKER_OPEN_PAGER] = pager_serve_open,
		[BROKER_CLOSE_PAGER] = pager_serve_close,
		[BROKER_FINISH_OUTPUT] = serve_finish,
		[BROKER_OPEN_SOURCE] = serve_open,
	};

	return broker_begin(BROKER_OUTPUT,
			    &(struct broker_config){.name = "lineburn-output",
						    .ops = ops,
						    .capabilities = OUTPUT_CAPABILITIES,
						    .ctx = (void *)config,
						    .kept_fd = config->kept_fd},
			    err);
}

/* ---- the viewer ---- */

int keeper_finish(const void *data, size_t len, struct error *err)
{
	struct broker_message request = {0};
	struct broker_message reply = {.data = err, .len = sizeof(*err)};
	int rc = broker_put_content(&request, data, len);

	err->text[0] = '\0';
	if (!rc)
		rc = broker_ask(BROKER_OUTPUT, BROKER_FINISH_OUTPUT, &request, &reply);
	broker_drop_content(&request);
	if (rc && !err->text[0])
		error_set(err, rc, "the process that writes the output was killed");
	return rc;
}

int keeper_open(void *unused, const char *path, struct stat *ret_st)
{
	struct broker_message request = {.data = (char *)path, .len = strlen(path)};
	struct broker_message reply = {.data = ret_st, .len = sizeof(*ret_st)};
	int rc;

	(void)unused;
	if (request.len >= PATH_MAX)
		return -ENAMETOOLONG;
	rc = broker_ask(BROKER_OUTPUT, BROKER_OPEN_SOURCE, &request, &reply);
	return reply.nr_fds ? reply.fds[0] : rc ? rc : -EMFILE;
}
