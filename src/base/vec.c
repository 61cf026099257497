// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int vec_grow(void *items, size_t *cap, size_t need, size_t item_size, size_t max)
{
	size_t new_cap;
	char *array;

	if (need <= *cap)
		return 0;
	if (max && need > max)
		return -ENOSPC;
	new_cap = *cap ? *cap : 16;
	while (new_cap < need) {
		if (new_cap > (size_t)-1 / 2)
			return -ENOMEM;
		new_cap *= 2;
	}
	if (max && new_cap > max)
		new_cap = max;
	if (new_cap > PTRDIFF_MAX / item_size)
		return -ENOMEM;
	memcpy(&array, items, sizeof(array));
	array = realloc(array, new_cap * item_size);
	if (!array)
		return -ENOMEM;
	memset(array + *cap * item_size, 0, (new_cap - *cap) * item_size);
	memcpy(items, &array, sizeof(array));
	*cap = new_cap;
	return 0;
}
