// SPDX-License-Identifier: GPL-2.0-or-later
/* CPython: its row of runtimes, and where a process keeps its frames. */
#include <string.h>

#include "decode/operation.h"
#include "decode/python/build.h"
#include "decode/python/layout.h"
#include "decode/python/state.h"
#include "runtime/python/name.h"
#include "runtime/python/read.h"
#include "runtime/runtime.h"

#define FIND_MS    200
#define UNIT_BYTES 2 /* bytes of bytecode per step of a frame's index */

static void name_build(void *facts, const char *path)
{
	struct python_build *b = facts;

	if (!b->version)
		b->version = python_version_of_name(path);
}

static bool build_is_sane(const void *facts)
{
	const struct python_build *b = facts;

	return b->version >= PYTHON_OLDEST && b->version <= PYTHON_NEWEST &&
	       b->runtime_off;
}

static enum worker_answer ask(struct worker *reader, pid_t pid, uint32_t version,
			      uint64_t runtime_addr, struct wire_reader *ret)
{
	struct wire_writer request = {.max = WORKER_MAX_REQUEST_BYTES};
	enum worker_answer answer = WORKER_FAILED;

	wire_put_u32(&request, (uint32_t)pid);
	wire_put_u32(&request, version);
	wire_put_u64(&request, runtime_addr);
	if (!request.failed)
		answer = worker_call(reader, READER_PYTHON_STATE, request.data,
				     request.len, NULL, 0, NULL, NULL, FIND_MS, ret,
				     NULL);
	wire_writer_deinit(&request);
	return answer;
}

/* Checks a reply: a compromised reader may send anything. */
static bool reply_is_sane(const struct lb_interp *l, int64_t tls_off,
			  const struct python_build *build)
{
	return python_layout_is_sane(l) && l->version == build->version && !l->eval_lo &&
	       !l->eval_hi && tls_off >= -PYTHON_BYTES_BELOW &&
	       tls_off < PYTHON_BYTES_ABOVE && tls_off % 8 == 0;
}

static bool set_eval(struct lb_interp *l, const struct python_build *build)
{
	if (l->link != LB_LINK_EVAL)
		return true;
	l->eval_lo = build->eval_off;
	l->eval_hi = l->eval_lo + build->eval_bytes;
	return build->eval_off && l->eval_lo < l->eval_hi;
}

/* Sends one request to the reader. Takes less than a millisecond for 64 threads. */
static enum locate_result locate(struct worker *reader, pid_t pid, const void *facts,
				 uint64_t text_bias, struct runtime_place *ret)
{
	const struct python_build *build = facts;
	struct lb_interp layout;
	struct wire_reader r;
	const void *bytes;
	uint32_t state;
	int64_t tls_off;
	size_t len;

	switch (ask(reader, pid, build->version, text_bias + build->runtime_off, &r)) {
	case WORKER_OK:
		break;
	case WORKER_CANNOT_START:
	case WORKER_REFUSED:
		return LOCATE_NOT_YET;
	case WORKER_DIED:
		return LOCATE_READER_DIED;
	default:
		return LOCATE_NO_ANSWER;
	}
	state = wire_get_u32(&r);
	bytes = wire_get_bytes(&r, &len);
	tls_off = (int64_t)wire_get_u64(&r);
	if (r.failed || r.pos != r.len || len != sizeof(layout) ||
	    state > LOCATE_NO_ANSWER)
		return LOCATE_UNKNOWN;
	if (state != LOCATE_FOUND)
		return (enum locate_result)state;
	memcpy(&layout, bytes, sizeof(layout));
	if (!reply_is_sane(&layout, tls_off, build) || !set_eval(&layout, build))
		return LOCATE_UNKNOWN;
	*ret = (struct runtime_place){.layout = layout, .tls_off = (int32_t)tls_off};
	return LOCATE_FOUND;
}

const struct runtime python_runtime = {
	.name = "python",
	.object = "[python]",
	.unit_bytes = UNIT_BYTES,
	.recognise = python_recognise,
	.name_facts = name_build,
	.facts_are_sane = build_is_sane,
	.locate = locate,
	.read_cut = python_read_cut,
	.put_frames = python_put_frames,
	.naming_op = DECODER_PYTHON_CODE,
	.name_frames = python_name_frames,
	.find_files = python_find_files,
};
