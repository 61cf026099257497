// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/pythons.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/file_facts.h"
#include "process/table.h"
#include "runtime/python/python.h"
#include "runtime/python/read.h"
#include "unwind/tables.h"

/*
 * A process is asked again after this, and then after a quarter more each time: whatever
 * it does before Python runs takes it, no more than a quarter of that is missed.
 */
#define FIRST_WAIT_NS   5000000ULL
#define LONGEST_WAIT_NS 1000000000ULL
/* Of all processes: their memory is read by a process of its own, some 0.2 ms each. */
#define ASKS_PER_SECOND 200
#define ASKS_AT_ONCE    50

struct unwind_pythons {
	struct unwind_tables *tables; /* borrowed */
	struct process_table *processes; /* borrowed */
	struct worker *decoder, *reader; /* borrowed */
	struct lb_python layouts[LB_MAX_PYTHONS]; /* by number - 1 */
	uint64_t asks_since_ns; /* when the asks that are left were counted */
	uint64_t asks_left;
	struct unwind_pythons_totals totals;
};

int unwind_pythons_new(struct unwind_tables *tables, struct process_table *processes,
		       struct worker *decoder, struct worker *reader,
		       struct unwind_pythons **ret, struct error *err)
{
	struct unwind_pythons *y = calloc(1, sizeof(*y));

	if (!y)
		return error_set(err, -ENOMEM, "out of memory");
	y->tables = tables;
	y->processes = processes;
	y->decoder = decoder;
	y->reader = reader;
	y->asks_left = ASKS_AT_ONCE;
	y->asks_since_ns = clock_now_ns();
	*ret = y;
	return 0;
}

void unwind_pythons_free(struct unwind_pythons *y)
{
	free(y);
}

/* ---- files ---- */

/* NULL: it has none. Most files are not asked: a name tells enough. */
static const struct python_build *build_of(struct unwind_pythons *y,
					   struct target_file *file)
{
	if (file->fd < 0 || file->verify_build_id || !python_recognise(file->path))
		return NULL;
	return python_build_of(file_facts_get(file, y->decoder));
}

void unwind_pythons_look(struct unwind_pythons *y, const struct process *p,
			 struct image_python *python)
{
	if (python->state != IMAGE_PYTHON_NONE)
		return;
	for (size_t i = 0; i < p->maps.nr_live; i++) {
		const struct mapping *m = &p->maps.items[p->maps.live[i]];
		const struct python_build *build;

		if (m->kind != MAPPING_FILE || !m->file || !m->file->id)
			continue;
		build = build_of(y, m->file);
		if (!build)
			continue;
		*python = (struct image_python){.state = IMAGE_PYTHON_WAITS,
						.build = *build,
						.text_bias = m->start - m->file_off,
						.wait_ns = FIRST_WAIT_NS};
		log_debug("%s is CPython %u.%u", m->file->path, build->version >> 8,
			  build->version & 0xff);
		return;
	}
}

/* ---- processes ---- */

static bool may_ask(struct unwind_pythons *y, uint64_t now)
{
	uint64_t more = (now - y->asks_since_ns) * ASKS_PER_SECOND / 1000000000ULL;

	if (more) {
		y->asks_since_ns = now;
		y->asks_left += more;
		if (y->asks_left > ASKS_AT_ONCE)
			y->asks_left = ASKS_AT_ONCE;
	}
	if (!y->asks_left)
		return false;
	y->asks_left--;
	return true;
}

static bool found(struct unwind_pythons *y, struct image_python *python,
		  const struct lb_python *layout, int32_t tls_off)
{
	python->number = unwind_python_add(y->tables, layout);
	if (python->number)
		y->layouts[python->number - 1] = *layout;
	python->tls_off = tls_off;
	python->state = python->number ? IMAGE_PYTHON_FOUND : IMAGE_PYTHON_REFUSED;
	y->totals.nr_found += python->number != 0;
	y->totals.nr_refused += !python->number;
	return python->number != 0;
}

bool unwind_pythons_ask(struct unwind_pythons *y, const struct process *p,
			struct image_python *python)
{
	uint64_t now = clock_now_ns();
	struct lb_python layout;
	int32_t tls_off;
	enum python_state state;

	if (python->state != IMAGE_PYTHON_WAITS || now < python->ask_ns ||
	    !may_ask(y, now))
		return false;
	y->totals.nr_asked++;
	state = python_find(y->reader, (pid_t)p->tgid, &python->build, python->text_bias,
			    &layout, &tls_off);
	/* Its number may have become another's while it was read. */
	if (state == PYTHON_FOUND && process_is_alive(y->processes, p))
		return found(y, python, &layout, tls_off);
	if (state == PYTHON_NOT_YET || state == PYTHON_FOUND) {
		python->ask_ns = clock_now_ns() + python->wait_ns;
		python->wait_ns += python->wait_ns / 4;
		if (python->wait_ns > LONGEST_WAIT_NS)
			python->wait_ns = LONGEST_WAIT_NS;
		return false;
	}
	log_debug("the interpreter of process %u is not understood (%d)", p->tgid,
		  (int)state);
	python->state = IMAGE_PYTHON_REFUSED;
	python->is_banned = state == PYTHON_NO_ANSWER;
	y->totals.nr_refused++;
	return false;
}

void unwind_pythons_read_codes(struct unwind_pythons *y, struct process *p,
			       struct image_python *python)
{
	if (!p->python_codes.nr_cut || !python->number || python->is_banned)
		return;
	python->is_banned = python_read_cut(y->reader, y->processes, p,
					    &y->layouts[python->number - 1]) ==
			    WORKER_DEADLINE;
}

void unwind_pythons_totals(const struct unwind_pythons *y,
			   struct unwind_pythons_totals *ret)
{
	*ret = y->totals;
}
