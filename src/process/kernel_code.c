// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/kernel_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "base/vec.h"

/*
 * A CPU may be in a program when the kernel tells its end. The memory is free after an RCU
 * grace period, which takes longer than this; then code without a symbol may be there.
 */
#define RUNS_ON_NS 1000000ULL

void kernel_code_deinit(struct kernel_code *k)
{
	for (size_t i = 0; i < k->nr; i++)
		free(k->items[i].name);
	free(k->items);
	*k = (struct kernel_code){0};
}

/* The first function that starts above @ip. */
static size_t first_above(const struct kernel_code *k, uint64_t ip)
{
	return SEARCH_FIRST(i, k->nr, k->items[i].start > ip);
}

/* May functions before @i, in order of start, reach @ip? */
static bool may_reach(const struct kernel_code *k, size_t i, uint64_t ip)
{
	return i &&
	       (k->items[i - 1].start > ip || ip - k->items[i - 1].start < k->longest);
}

/* Without memory the function stays unknown, and its samples have no name. */
static void insert(struct kernel_code *k, const struct task_event *ev, uint64_t from_ns,
		   uint64_t until_ns)
{
	size_t at = first_above(k, ev->start);
	_cleanup_free_ char *name = ev->name ? strdup(ev->name) : NULL;

	if ((ev->name && !name) ||
	    vec_grow(&k->items, &k->cap, k->nr + 1, sizeof(*k->items), KERNEL_CODE_MAX))
		return;
	memmove(k->items + at + 1, k->items + at, (k->nr - at) * sizeof(*k->items));
	k->items[at] = (struct kernel_function){.start = ev->start,
						.end = ev->end,
						.from_ns = from_ns,
						.until_ns = until_ns,
						.name = take_ptr(name)};
	k->nr++;
	k->nr_changes++;
	if (ev->end - ev->start > k->longest)
		k->longest = ev->end - ev->start;
}

/*
 * Ends what was in the place of @ev at @time_ns. Return: the function itself, if it is
 * known already: from a list, or from the event before the list.
 */
static struct kernel_function *make_room(struct kernel_code *k,
					 const struct task_event *ev, uint64_t time_ns)
{
	struct kernel_function *known = NULL;

	for (size_t i = first_above(k, ev->end - 1); may_reach(k, i, ev->start); i--) {
		struct kernel_function *f = &k->items[i - 1];

		if (f->end <= ev->start || f->until_ns <= time_ns)
			continue;
		if (f->start == ev->start && f->end == ev->end &&
		    f->until_ns == UINT64_MAX && (!f->name || !ev->name)) {
			known = f;
			continue;
		}
		/* A list is newer than the events so far; later ones will tell the end. */
		if (!ev->name)
			continue;
		f->until_ns = time_ns;
		k->nr_changes++;
	}
	return known;
}

static void begin(struct kernel_code *k, const struct task_event *ev)
{
	uint64_t time_ns = ev->name ? ev->time_ns : k->known_from_ns;
	struct kernel_function *known = make_room(k, ev, time_ns);

	if (!known) {
		insert(k, ev, time_ns, UINT64_MAX);
	} else if (ev->name) {
		known->name = strdup(ev->name);
		known->from_ns = time_ns;
	}
}

static void end(struct kernel_code *k, const struct task_event *ev)
{
	uint64_t until_ns = ev->time_ns + RUNS_ON_NS;

	for (size_t i = first_above(k, ev->start); i; i--) {
		struct kernel_function *f = &k->items[i - 1];

		if (f->start != ev->start)
			break;
		if (f->end != ev->end || f->until_ns != UINT64_MAX)
			continue;
		f->until_ns = until_ns;
		k->nr_changes++;
		if (!f->name)
			f->name = strdup(ev->name);
		return;
	}
	insert(k, ev, k->known_from_ns, until_ns);
}

static void lose(struct kernel_code *k, uint64_t time_ns)
{
	for (size_t i = 0; i < k->nr; i++)
		if (k->items[i].until_ns > time_ns)
			k->items[i].until_ns = time_ns;
	k->nr_changes++;
	k->known_from_ns = time_ns;
	k->must_list = true;
}

void kernel_code_event(struct kernel_code *k, const struct task_event *ev)
{
	switch (ev->kind) {
	case TASK_EVENT_KERNEL_CODE:
		if (ev->start < ev->end)
			begin(k, ev);
		break;
	case TASK_EVENT_KERNEL_CODE_END:
		if (ev->start < ev->end)
			end(k, ev);
		break;
	case TASK_EVENT_LOST:
		lose(k, ev->time_ns);
		break;
	default:
		break;
	}
}

void kernel_code_is_listed(struct kernel_code *k)
{
	k->must_list = false;
	k->nr_lists++;
}

void kernel_code_forget(struct kernel_code *k, uint64_t before_ns)
{
	size_t nr = 0;

	for (size_t i = 0; i < k->nr; i++) {
		if (k->items[i].until_ns > before_ns)
			k->items[nr++] = k->items[i];
		else
			free(k->items[i].name);
	}
	k->nr = nr;
}

/* Can both be one function, of which the kernel told twice? */
static bool is_same(const struct kernel_function *a, const struct kernel_function *b)
{
	return a->start == b->start && a->end == b->end && a->name && b->name &&
	       strcmp(a->name, b->name) == 0;
}

enum kernel_code_answer kernel_code_find(const struct kernel_code *k, uint64_t ip,
					 uint64_t first_ns, uint64_t last_ns,
					 const struct kernel_function **ret)
{
	const struct kernel_function *found = NULL;

	/* Most addresses are in the kernel itself, below or above all generated code. */
	if (!k->nr || ip < k->items[0].start)
		return KERNEL_CODE_NONE;
	for (size_t i = first_above(k, ip); may_reach(k, i, ip); i--) {
		const struct kernel_function *f = &k->items[i - 1];

		if (f->end <= ip || f->from_ns > last_ns || f->until_ns <= first_ns)
			continue;
		if (found && !is_same(found, f))
			return KERNEL_CODE_AMBIGUOUS;
		found = f;
	}
	if (!found)
		return KERNEL_CODE_NONE;
	/* Code without a symbol may have been there in the rest of the time. */
	if (found->from_ns > first_ns || found->until_ns <= last_ns)
		return KERNEL_CODE_AMBIGUOUS;
	*ret = found;
	return KERNEL_CODE_FOUND;
}
