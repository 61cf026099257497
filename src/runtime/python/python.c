// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/python.h"

#include <string.h>

#include "decode/operation.h"
#include "decode/python/layout.h"
#include "decode/python/state.h"

#define FIND_MS 200

static bool build_is_sane(const struct python_build *b)
{
	return b->version >= PYTHON_OLDEST && b->version <= PYTHON_NEWEST &&
	       b->runtime_off;
}

const struct python_build *python_build_of(const struct file_facts *facts)
{
	const struct python_build *build = file_facts_of(facts, RUNTIME_PYTHON);

	return build && build_is_sane(build) ? build : NULL;
}

/* ---- a process ---- */

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

/* What a reader that was taken over might say. */
static bool reply_is_sane(const struct lb_python *l, int64_t tls_off,
			  const struct python_build *build)
{
	return python_layout_is_sane(l) && l->version == build->version && !l->eval_lo &&
	       !l->eval_hi && tls_off >= -PYTHON_BYTES_BELOW &&
	       tls_off < PYTHON_BYTES_ABOVE && tls_off % 8 == 0;
}

static bool set_eval(struct lb_python *l, const struct python_build *build)
{
	if (l->link != LB_PY_LINK_EVAL)
		return true;
	l->eval_lo = build->eval_off;
	l->eval_hi = l->eval_lo + build->eval_bytes;
	return build->eval_off && l->eval_lo < l->eval_hi;
}

enum python_state python_find(struct worker *reader, pid_t pid,
			      const struct python_build *build, uint64_t text_bias,
			      struct lb_python *ret, int32_t *ret_tls_off)
{
	struct lb_python layout;
	struct wire_reader r;
	const void *bytes;
	uint32_t state;
	int64_t tls_off;
	size_t len;

	switch (ask(reader, pid, build->version, text_bias + build->runtime_off, &r)) {
	case WORKER_OK:
		break;
	case WORKER_CANNOT_START:
		return PYTHON_NOT_YET;
	default:
		return PYTHON_NO_ANSWER;
	}
	state = wire_get_u32(&r);
	bytes = wire_get_bytes(&r, &len);
	tls_off = (int64_t)wire_get_u64(&r);
	if (r.failed || r.pos != r.len || len != sizeof(layout) ||
	    state > PYTHON_NO_ANSWER)
		return PYTHON_UNKNOWN;
	if (state != PYTHON_FOUND)
		return (enum python_state)state;
	memcpy(&layout, bytes, sizeof(layout));
	if (!reply_is_sane(&layout, tls_off, build) || !set_eval(&layout, build))
		return PYTHON_UNKNOWN;
	*ret = layout;
	*ret_tls_off = (int32_t)tls_off;
	return PYTHON_FOUND;
}
