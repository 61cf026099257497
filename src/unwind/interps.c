// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/interps.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/file.h"
#include "process/table.h"
#include "runtime/runtime.h"
#include "unwind/tables.h"

/*
 * Delay before a process is queried again; each further delay is a quarter longer. So at
 * most a quarter of its start-up time is missed in addition.
 */
#define FIRST_WAIT_NS   5000000ULL
#define LONGEST_WAIT_NS 1000000000ULL
/* Queries of all processes: a separate process reads their memory, some 0.2 ms each. */
#define ASKS_PER_SECOND 200
#define ASKS_AT_ONCE    50

struct unwind_interps {
	struct unwind_tables *tables; /* borrowed */
	struct process_table *processes; /* borrowed */
	struct worker *decoder, *reader; /* borrowed */
	struct lb_interp layouts[LB_MAX_INTERPS]; /* by number - 1 */
	uint64_t asks_since_ns; /* when the remaining queries were last computed */
	uint64_t asks_left;
	struct unwind_interps_totals totals;
};

int unwind_interps_new(struct unwind_tables *tables, struct process_table *processes,
		       struct worker *decoder, struct worker *reader,
		       struct unwind_interps **ret, struct error *err)
{
	struct unwind_interps *y = calloc(1, sizeof(*y));

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

void unwind_interps_free(struct unwind_interps *y)
{
	free(y);
}

/* ---- files ---- */

/* Returns a file's facts; NULL: no interpreter. The name rules out most files. */
static const void *facts_of(struct unwind_interps *y, struct target_file *file,
			    enum runtime_number number)
{
	const struct runtime *runtime = runtimes[number];
	const void *facts;

	if (!runtime->locate || !runtime->recognise(file->path))
		return NULL;
	facts = file_facts_of(file_facts_get(file, y->decoder), number);
	return facts && runtime->facts_are_sane(facts) ? facts : NULL;
}

/* Does @m map an interpreter's file? */
static bool look_at(struct unwind_interps *y, const struct mapping *m,
		    struct image_interp *ret)
{
	for (enum runtime_number i = 0; i < NR_RUNTIMES; i++) {
		const void *facts = facts_of(y, m->file, i);

		if (!facts)
			continue;
		*ret = (struct image_interp){.state = IMAGE_INTERP_WAITS,
					     .runtime = i,
					     .facts = m->file->facts->runtimes[i],
					     .text_bias = m->start - m->file_off,
					     .wait_ns = FIRST_WAIT_NS};
		return true;
	}
	return false;
}

void unwind_interps_look(struct unwind_interps *y, const struct process *p,
			 struct image_interp *interp)
{
	if (interp->state != IMAGE_INTERP_NONE)
		return;
	for (size_t i = 0; i < p->maps.nr_live; i++) {
		const struct mapping *m = &p->maps.items[p->maps.live[i]];

		if (m->kind == MAPPING_FILE && m->file && m->file->id &&
		    m->file->fd >= 0 && !m->file->verify_build_id &&
		    look_at(y, m, interp))
			return;
	}
}

/* ---- processes ---- */

static bool may_ask(struct unwind_interps *y, uint64_t now)
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

static bool found(struct unwind_interps *y, struct image_interp *interp,
		  struct runtime_place *place)
{
	place->layout.kind = (uint16_t)interp->runtime;
	interp->number = unwind_interp_add(y->tables, &place->layout);
	if (interp->number)
		y->layouts[interp->number - 1] = place->layout;
	interp->tls_off = place->tls_off;
	interp->state = interp->number ? IMAGE_INTERP_FOUND : IMAGE_INTERP_REFUSED;
	y->totals.nr_found += interp->number != 0;
	y->totals.nr_refused += !interp->number;
	return interp->number != 0;
}

bool unwind_interps_ask(struct unwind_interps *y, const struct process *p,
			struct image_interp *interp)
{
	const struct runtime *runtime = runtimes[interp->runtime];
	uint64_t now = clock_now_ns();
	struct runtime_place place;
	enum locate_result state;

	if (interp->state != IMAGE_INTERP_WAITS || now < interp->ask_ns ||
	    !may_ask(y, now))
		return false;
	y->totals.nr_asked++;
	state = runtime->locate(y->reader, (pid_t)p->tgid, interp->facts.words,
				interp->text_bias, &place);
	/* Its pid may have been reused while it was read. */
	if (state == LOCATE_FOUND && process_is_alive(y->processes, p))
		return found(y, interp, &place);
	if (state == LOCATE_NOT_YET || state == LOCATE_FOUND) {
		interp->ask_ns = clock_now_ns() + interp->wait_ns;
		interp->wait_ns += interp->wait_ns / 4;
		if (interp->wait_ns > LONGEST_WAIT_NS)
			interp->wait_ns = LONGEST_WAIT_NS;
		return false;
	}
	log_debug("the interpreter of process %u (%s) is not understood (%d)", p->tgid,
		  runtime->name, (int)state);
	interp->state = IMAGE_INTERP_REFUSED;
	interp->is_banned = state == LOCATE_NO_ANSWER;
	y->totals.nr_refused++;
	return false;
}

void unwind_interps_read_codes(struct unwind_interps *y, struct process *p,
			       struct image_interp *interp)
{
	const struct runtime *runtime = runtimes[interp->runtime];

	if (!p->interp_codes.nr_cut || !interp->number || interp->is_banned)
		return;
	if (!runtime->read_cut)
		interp_codes_give_up_all(&p->interp_codes);
	else
		interp->is_banned = runtime->read_cut(y->reader, y->processes, p,
						      &y->layouts[interp->number - 1]) ==
				    WORKER_DEADLINE;
}

void unwind_interps_totals(const struct unwind_interps *y,
			   struct unwind_interps_totals *ret)
{
	*ret = y->totals;
}
