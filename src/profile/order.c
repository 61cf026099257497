// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/id_table.h"

/* What the comparisons need. */
struct sorting {
	const struct profile *p;
	const struct profile_order *order;
	uint32_t first_mapping;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_functions(const void *a, const void *b, void *ctx)
{
	const struct sorting *s = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct profile_function *x = &s->p->functions[i], *y = &s->p->functions[k];
	/* Files of one path are neighbours, too. */
	int order = x->filename == y->filename ? 0 : strcmp(x->filename, y->filename);

	if (!order)
		order = compare_numbers(x->start_line, y->start_line);
	if (!order && x->name != y->name)
		order = strcmp(x->name, y->name);
	return order ? order : compare_numbers(i, k);
}

static int compare_lines(const struct sorting *s, const struct profile_location *x,
			 const struct profile_location *y)
{
	const uint32_t *places = s->order->function_places;
	const struct profile_line *a, *b;
	int order;

	if (!x->nr_lines || !y->nr_lines)
		return compare_numbers(x->nr_lines, y->nr_lines);
	a = &s->p->lines[x->first_line];
	b = &s->p->lines[y->first_line];
	if (a->function == PROFILE_NONE || b->function == PROFILE_NONE)
		return compare_numbers(a->function, b->function);
	order = compare_numbers(places[a->function], places[b->function]);
	return order ? order : compare_numbers(a->line, b->line);
}

static int compare_locations(const void *a, const void *b, void *ctx)
{
	const struct sorting *s = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct profile_location *x = &s->p->locations[i], *y = &s->p->locations[k];
	int order = compare_numbers(mapping_id_of(s->first_mapping, x->mapping),
				    mapping_id_of(s->first_mapping, y->mapping));

	if (!order)
		order = compare_numbers(x->address, y->address);
	/* Python's frames have no address. */
	if (!order)
		order = compare_lines(s, x, y);
	return order ? order : compare_numbers(i, k);
}

/* Samples with equal labels share them. */
static int compare_labels(const struct profile_sample *x, const struct profile_sample *y)
{
	if (!x->nr_labels || !y->nr_labels)
		return compare_numbers(x->nr_labels, y->nr_labels);
	return compare_numbers(x->first_label, y->first_label);
}

static int compare_samples(const void *a, const void *b, void *ctx)
{
	const struct sorting *s = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct profile_sample *x = &s->p->samples[i], *y = &s->p->samples[k];
	const uint32_t *places = s->order->location_places;
	const uint32_t *all = s->p->sample_locations;
	uint32_t nr_x = x->nr_locations, nr_y = y->nr_locations;
	int order = compare_labels(x, y);

	if (order)
		return order;
	while (nr_x && nr_y) {
		uint32_t u = all[x->first_location + --nr_x];
		uint32_t v = all[y->first_location + --nr_y];

		if (u != v)
			return compare_numbers(places[u], places[v]);
	}
	order = compare_numbers(nr_x, nr_y);
	return order ? order : compare_numbers(i, k);
}

/* Sorts 0 to @nr - 1. @ret_places: NULL: not needed. Return: 0 or -ENOMEM. */
static int sort(struct sorting *s, size_t nr,
		int (*compare)(const void *, const void *, void *), uint32_t **ret,
		uint32_t **ret_places)
{
	uint32_t *items = malloc((nr + 1) * sizeof(*items)), *places;

	*ret = items;
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		items[i] = (uint32_t)i;
	qsort_r(items, nr, sizeof(*items), compare, s);
	if (!ret_places)
		return 0;
	*ret_places = places = malloc((nr + 1) * sizeof(*places));
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		places[items[i]] = (uint32_t)i;
	return 0;
}

int profile_order_init(struct profile_order *ret, const struct profile *p,
		       uint32_t first_mapping)
{
	struct sorting s = {p, ret, first_mapping};
	int rc;

	*ret = (struct profile_order){0};
	rc = sort(&s, p->nr_functions, compare_functions, &ret->functions,
		  &ret->function_places);
	if (!rc)
		rc = sort(&s, p->nr_locations, compare_locations, &ret->locations,
			  &ret->location_places);
	return rc ? rc : sort(&s, p->nr_samples, compare_samples, &ret->samples, NULL);
}

void profile_order_deinit(struct profile_order *order)
{
	free(order->functions);
	free(order->locations);
	free(order->samples);
	free(order->function_places);
	free(order->location_places);
	*order = (struct profile_order){0};
}
